"""The decision of a pruning: what is taken, in which order, and what never is."""

from dataclasses import replace
from typing import Any

import pytest

from app.context.budget import budget, prune_to
from app.context.pruning import decide, gain_min, large_from, pruned_results
from app.context.sources import Ephemeral, PruningPolicy, Sources
from app.entries import lossless
from app.entries.messages import with_parts
from app.entries.parts import Blob, Media, Text
from app.entries.prunings import Pruned, PrunedResult
from tests.context.pressed import LARGE, Told, after, compiled, pressed, reviser
from tests.strategies import Ledger, call, tokens


def decided(sources: Sources) -> dict[int, tuple[str, str]]:
    found = compiled(sources)
    pruned = decide(found, pressed(found), tokens)
    return {} if pruned is None else {one.seq: (one.form, one.why) for one in pruned.results}


@pytest.mark.req("X-58")
@pytest.mark.parametrize(
    ("later", "arguments", "is_error", "stale"),
    [
        ("read", '{"path": "/a.py"}', False, True),  # equal to the first call, and the whole target
        ("read", '{"path":"/a.py"}', False, True),  # spelled otherwise
        ("edit", '{"path": "/a.py", "new": "y"}', False, True),
        ("edit", '{"path": "/a.py", "new": "y"}', True, False),  # it may have changed nothing
        ("read", '{"path": "/a.py", "offset": 9}', False, False),  # a part
        ("read", '{"path": "/b.py"}', False, False),
        ("lookup", '{"path": "/a.py"}', False, False),  # declares no target
        ("edit", "not json", False, False),
    ],
)
def test_a_result_is_superseded_by_a_later_call_that_tells_more(later: str, arguments: str, is_error: bool, stale: bool):
    ledger = Told()
    first = ledger.turn("read", '{"path": "/a.py"}', "y" * 700)
    ledger.turn(later, arguments, "y" * 700, is_error=is_error)
    found = decided(ledger.ends())
    assert {seq for seq, (_, why) in found.items() if why == "superseded"} == ({first} if stale else set())


@pytest.mark.req("X-58")
def test_equal_calls_of_any_tool_supersede_and_the_order_of_arguments_is_no_difference():
    ledger = Told()
    first = ledger.turn("lookup", '{"a": 1, "b": 2}', "y" * 700)
    ledger.turn("lookup", '{"b": 2, "a": 1}', "y" * 700)
    assert decided(ledger.ends())[first] == ("cleared", "superseded")


