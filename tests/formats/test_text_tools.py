"""A reply that is a tool call, and the many that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta, Finished, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted
from app.entries.parts import Text, ToolCall
from app.formats.text_tools import TextCallReader, promoted

CALL = '{"tool": "lookup", "arguments": {"id": "7",  "n": 1.0}}'


class Played:
    """A reader that gives prepared deltas, one a feed."""

    def __init__(self, *deltas: Delta) -> None:
        self.deltas = list(deltas)

    def feed(self, data: bytes) -> list[Delta]:
        return [self.deltas.pop(0)] if self.deltas else []

    def end(self) -> list[Delta]:
        return []


def read(*deltas: Delta) -> list[Delta]:
    reader = TextCallReader(Played(*deltas), ("lookup",))
    return [found for _ in range(len(deltas) + 1) for found in reader.feed(b"x")] + reader.end()


def pieces(text: str, size: int) -> list[Delta]:
    return [TextDelta(0, text[at : at + size]) for at in range(0, len(text), size)]


@pytest.mark.req("S0-26", "S0-27", "X-34")
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_reply_that_is_a_call_becomes_one_and_its_text_is_never_shown(size: int):
    found = read(ReasoningDelta(1, "hm"), *pieces("\n" + CALL + " ", size), Finished("finished", "stop"))
    assert found == [
        ReasoningDelta(1, "hm"),
        ToolCallStarted(0, "lookup"),
        ToolCallDelta(0, '{"id": "7",  "n": 1.0}'),
        Finished("tool_calls", "stop"),
    ]
    fold = AnswerFold()
    for delta in found:
        fold.add(delta)
    assert fold.parts()[0] == ToolCall("", "lookup", '{"id": "7",  "n": 1.0}')


@pytest.mark.req("X-34")
@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "",
        "{",
        '{"tool": "lookup"}',
        '{"tool": "nobody", "arguments": {}}',
        '{"tool": "lookup", "arguments": []}',
        '{"tool": "lookup", "arguments": "{}"}',
        f"```json\n{CALL}\n```",
        f"Sure: {CALL}",
        f"{CALL} and more",
        f"{CALL}\n{CALL}",
        CALL[:-1],
    ],
)
def test_anything_else_stays_text(text: str):
    assert promoted(text, ("lookup",)) is None
    found = read(*pieces(text, 4), Finished("finished", "stop"))
    assert "".join(delta.text for delta in found if isinstance(delta, TextDelta)) == text
    assert found[-1] == Finished("finished", "stop")


@pytest.mark.req("X-74")
@pytest.mark.parametrize("last", [Finished("length", "length"), StreamFailed("stream-truncated", "cut")])
def test_a_reply_that_was_cut_is_no_call(last: Delta):
    assert read(TextDelta(0, CALL), last) == [TextDelta(0, CALL), last]


def test_words_are_handed_on_as_they_come():
    reader = TextCallReader(Played(TextDelta(0, " "), TextDelta(0, "Hi"), TextDelta(0, " {there")), ("lookup",))
    assert reader.feed(b"") == []
    assert reader.feed(b"") == [TextDelta(0, " "), TextDelta(0, "Hi")]
    assert reader.feed(b"") == [TextDelta(0, " {there")]


@given(st.lists(st.text(alphabet='{}" \ntoolargumentslookup:,', max_size=12), max_size=6))
def test_no_text_is_lost(texts: list[str]):
    found = read(*[TextDelta(0, text) for text in texts], Finished("finished", "stop"))
    fold = AnswerFold()
    for delta in found:
        fold.add(delta)
    whole = "".join(texts)
    assert fold.parts() == ((Text(whole),) if whole else ())
