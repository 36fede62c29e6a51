"""What a checkpoint would cover: whole older turns, never a part of one (S1-27, X-45)."""

from dataclasses import dataclass

from app.context.compile import Compiled
from app.context.draft import Item, Rendered, ToolRepair
from app.context.passes.measure import media_tokens
from app.context.snapshots import RuntimeContext
from app.context.sources import SourceMessage, Sources
from app.entries.folds import SkillLoaded
from app.entries.messages import Answer


@dataclass(frozen=True, slots=True)
class Plan:
    """A cut before the user message `first_kept_seq`, number `first_kept_index` of the history; `covers_through_seq` is the seq before it.

    Tokens are of the window's messages as they are sent, without what the wire format adds; an earlier summary is no part of them. `turns` are those
    that would be covered. `from_seq`: where the covered range begins, an earlier checkpoint's included, so that a summary may cite it.
    `user_messages` of the line before the cut, `agents` who said what lies before it (`""` for an answer without a name): both go on from an
    earlier checkpoint's. `reads_from_seq`: where the window begins behind it. A skill stands before the message that it was read for, so that is
    before `first_kept_seq` where one was read for what stays; of the messages from there on those that are covered are not sent.
    """

    covers_through_seq: int
    first_kept_seq: int
    first_kept_index: int
    covered_tokens: int
    kept_tokens: int
    turns: int
    from_seq: int
    user_messages: int
    agents: tuple[str, ...]
    reads_from_seq: int


def plan(compiled: Compiled, keep_recent_tokens: int, newest_only: bool = False) -> Plan | None:
    """What to cover so that the newest turns that weigh at most `keep_recent_tokens` stay; None: nothing to compact.

    The newest turn always stays, whatever it weighs, with every call that is still open; `newest_only` keeps no other. At least two
    turns have to be in the window, and what is covered has to weigh something in what is sent (vector 11). O(messages).
    """
    sources = compiled.sources
    begins = _boundaries(sources)
    if len(begins) < 2:
        return None
    weights = _weights(compiled)
    cut = begins[-1]
    kept = sum(weights[cut:])
    for number in range(len(begins) - 2, -1, -1):
        at = begins[number] if number else 0  # what lies before the first user message goes with its turn
        more = kept + sum(weights[at:cut])
        if newest_only or more > keep_recent_tokens:
            break
        cut, kept = at, more
    covered = sum(weights[:cut])
    return _plan(sources, cut, begins.index(cut), covered, kept) if covered else None


def narrowed(compiled: Compiled, found: Plan, through_seq: int) -> Plan:
    """The plan with as many of its turns, from the oldest on, as end at or before `through_seq`; at least one that weighs something."""
    if found.covers_through_seq <= through_seq:
        return found
    messages, weights = compiled.sources.messages, _weights(compiled)
    heavy = next(at for at, weight in enumerate(weights) if weight)
    cuts = [(turns, cut) for turns, cut in enumerate(_boundaries(compiled.sources)[: found.turns]) if turns and cut > heavy]
    if not cuts:
        return found
    within = [one for one in cuts if messages[one[1] - 1].entry.seq <= through_seq]
    turns, cut = within[-1] if within else cuts[0]
    return _plan(compiled.sources, cut, turns, sum(weights[:cut]), sum(weights[cut:]))


def covered_messages(sources: Sources, plan: Plan) -> tuple[SourceMessage, ...]:
    """The messages of the window that the plan would cover, oldest first."""
    return tuple([message for message in sources.messages if message.entry.seq <= plan.covers_through_seq])


def _plan(sources: Sources, cut: int, turns: int, covered: int, kept: int) -> Plan:
    before, first = sources.messages[:cut], sources.messages[cut].entry
    earlier = None if sources.checkpoint is None else sources.checkpoint.body
    # What a called run said is left out of the summary.
    said = [entry.agent or "" for entry, body in before if isinstance(body, Answer) and not (entry.invocation and entry.hidden)]
    users = sum(entry.kind == "user_message" for entry, _ in before) + (0 if earlier is None else earlier.user_messages)
    skills = [one.seq for one in sources.skill_snapshots if _is_read_for(one.body, first.seq, users)]
    return Plan(
        covers_through_seq=first.seq - 1,
        first_kept_seq=first.seq,
        first_kept_index=first.message_index or 0,
        covered_tokens=covered,
        kept_tokens=kept,
        turns=turns,
        from_seq=before[0].entry.seq if earlier is None else earlier.summary.from_seq,
        user_messages=users,
        agents=tuple(dict.fromkeys([*(() if earlier is None else earlier.agents), *said])),
        reads_from_seq=max(min([first.seq, *skills]), before[0].entry.seq + 1),
    )


def _is_read_for(skill: SkillLoaded, first_kept_seq: int, user_messages: int) -> bool:
    """Whether the skill was read for a message that stays; `user_messages` are before the cut."""
    return (skill.anchor_seq or 0) >= first_kept_seq if skill.user_turn is None else skill.user_turn >= user_messages


def _boundaries(sources: Sources) -> list[int]:
    """Where turns begin: at the first user message of each Turn, and at each one of no Turn.

    Nothing begins behind the first message of the running turn: it is never split (S1-28), nor is a turn whose input it answers again.
    """
    begins: list[int] = []
    seen: set[int] = set()
    for at, (entry, _) in enumerate(sources.messages):
        turn, user = entry.turn, entry.kind == "user_message"
        if turn is not None and turn == sources.running_turn:
            return [*begins, at] if user else begins
        if user and (turn is None or turn not in seen):
            begins.append(at)
            seen.update(() if turn is None else (turn,))
    return begins


def _weights(compiled: Compiled) -> list[int]:
    """The tokens of each message of the window as it is sent, with what passes put in for its sake; 0 for one that is not sent."""
    messages, rules = compiled.sources.messages, compiled.sources.target.rules
    by_seq = {message.entry.seq: at for at, message in enumerate(messages)}
    by_index = {message.entry.message_index: at for at, message in enumerate(messages)}
    weights = [0] * len(messages)
    for item in (*compiled.items, *compiled.inserted):
        if item.message is not None and (at := _belongs(item, by_seq, by_index)) is not None:
            weights[at] += item.tokens + media_tokens(item.message.parts, rules)
    return weights


def _belongs(item: Item, by_seq: dict[int, int], by_index: dict[int | None, int]) -> int | None:
    """The position of the message that a row is of; None for a row that is of no one message."""
    origin = item.origin
    if item.source is not None:
        return by_seq[item.source.entry.seq]
    if isinstance(origin, ToolRepair | RuntimeContext):
        return by_index.get(origin.message_index)
    return by_seq.get(origin.seq) if isinstance(origin, Rendered) and origin.seq is not None else None
