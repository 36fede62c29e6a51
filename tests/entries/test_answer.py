"""The one fold from deltas to an answer, and deltas on the event stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.limits import USAGE_FRAMES_KEPT_MAX
from app.entries import lossless
from app.entries.answer import AnswerFold, merge_usage
from app.entries.deltas import (
    CallNames,
    Finished,
    OpaqueBlock,
    PartBlock,
    ReasoningDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
    UsageReport,
    from_event,
    to_event,
)
from app.entries.messages import Status
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from tests.entries.values import texts, usages

said = st.one_of(
    st.builds(TextDelta, st.just(1), texts),
    st.builds(ReasoningDelta, st.just(0), texts),
    st.builds(PartBlock, st.just(0), texts, texts),
    st.builds(ToolCallStarted, st.integers(2, 4), texts, texts, texts),
    st.builds(ToolCallDelta, st.integers(2, 4), texts),
    st.builds(OpaqueBlock, st.integers(5, 6), texts, texts, texts, texts),
)
ends = st.one_of(st.builds(UsageReport, usages, texts), st.builds(Finished, texts, texts), st.builds(StreamFailed, texts, texts))


def fold(deltas):
    folded = AnswerFold()
    for delta in deltas:
        folded.add(delta)
    return folded


@pytest.mark.req("X-75")
@given(st.lists(said | ends))
def test_an_answer_is_a_function_of_its_deltas_however_often_it_is_looked_at(deltas):
    watched = AnswerFold()
    for delta in deltas:
        watched.add(delta)
        watched.answer(Status.INTERRUPTED)
    assert watched.answer(Status.COMPLETED, "m", "c") == fold(deltas).answer(Status.COMPLETED, "m", "c")


@pytest.mark.req("X-75")
@given(st.lists(texts))
def test_how_a_text_is_cut_into_deltas_does_not_matter(pieces):
    parts = fold([TextDelta(0, piece) for piece in pieces]).parts()
    assert parts == ((Text("".join(pieces)),) if any(pieces) else ())


@given(st.lists(said))
def test_what_goes_through_the_delta_log_gives_the_same_answer(deltas):
    named = CallNames("mcl_1")
    deltas = [named.name(delta) if isinstance(delta, ToolCallStarted) else delta for delta in deltas]
    logged = []
    for delta in deltas:
        event = to_event(delta)
        assert event is not None
        name, data = event
        logged.append(from_event(name, lossless.read(lossless.dumps(data))))
    assert fold(logged).parts() == fold(deltas).parts()


@given(st.lists(said), st.integers(0, 20))
def test_a_prefix_of_a_stream_is_a_prefix_of_its_answer(deltas, length):
    whole = {type(part): part.text for part in fold(deltas).parts() if isinstance(part, Text | Reasoning)}
    for part in fold(deltas[:length]).parts():
        if isinstance(part, Text | Reasoning):
            assert whole[type(part)].startswith(part.text)


def test_parts_stand_in_their_order_and_blank_ones_are_left_out():
    folded = fold([TextDelta(2, "b"), ReasoningDelta(0, "a"), TextDelta(1, ""), ToolCallStarted(3, "f", "p", "p"), ToolCallDelta(3, "{}")])
    assert folded.parts() == (Reasoning("a"), Text("b"), ToolCall("p", "f", "{}"))
    assert not folded.empty


@pytest.mark.parametrize("deltas", [[], [TextDelta(0, "")], [UsageReport(Usage(1))], [Finished("finished")], [ToolCallDelta(0, "{}")]])
def test_nothing_said_is_empty(deltas):
    assert fold(deltas).empty
    assert fold(deltas).parts() == ()


def test_a_call_without_arguments_and_a_block_are_something():
    assert fold([ToolCallStarted(0, "f", "", "c")]).parts() == (ToolCall("c", "f", ""),)
    assert fold([OpaqueBlock(0, "f", "p", "{}")]).parts() == (Opaque("f", "p", "{}"),)
    assert fold([PartBlock(0, "{}", "p")]).parts() == (Reasoning("", "{}", "p"),)


def test_the_first_end_counts_and_usage_is_merged_field_by_field():
    folded = fold([UsageReport(Usage(1, output=2), "a"), UsageReport(Usage(output=3)), Finished("length", "x"), Finished("finished")])
    assert folded.usage == Usage(1, output=3)
    assert folded.usage_raw == "a"
    assert folded.answer(Status.COMPLETED).stop_reason == "length"
    assert fold([StreamFailed("a", "x"), StreamFailed("b", "y")]).failed == StreamFailed("a", "x")


def test_the_providers_own_figures_are_kept_without_what_else_a_frame_says():
    frames = [
        '{"choices":[{"delta":{"content":"SAID"},"usage":{"prompt_tokens":1}}]}',
        '{"type":"message_start","message":{"content":[],"usage":{"input_tokens":9002,"service_tier":"standard","note":"SAID by me"}}}',
        '{"usageMetadata":{"promptTokensDetails":[{"modality":"TEXT","tokenCount":1.0}]}}',
        '{"response":{"usage":null}}',
        "no json",
        '{"a":{"b":{"c":{"usage":{"too":"deep"}}}}}',
    ]
    figures = fold([UsageReport(Usage(1), frame) for frame in frames]).figures()
    assert lossless.dumps(list(figures)) == (
        '[{"prompt_tokens":1},{"input_tokens":9002,"service_tier":"standard"},{"promptTokensDetails":[{"modality":"TEXT","tokenCount":1.0}]}]'
    )


def test_of_many_usage_frames_the_first_and_the_last_are_kept():
    folded = fold([UsageReport(Usage(number), str(number)) for number in range(USAGE_FRAMES_KEPT_MAX + 3)])
    assert folded.usage_frames == [*map(str, range(USAGE_FRAMES_KEPT_MAX - 1)), str(USAGE_FRAMES_KEPT_MAX + 2)]
    assert fold([UsageReport(Usage(1))]).usage_raw == ""


@given(usages, usages, usages)
def test_merging_usage_is_associative_and_keeps_what_is_known(a, b, c):
    assert merge_usage(merge_usage(a, b), c) == merge_usage(a, merge_usage(b, c))
    assert merge_usage(a, Usage()) == a == merge_usage(Usage(), a)


@pytest.mark.req("X-74")
@given(st.lists(st.tuples(st.integers(0, 5), texts), unique_by=lambda one: one[0]), st.sets(texts))
def test_calls_are_named_once_and_the_same_again(started, taken):
    deltas = [ToolCallStarted(part, "f", provider_id) for part, provider_id in started]
    first, again = CallNames("mcl_9", set(taken)), CallNames("mcl_9", set(taken))
    names = [first.name(delta).tool_call_id for delta in deltas]
    assert names == [again.name(delta).tool_call_id for delta in deltas]
    assert len(set(names)) == len(names)
    assert all(names)
    assert not set(names) & taken


@pytest.mark.req("X-74")
def test_a_minted_id_that_is_taken_is_not_given_again():
    names = CallNames("mcl_9", {"call_9_0"})
    assert names.name(ToolCallStarted(0, "f")).tool_call_id not in ("", "call_9_0")


@pytest.mark.req("X-74")
def test_the_original_id_is_kept_beside_a_minted_one():
    named = CallNames("mcl_9", {"call_0"}).name(ToolCallStarted(0, "f", "call_0"))
    assert fold([named]).parts() == (ToolCall(named.tool_call_id, "f", "", "call_0"),)
    event = to_event(named)
    assert event is not None
    assert event[1]["provider_id"] == "call_0"
    plain = to_event(CallNames("mcl_9").name(ToolCallStarted(0, "f", "call_0")))
    assert plain is not None
    assert "provider_id" not in plain[1]


def test_ends_are_not_logged_and_other_events_are_no_deltas():
    assert to_event(Finished("finished")) is None
    assert to_event(UsageReport(Usage())) is None
    assert to_event(StreamFailed("a", "b")) is None
    assert from_event("turn.started", {}) is None
