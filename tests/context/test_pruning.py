"""The decision of a pruning: what is taken, in which order, and what never is; and the laws that hold of any input."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.budget import Budget, budget, prune_to
from app.context.compile import Compiled, compile_context
from app.context.pruning import decide, gain_min, large_from, pruned_results
from app.context.report import source_map
from app.context.sources import PruningPolicy, Sources
from app.entries.messages import Answer, ToolResult, with_parts
from app.entries.parts import Blob, Media, Text, ToolCall
from app.entries.prunings import Pruned, PrunedResult
from app.formats.registry import FORMATS
from tests.context.test_laws import settled
from tests.strategies import Ledger, agent, call, ledgers, target, tokens

TOOLS = [
    {"name": "read", "results": {"target": "path"}},
    {"name": "edit", "results": {"target": "path", "effect": "write"}},
    {"name": "weather", "results": {"keep": "disposable"}},
    {"name": "secret", "results": {"keep": "protected"}},
    {"name": "lookup"},
]
LARGE = "x" * 5_000


def reviser(protect: int = 0, **more: Any) -> Any:
    return agent(tools=TOOLS, pruning={"trigger_fraction": 0.65, "protect_recent_tokens": protect}, **more)


class Told(Ledger):
    """A ledger in which turns of one call each are told in a line."""

    def turn(self, name: str, arguments: str, text: str = LARGE, call_id: str = "", said: str = "go on", is_error: bool = False) -> int:
        """Returns the seq of the result."""
        number, call_id = self.seq, call_id or f"call_{self.seq:08}"
        self.user(said, turn=number)
        self.answer(call(call_id, name, arguments), turn=number)
        seq = self.add("tool_result", ToolResult(call_id, (Text(text),), name, is_error), turn=number).entry.seq
        self.answer("Done.", turn=number)
        return seq

    def ends(self, said: str = "and now") -> Sources:
        """The sources of the call that answers these words."""
        self.user(said, turn=10_000)
        return self.sources(reviser(), running_turn=10_000)


def compiled(sources: Sources) -> Compiled:
    return compile_context(sources, tokens)


def pressed(found: Compiled, total: int | None = None, limit: int = 10_000, prune_from: int = 1) -> Budget:
    """A budget over the mark of pruning, by default one that asks for all there is."""
    plain = budget(found.sources.target, found.sources.agent, found.measured)
    return replace(plain, verdict="prune", input_limit=limit, prune_from=prune_from, error_band=0.0, total=total or plain.total)


def decided(sources: Sources) -> dict[int, tuple[str, str]]:
    found = compiled(sources)
    pruned = decide(found, pressed(found), tokens)
    return {} if pruned is None else {one.seq: (one.form, one.why) for one in pruned.results}


def after(sources: Sources, pruned: Pruned) -> Sources:
    """The sources once the decision is an entry."""
    return replace(sources, pruned={**sources.pruned, **{one.seq: one for one in pruned.results}})


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


# The laws.

names = st.sampled_from(["read", "edit", "weather", "secret", "lookup", "gone"])
spelled = st.sampled_from(["{}", '{"path": "/a.py"}', '{"path": "/b.py", "offset": 1}', "not json", '{"path": 3}'])
lengths = st.sampled_from([0, 3, 60, 600, 3_000, 9_000])


@st.composite
def long_sessions(draw: st.DrawFn) -> Sources:
    """Turns with calls of every tool, among anything else that a ledger may hold."""
    ledger = Told()
    number = 0
    for number in range(draw(st.integers(1, 7))):
        ledger.user(draw(st.sampled_from(["go on", "look at /a.py", "what of call_0_0_long?"])), turn=number)
        asked = [ToolCall(f"call_{number}_{place}_long", draw(names), draw(spelled)) for place in range(draw(st.integers(0, 3)))]
        ledger.answer("So.", *asked, turn=number)
        for one in asked:
            if draw(st.sampled_from([True, True, True, False])):
                parts = (Text("y" * draw(lengths)), *([Media("image", Blob("sha256:" + "a" * 64, "image/png", 9))] if draw(st.booleans()) else []))
                ledger.add("tool_result", ToolResult(one.tool_call_id, parts, one.name, draw(st.booleans())), turn=number)
    for one in draw(ledgers(acts_max=2)).messages:
        ledger.add(one.entry.kind, one.body, turn=number)
    sent_to = target(draw(st.sampled_from(sorted(FORMATS))))
    return ledger.sources(reviser(draw(st.sampled_from([0, 500, 6_000]))), sent_to, running_turn=draw(st.sampled_from([None, number])))


def pairs(found: Compiled) -> list[tuple[str, str | None, bool]]:
    """Everything that joins calls and results."""
    asked = [
        ("call", part.tool_call_id, False)
        for message in found.request.messages
        for part in message.parts
        if message.role == "assistant" and isinstance(part, ToolCall)
    ]
    return asked + [("result", message.tool_call_id, message.is_error) for message in found.request.messages if message.role == "tool"]


@pytest.mark.req("S0-32", "S0-35", "X-58")
@settings(deadline=None)
@given(long_sessions(), st.sampled_from([1, 2_000, 8_000, 30_000]))
def test_pruning_keeps_pairs_and_what_is_protected_and_comes_to_an_end(sources: Sources, mark: int):
    found = compiled(sources)
    before = found
    for _ in range(2 * len(sources.messages) + 1):
        given_budget = pressed(found, limit=12_000, prune_from=mark)
        pruned = decide(found, given_budget, tokens)
        assert pruned == decide(found, given_budget, tokens)
        if pruned is None:
            break
        assert pruned.tokens_before - pruned.tokens_after >= gain_min(given_budget)
        known = [(sources.pruned[one.seq].form, one.form) for one in pruned.results if one.seq in sources.pruned]
        assert known == [("shortened", "cleared")] * len(known)
        assert len({one.seq for one in pruned.results}) == len(pruned.results)
        sources = after(sources, pruned)
        found = compiled(sources)
        assert found.measured.total == pruned.tokens_after
    else:
        pytest.fail("pruning goes on without end")
    assert found.measured.total <= before.measured.total
    assert pairs(found) == pairs(before)
    assert source_map(found) is not None
    ends = {one.entry.seq: one for one in sources.messages}
    for seq, one in sources.pruned.items():
        body, entry = ends[seq].body, ends[seq].entry
        assert isinstance(body, ToolResult)
        assert body.name != "secret"
        assert sources.running_turn is None or entry.turn != sources.running_turn
        assert one.why == "old" or one.form == "cleared"
    document = FORMATS[sources.target.dialect].write_request(found.request, {"sha256:" + "a" * 64: b"\x89PNG"}).document
    whole = FORMATS[sources.target.dialect].write_request(before.request, {"sha256:" + "a" * 64: b"\x89PNG"}).document
    assert FORMATS[sources.target.dialect].validate(document, sources.target.rules) == FORMATS[sources.target.dialect].validate(
        whole, sources.target.rules
    )


@pytest.mark.req("X-58", "T-08")
@settings(deadline=None)
@given(long_sessions())
def test_between_the_marks_nothing_is_decided_and_each_request_begins_as_the_one_before(sources: Sources):
    found = compiled(sources)
    pruned = decide(found, pressed(found, limit=12_000), tokens)
    sources = sources if pruned is None else after(sources, pruned)
    first = compiled(sources)
    more = Ledger(list(sources.messages), sources.head_seq)
    more.answer("Done.", turn=9_999)
    more.user("One more thing.", turn=9_999)
    second = compiled(replace(sources, messages=tuple(more.messages), head_seq=more.seq, history_message_count=len(more.messages)))
    before = settled(first.request.messages)
    assert list(second.request.messages[: len(before)]) == before
    assert decide(second, replace(pressed(second), verdict="fits"), tokens) is None


@pytest.mark.req("T-08", "S0-36")
@settings(deadline=None)
@given(long_sessions())
def test_words_of_results_that_are_not_sent_change_nothing(sources: Sources):
    """A word on a result that is off the line, or on no result at all, leaves the request as it was."""
    foreign = {seq + 100_000: PrunedResult(seq + 100_000, "cleared", "old") for seq in range(3)}
    answers = {one.entry.seq: PrunedResult(one.entry.seq, "cleared", "old") for one in sources.messages if isinstance(one.body, Answer)}
    assert compiled(replace(sources, pruned=foreign | answers)).request == compiled(sources).request


@pytest.mark.req("X-58")
def test_the_low_mark_is_a_share_of_the_mark_and_what_is_large_and_enough_are_shares_of_the_limit():
    found = compiled(Told().ends())
    plain = budget(found.sources.target, found.sources.agent, found.measured)
    assert prune_to(replace(plain, prune_from=1_000, error_band=0.0)) == 800
    assert prune_to(replace(plain, prune_from=1_000, error_band=0.1)) == 727
    shares = [(gain_min(one), large_from(one)) for one in (replace(plain, input_limit=7_100), replace(plain, input_limit=200_000))]
    assert shares == [(142, 71), (4_000, 1_000)]
