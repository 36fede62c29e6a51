"""Which tool results are told in fewer words from here on: the decision of a pruning, pure (S0-32, X-58), and the reading of earlier ones.

Asked where a request reaches the mark of pruning. Results are taken until the request is below the low mark, oldest first in each of these:

1. superseded ones: cleared;
2. those of tools that declare them disposable: cleared;
3. old ones that are large: shortened;
4. old and large ones that an earlier pruning shortened, or of which shortening saves too little: cleared.

Never taken: results of the running turn, of an earlier try at its input, and of answers with an open call, the newest `protect_recent_tokens`
of all results, results of tools that declare them protected, those that are still spoken of (`staleness`), and those of which fewer than
`RESULT_GAIN_MIN` tokens would be saved. An error is a result like any other, but one supersedes nothing. What is pruned stays so on its line.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from app.context.budget import Budget, on_scale, prune_to
from app.context.compile import Compiled, compile_context
from app.context.draft import Count
from app.context.passes.measure import media_tokens
from app.context.passes.pruning import told
from app.context.sources import NOTHING_PRUNED
from app.context.staleness import Result, results_of, since_input, spoken_of, superseded
from app.entries.messages import Entry
from app.entries.prunings import Form, Pruned, PrunedResult, Staleness

LARGE_TOKENS_MAX, LARGE_PARTS = 1_000, 100
"""A result is large that weighs one of so many parts of the input limit, or so many tokens where that is less."""

RESULT_GAIN_MIN = 50
"""Tokens that have to be saved of a result."""

GAIN_PARTS = 50
"""A pruning saves one of so many parts of the input limit at least: it makes the provider read the rest of the request anew."""

Choice = tuple[PrunedResult, int]
"""A result, and the tokens that are saved of it."""


def decide(compiled: Compiled, budget: Budget, count: Count) -> Pruned | None:
    """What to prune of an input with that budget; None where nothing is stale, or where too little would be saved.

    Under the hard limit a pruning saves `input_limit` / `GAIN_PARTS` tokens or more; one that makes a request fit may save less. `count` is the
    one with which the input was compiled.
    """
    if budget.verdict == "fits":
        return None
    wanted, saved, chosen = budget.total - prune_to(budget), 0, []
    for result, gain in _choices(compiled, large_from(budget), count):
        if on_scale(budget, compiled.measured, saved) >= wanted:
            break
        chosen.append(result)
        saved += gain
    if not chosen:
        return None
    pruned = {**compiled.sources.pruned, **{one.seq: one for one in chosen}}
    after = compile_context(replace(compiled.sources, pruned=pruned), count).measured.total
    saved = on_scale(budget, compiled.measured, compiled.measured.total - after)
    if saved < gain_min(budget) and (budget.fits or not budget.would_fit(budget.total - saved)):
        return None
    return Pruned(tuple(chosen), budget.total, budget.total - saved)


def gain_min(budget: Budget) -> int:
    """The tokens that a pruning has to save."""
    return max(1, -(-budget.input_limit // GAIN_PARTS))


def large_from(budget: Budget) -> int:
    """The tokens from which on a result is large."""
    return min(LARGE_TOKENS_MAX, budget.input_limit // LARGE_PARTS)


def pruned_results(folds: Iterable[Entry]) -> Mapping[int, PrunedResult]:
    """What the prunings among entries come to, by the result's seq: of two words on one the later, but no longer form than it has."""
    found: dict[int, PrunedResult] = {}
    for entry in folds:
        if entry.kind != Pruned.kind or entry.payload is None:
            continue
        for one in Pruned.decode(entry.payload).results:
            before = found.get(one.seq)
            if before is None or before.form == "shortened":
                found[one.seq] = one
    return found or NOTHING_PRUNED


def _choices(compiled: Compiled, large: int, count: Count) -> Iterator[Choice]:
    """What may be pruned, in the order in which it is; each result once. `large`: tokens from which on an old one is."""
    results, choice = results_of(compiled), _choice(compiled, count)
    out_of_date, spoken = superseded(results), spoken_of(compiled, results)
    free = [result for result in _unprotected(compiled, results) if result.seq not in spoken.by_id]
    disposable = frozenset([one.seq for one in free if _keep(one) == "disposable"]) - spoken.by_target
    rounds: tuple[tuple[Staleness, frozenset[int]], ...] = (("superseded", out_of_date), ("disposable", disposable - out_of_date))
    for why, seqs in rounds:
        for result in free:
            if result.seq in seqs and (found := choice(result, "cleared", why)):
                yield found
    stale = out_of_date | disposable | spoken.by_target
    old = [result for result in free if result.seq not in stale and _weight(compiled, result) >= large]
    shorter = {result.seq: choice(result, "shortened", "old") for result in old}
    yield from [found for found in shorter.values() if found]
    for result in old:
        if shorter[result.seq] is None and (found := choice(result, "cleared", "old")):
            yield found


def _choice(compiled: Compiled, count: Count) -> Callable[[Result, Form, Staleness], Choice | None]:
    """Gives a result in a form; None where it is as short by now, or where too little is saved of it."""
    media: Counter[int] = Counter()  # by the seq that they are of: a target may have them stand behind the results
    for message in compiled.request.messages:
        media[getattr(message.origin, "seq", None) or 0] += media_tokens(message.parts, compiled.sources.target.rules)

    def choice(result: Result, form: Form, why: Staleness) -> Choice | None:
        before, source = compiled.sources.pruned.get(result.seq), result.item.source
        if source is None or (before is not None and before.form in (form, "cleared")):
            return None
        words = count(told(result.body, source.entry.tokens, result.call, form))
        gain = result.item.tokens + media[result.seq] - words
        return (PrunedResult(result.seq, form, why), gain) if gain >= RESULT_GAIN_MIN else None

    return choice


def _unprotected(compiled: Compiled, results: Sequence[Result]) -> list[Result]:
    """Oldest first: of turns that are over, not among the newest tokens of results, and not of a tool that protects its results."""
    sources, current, newer, found = compiled.sources, since_input(compiled), 0, []
    for result in reversed(results):
        recent = newer < sources.agent.pruning.protect_recent_tokens
        newer += _weight(compiled, result)
        turn = None if result.item.source is None else result.item.source.entry.turn
        running = sources.running_turn is not None and (turn == sources.running_turn or result.seq in current)
        if not recent and not running and _keep(result) != "protected":
            found.append(result)
    return found[::-1]


def _keep(result: Result) -> str | None:
    return None if result.tool is None else result.tool.results.get("keep")


def _weight(compiled: Compiled, result: Result) -> int:
    """What the result weighs as it was told first, whatever was made of it since."""
    return result.item.tokens_before + media_tokens(result.body.parts, compiled.sources.target.rules)