@pytest.mark.req("X-58", "S0-32")
def test_stale_results_go_first_then_old_ones_oldest_first_and_no_more_than_is_needed():
    ledger = Told()
    old = ledger.turn("lookup", '{"q": 1}')
    throwaway = ledger.turn("weather", "{}", "y" * 700)
    first = ledger.turn("read", '{"path": "/a.py"}')
    again = ledger.turn("read", '{"path": "/a.py"}')
    found = compiled(ledger.ends())
    chosen: list[list[tuple[int, str, str]]] = []
    for wanted in (1_000, 5_100, 7_000, 9_000, 50_000):
        pruned = decide(found, pressed(found, prune_from=-(-(found.measured.total - wanted) * 5 // 4) if wanted < 50_000 else 1), tokens)
        assert pruned is not None
        chosen.append([(one.seq, one.form, one.why) for one in pruned.results])
    stale = (first, "cleared", "superseded")
    gone = (throwaway, "cleared", "disposable")
    halves = [(old, "shortened", "old"), (again, "shortened", "old")]
    assert chosen == [[stale], [stale, gone], [stale, gone, halves[0]], [stale, gone, *halves], [stale, gone, *halves]]


@pytest.mark.req("X-58", "S0-32")
def test_what_is_old_is_shortened_first_and_cleared_on_a_later_pass():
    ledger = Told()
    seq = ledger.turn("lookup", '{"q": 1}', "begin" + LARGE + "end")
    sources = ledger.ends()
    texts = []
    for form in ("shortened", "cleared"):
        found = compiled(sources)
        pruned = decide(found, pressed(found), tokens)
        assert pruned is not None
        assert pruned.results == (PrunedResult(seq, form, "old"),)
        sources = after(sources, pruned)
        (message,) = [one for one in compiled(sources).request.messages if one.role == "tool"]
        texts.append("".join(part.text for part in message.parts if isinstance(part, Text)))
    assert texts[0].startswith("begin")
    assert texts[0].endswith("end")
    for text in texts:
        assert 'lookup {"q": 1}' in text
        assert f"{ledger.messages[2].entry.tokens} tokens" in text
    assert decided(sources) == {}, "nothing is shorter than cleared"


@pytest.mark.req("X-58")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("what did call_00000000 say?", True),
        ("what did call_000000001 say?", False),
        ("compare it with /a.py, please", True),
        ("compare it with /a.python, please", False),
        ("and now", False),
    ],
)
def test_a_result_that_is_still_spoken_of_stays(said: str, kept: bool):
    ledger = Told()
    seq = ledger.turn("read", '{"path": "/a.py", "offset": 4}')
    assert (seq in decided(ledger.ends(said))) is not kept


@pytest.mark.req("X-58")
@pytest.mark.parametrize(
    ("path", "said", "kept"),
    [
        ("/my notes (old).txt", "compare it with /my notes (old).txt, please", True),
        ("/my notes (old).txt", 'compare it with "/my notes (old).txt".', True),
        ("/my notes (old).txt", "compare it with /my notes, please", False),
        ("New York", "and in New York?", True),
        ("New York", "and in York?", False),
        ("what else?", "what else?", True),
        ("....", "and now....", False),
    ],
)
def test_a_target_of_several_words_is_spoken_of_where_all_of_them_are(path: str, said: str, kept: bool):
    ledger = Told()
    seq = ledger.turn("read", lossless.dumps({"path": path, "offset": 4}))
    assert (seq in decided(ledger.ends(said))) is not kept
    ledger.user("and now")
    assert seq in decided(ledger.sources(reviser())), "that its own call names it is no word of it"


@pytest.mark.req("X-58")
def test_a_target_speaks_of_what_is_known_now_and_a_call_id_of_its_own_result():
    ledger = Told()
    first = ledger.turn("read", '{"path": "/a.py"}', call_id="call_the_first")
    ledger.turn("read", '{"path": "/a.py"}', call_id="call_the_second")
    assert decided(ledger.ends("look at /a.py")) == {first: ("cleared", "superseded")}
    other = Told()
    other.turn("read", '{"path": "/a.py"}', call_id="call_the_first")
    other.turn("read", '{"path": "/a.py"}', call_id="call_the_second")
    assert "call_the_first" in str(other.messages[1])
    other.turn("lookup", '{"of": "call_the_first"}', "ok")
    assert [why for _, why in decided(other.ends()).values()] == ["old"], "the first is named by a later call"


@pytest.mark.req("X-58")
def test_results_of_the_running_turn_of_open_rounds_of_protected_tools_and_the_newest_stay():
    ledger = Told()
    ledger.turn("secret", "{}")
    ledger.user("two", turn=1)
    ledger.answer(call("call_open_1"), call("call_open_2"), turn=1)
    ledger.result("call_open_1", LARGE, turn=1)
    sources = ledger.ends()
    ledger.answer(call("call_now"), turn=10_000)
    ledger.result("call_now", LARGE, turn=10_000)
    sources = ledger.sources(sources.agent, running_turn=10_000)
    assert decided(sources) == {}
    assert len(decided(replace(sources, running_turn=None))) == 1, "the turn is over"
    ledger = Told()
    seqs = [ledger.turn("lookup", f'{{"q": {n}}}') for n in range(4)]
    weight = ledger.messages[2].entry.tokens
    for protect, taken in ((0, 4), (1, 3), (weight, 3), (weight + 1, 2), (10 * weight, 0)):
        found = replace(ledger.ends(), agent=replace(reviser(), pruning=PruningPolicy(0.65, protect)))
        assert list(decided(found)) == seqs[:taken]


@pytest.mark.req("X-58")
def test_results_that_answer_the_newest_input_stay_also_where_another_turn_answers_it_again():
    """A turn, to a projection, is a user message and everything before the next (http-api 4): what a failed attempt found out is of it."""
    ledger = Told()
    old = ledger.turn("lookup", '{"q": 0}')
    ledger.user("look it up", turn=8)  # it was turn 7's, which failed
    ledger.answer(call("call_failed"), turn=7)
    found = ledger.result("call_failed", LARGE, turn=7).entry.seq
    sources = ledger.sources(reviser(), running_turn=8)
    assert list(decided(sources)) == [old]
    said = Ephemeral("user_message", (Text("and now"),), tokens=3, after_seq=ledger.seq)
    assert list(decided(replace(sources, running_turn=9, ephemeral=(said,)))) == [old, found], "an input that is not stored is one too"


@pytest.mark.req("X-58")
def test_small_results_stay_and_a_small_gain_is_no_reason():
    ledger = Told()
    ledger.turn("weather", "{}", "rain")
    ledger.turn("lookup", "{}", "y" * 20)
    assert decided(ledger.ends()) == {}
    ledger = Told()
    ledger.turn("weather", "{}", "rain" * 100)
    found = compiled(ledger.ends())
    tight = pressed(found, limit=50_000)
    assert decide(found, tight, tokens) is None
    assert decide(found, replace(tight, verdict="fits"), tokens) is None
    just = replace(tight, verdict="over", total=tight.input_limit + 1)
    pruned = decide(found, just, tokens)
    assert pruned is not None, "it makes the request fit"
    assert pruned.tokens_after <= tight.input_limit
    assert decide(found, replace(just, total=tight.input_limit * 2), tokens) is None
    least = pruned.tokens_before - pruned.tokens_after
    banded = replace(tight, verdict="over", error_band=0.1, total=45_000 + least, input_limit=49_500)
    assert decide(found, banded, tokens) is not None, "exactly at the limit may be sent"
    assert decide(found, replace(banded, total=banded.total + 1), tokens) is None


@pytest.mark.req("X-58", "X-59")
def test_pictures_of_a_result_go_and_the_account_says_what_it_was_and_is():
    ledger = Told()
    seq = ledger.turn("weather", "{}", "rain" * 30)
    body = ledger.messages[2].body
    picture = Media("image", Blob("sha256:" + "a" * 64, "image/png", 9, 2_000, 2_000))
    ledger.messages[2] = ledger.messages[2]._replace(body=with_parts(body, (*body.parts, picture)))
    sources = ledger.ends()
    pruned = Pruned((PrunedResult(seq, "cleared", "disposable"),), 1, 1)
    found = compiled(after(sources, pruned))
    (message,) = [one for one in found.request.messages if one.role == "tool"]
    assert message.parts == (Text(f"[The result of weather {{}} was left out: {ledger.messages[2].entry.tokens} tokens, images or files: 1.]"),)
    (row,) = [row for row in found.decisions if row.source == {"kind": "entry", "seq": seq}]
    assert (row.disposition, row.reason, row.by) == ("transformed", "pruned_stale_tool_result", "pruning")
    assert row.tokens_after < row.tokens_before


def entry_of(number: int, *results: PrunedResult) -> Any:
    (made,) = (Ledger(seq=number).user("x"),)
    return made.entry._replace(kind="pruned", payload=Pruned(results, 1, 1).encode())


@pytest.mark.req("X-58")
def test_the_later_word_counts_and_a_form_never_gets_longer():
    old, stale = PrunedResult(3, "shortened", "old"), PrunedResult(3, "cleared", "superseded")
    assert pruned_results([]) == {}
    assert pruned_results([entry_of(5, old), entry_of(6, stale)]) == {3: stale}
    assert pruned_results([entry_of(5, stale), entry_of(6, old)]) == {3: stale}
    assert pruned_results([entry_of(5, old)._replace(payload=None), entry_of(6)._replace(kind="cleared")]) == {}


@pytest.mark.req("X-58")
def test_the_low_mark_is_a_share_of_the_mark_and_what_is_large_and_enough_are_shares_of_the_limit():
    found = compiled(Told().ends())
    plain = budget(found.sources.target, found.sources.agent, found.measured)
    assert prune_to(replace(plain, prune_from=1_000, error_band=0.0)) == 800
    assert prune_to(replace(plain, prune_from=1_000, error_band=0.1)) == 727
    shares = [(gain_min(one), large_from(one)) for one in (replace(plain, input_limit=7_100), replace(plain, input_limit=200_000))]
    assert shares == [(142, 71), (4_000, 1_000)]


@pytest.mark.req("X-40", "X-58")
@pytest.mark.parametrize("times", [0.5, 1, 3])
def test_beside_a_providers_own_count_as_much_is_pruned_as_that_count_asks_for(times: float):
    ledger = Told()
    for number in range(12):
        ledger.turn("lookup", f'{{"n": {number}}}', "x" * 1_500)
    found = compiled(ledger.ends())
    plain = pressed(found, prune_from=found.measured.total)
    exact = replace(plain, total=int(times * plain.total), prune_from=int(times * plain.total), input_limit=int(times * plain.input_limit))
    exact = replace(exact, method="exact")
    as_estimated, as_counted = decide(found, plain, tokens), decide(found, exact, tokens)
    assert as_estimated is not None
    assert as_counted is not None
    assert len(as_counted.results) == len(as_estimated.results)
    assert as_counted.tokens_after == pytest.approx(times * as_estimated.tokens_after, abs=2)
