"""Laws of pruning, for any session: pairs and what is protected stay, forms get shorter, it comes to an end, and nothing moves between."""

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from app.context.budget import prune_to
from app.context.compile import Compiled
from app.context.pruning import decide, gain_min
from app.context.report import source_map
from app.context.sources import Sources
from app.entries.messages import Answer, ToolResult
from app.entries.parts import Blob, Media, Part, Text, ToolCall
from app.entries.prunings import PrunedResult
from app.formats.registry import FORMATS
from tests.context.pressed import Told, after, compiled, pressed, reviser
from tests.context.test_laws import settled
from tests.strategies import Ledger, ledgers, target, tokens

PICTURE = Media("image", Blob("sha256:" + "a" * 64, "image/png", 9))

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
                parts: tuple[Part, ...] = (Text("y" * draw(lengths)), *([PICTURE] if draw(st.booleans()) else []))
                ledger.add("tool_result", ToolResult(one.tool_call_id, parts, one.name, draw(st.booleans())), turn=number)
    for message in draw(ledgers(acts_max=2)).messages:
        ledger.add(message.entry.kind, message.body, turn=number)
    sent_to = draw(st.sampled_from([*map(target, sorted(FORMATS)), target(tools="text")]))
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
    mark = found.measured.total
    at_mark = pressed(found, limit=2 * mark, prune_from=mark)
    pruned = decide(found, at_mark, tokens)
    sources = sources if pruned is None else after(sources, pruned)
    first = compiled(sources)
    more = Ledger(list(sources.messages), sources.head_seq)
    more.answer("Done.", turn=9_999)
    more.user("One more thing.", turn=9_999)
    second = compiled(replace(sources, messages=tuple(more.messages), head_seq=more.seq, history_message_count=len(more.messages)))
    before = settled(first.request.messages)
    assert list(second.request.messages[: len(before)]) == before
    again = decide(first, pressed(first, limit=2 * mark, prune_from=mark), tokens)
    if first.measured.total <= prune_to(at_mark):
        event("at the low mark")
        assert again is None
    elif again is not None:
        event("all was taken")
        assert {sources.pruned[one.seq].form for one in again.results} == {"shortened"}, "a second look takes what the first one shortened"


@pytest.mark.req("T-08", "S0-36")
@settings(deadline=None)
@given(long_sessions())
def test_words_of_results_that_are_not_sent_change_nothing(sources: Sources):
    """A word on a result that is off the line, or on no result at all, leaves the request as it was."""
    foreign = {seq + 100_000: PrunedResult(seq + 100_000, "cleared", "old") for seq in range(3)}
    answers = {one.entry.seq: PrunedResult(one.entry.seq, "cleared", "old") for one in sources.messages if isinstance(one.body, Answer)}
    assert compiled(replace(sources, pruned=foreign | answers)).request == compiled(sources).request
