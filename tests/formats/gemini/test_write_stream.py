"""Deltas to a Gemini stream: read back by our reader as they were, and by the SDK's own client."""

from typing import Any

import pytest
from google.genai import errors
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries import lossless
from app.entries.deltas import (
    Delta,
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
)
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.gemini.rules import CANDIDATE, DIALECT, STOP_REASONS
from app.formats.gemini.write_stream import GeminiStreamWriter
from tests.formats.gemini.judge import sdk_answer
from tests.formats.gemini.streams import fold, read


def write(*deltas: Delta) -> bytes:
    writer = GeminiStreamWriter("m", "id-1", 1_764_400_000)
    return b"".join(writer.write(delta) for delta in deltas) + writer.end()


@pytest.mark.req("X-90")
def test_the_official_client_reads_it():
    answer = sdk_answer(
        write(
            ReasoningDelta(0, "thi"),
            ReasoningDelta(0, "nk"),
            TextDelta(1, "said\u2028\r\n"),
            ToolCallStarted(2, "f", "p1"),
            ToolCallDelta(2, '{"a"'),
            ToolCallStarted(3, "g", "", "ours"),
            ToolCallDelta(2, ":1}"),
            PartBlock(2, '{"functionCall":{"id":"p1"},"thoughtSignature":"Zm9v"}', "p"),
            UsageReport(Usage(10, 4, None, 5, 2)),
            Finished("tool_calls"),
        )
    )
    assert (answer.text, answer.thoughts) == ("said\u2028\r\n", "think")
    assert answer.calls == [("f", "p1", {"a": 1}), ("g", "ours", {})]
    assert answer.signatures == [b"foo"]
    assert answer.finish_reason == "STOP"
    assert answer.figures == {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 15,
    }


def test_an_error_in_the_stream_is_one_for_the_official_client_too():
    stream = write(TextDelta(0, "x"), StreamFailed("UNAVAILABLE", "It broke."), TextDelta(0, "y"), Finished("finished"))
    with pytest.raises(errors.ServerError) as raised:
        sdk_answer(stream)
    assert (raised.value.code, raised.value.status) == (503, "UNAVAILABLE")
    deltas = read([stream])
    assert fold(deltas).parts() == (Text("x"),)
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.retryable
    assert b'"INTERNAL"' in write(StreamFailed("some code of ours", "It broke."))


def test_a_stream_without_finished_is_cut_and_loses_nothing_that_was_said():
    deltas = read([write(TextDelta(0, "first"), ToolCallStarted(1, "f"), ToolCallDelta(1, '{"a":1}'))])
    assert isinstance(deltas[-1], StreamFailed)
    assert fold(deltas).parts() == (Text("first"), ToolCall("", "f", '{"a":1}'))
    assert fold(read([write(TextDelta(0, "first"))])).parts() == (Text("first"),)


def test_a_piece_is_held_no_longer_than_until_the_next():
    writer = GeminiStreamWriter("m", "id-1", 0)
    assert writer.write(TextDelta(0, "a")) == b""
    assert writer.write(TextDelta(0, "b")).count(b"data: ") == 2
    assert writer.write(TextDelta(0, "c")).count(b"data: ") == 1


def test_a_signature_that_comes_late_stands_beside_an_empty_text():
    found = fold(read([write(TextDelta(0, "a"), TextDelta(0, "b"), PartBlock(0, '{"thoughtSignature":"s"}', "p"), Finished("finished"))])).parts()
    assert found == (Text("ab"), Reasoning("", '{"thoughtSignature":"s"}', "test/m"))


def test_what_the_format_has_no_word_for_is_left_out_or_wrapped():
    assert write(OpaqueBlock(0, "other", "p", "{}"), OpaqueBlock(0, DIALECT, "p", "no json"), ToolCallDelta(7, "no such call")) == b""
    (broken,) = fold(read([write(ToolCallStarted(0, "f"), ToolCallDelta(0, "not json"), Finished("finished"))])).parts()
    assert broken == ToolCall("", "f", '{"rawInvalidInput":"not json"}')


@pytest.mark.parametrize(
    ("reason", "native", "expected"),
    [
        ("refused", "RECITATION", ("refused", "RECITATION")),
        ("refused", "content_filter", ("refused", "SAFETY")),
        ("other", "SOME_NEW_REASON", ("other", "SOME_NEW_REASON")),
        ("window_full", "", ("other", "OTHER")),
        ("paused", "", ("paused", "CONTINUATION")),
        ("malformed", "", ("malformed", "MALFORMED_FUNCTION_CALL")),
    ],
)
def test_endings(reason: str, native: str, expected: tuple[str, str]):
    assert read([write(TextDelta(0, "x"), Finished(reason, native))])[-1] == Finished(*expected)


said = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
signatures = st.sampled_from(["Zm9v", "YmFy"])
json_objects = st.dictionaries(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=3),
    st.integers(-(2**70), 2**70) | said | st.none() | st.lists(st.integers(), max_size=2),
    max_size=2,
)


@st.composite
def parts(draw: st.DrawFn) -> list[Any]:
    """Parts as the dialect can say them: no two unsigned texts side by side, which would be one."""
    found: list[Any] = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "thought", "signed", "late", "call", "opaque"]))
        if kind == "text" and not (found and isinstance(found[-1], Text) and found[-1].opaque is None):
            found.append(Text(draw(said)))
        elif kind == "thought" and not (found and isinstance(found[-1], Reasoning) and found[-1].opaque is None):
            found.append(Reasoning(draw(said)))
        elif kind == "signed":
            signed = draw(signatures)
            if draw(st.booleans()):
                found.append(Text(draw(said), None, lossless.dumps({"thoughtSignature": signed}), "test/m"))
            else:
                found.append(Reasoning(draw(said), lossless.dumps({"thought": True, "thoughtSignature": signed}), "test/m"))
        elif kind == "late":
            found.append(Reasoning("", lossless.dumps({"thoughtSignature": draw(signatures)}), "test/m"))
        elif kind == "call":
            given, sealed = draw(st.sampled_from(["", "x1"])), draw(st.none() | signatures)
            beside = ({"functionCall": {"id": given}} if given else {}) | ({"thoughtSignature": sealed} if sealed else {})
            opaque = lossless.dumps(beside) if beside else None
            name = draw(st.from_regex("[a-z_]{1,8}", fullmatch=True))
            found.append(ToolCall("", name, lossless.dumps(draw(json_objects)), given or None, opaque, None, "test/m" if opaque else None))
        elif kind == "opaque":
            found.append(Opaque(DIALECT, "test/m", lossless.dumps({"executableCode": draw(json_objects)}), "executableCode"))
    return found


def deltas_of(found: list[Any], drawn: st.DataObject) -> list[Delta]:
    """The deltas that say these parts, a signed one and arguments as they may come."""
    deltas: list[Delta] = []
    for index, part in enumerate(found):
        match part:
            case Text() | Reasoning():
                kind = TextDelta if isinstance(part, Text) else ReasoningDelta
                size = drawn.draw(st.integers(1, 4)) if part.opaque is None else len(part.text) or 1
                deltas += [kind(index, part.text[start : start + size]) for start in range(0, len(part.text), size)]
            case ToolCall():
                size = drawn.draw(st.integers(1, 9))
                deltas.append(ToolCallStarted(index, part.name, part.provider_id or ""))
                deltas += [ToolCallDelta(index, part.arguments[start : start + size]) for start in range(0, len(part.arguments), size)]
            case Opaque():
                deltas.append(OpaqueBlock(index, part.format, part.producer, part.block, part.preview))
        if not isinstance(part, Opaque) and part.opaque is not None:
            deltas.append(PartBlock(index, part.opaque, "test/m"))
    return deltas


@settings(max_examples=500, deadline=None)
@given(parts(), st.sampled_from(sorted(STOP_REASONS)), st.none() | st.builds(Usage, *[st.none() | st.integers(0, 99)] * 5), st.booleans(), st.data())
def test_what_is_written_is_read_back(found: list[Any], native: str, usage: Usage | None, grounded: bool, drawn: st.DataObject):
    calls = any(isinstance(part, ToolCall) for part in found)
    reason = "tool_calls" if native == "STOP" and calls else STOP_REASONS[native]
    deltas = deltas_of(found, drawn)
    if grounded:
        found = [*found, Opaque(CANDIDATE, "test/m", '{"groundingMetadata":{"a":1}}', "groundingMetadata")]
        deltas.append(OpaqueBlock(len(found), CANDIDATE, "p", '{"groundingMetadata":{"a":1}}', "groundingMetadata"))
    deltas += [UsageReport(usage)] if usage is not None else []
    stream = write(*deltas, Finished(reason, native))
    answer = fold(read([stream]))
    assert answer.parts() == tuple(found)
    assert answer.finished == Finished(reason, native)
    if usage is not None:
        output = None if usage.output is None and usage.reasoning is None else max(usage.output or 0, usage.reasoning or 0)
        assert answer.usage == Usage(usage.input, usage.cached, None, output, usage.reasoning)
    again = write(*read([stream]))
    assert fold(read([again])).parts() == answer.parts(), "what the reader says can be written again"
