"""What a model says in one answer, in no provider's words: each fake writes it as the stream that its provider would send.

So one script serves a conversation over every dialect, and each fake mints the opaque tokens that go with it.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.serving import FakeServer

Stop = Literal["finished", "tool_calls", "length", "refused"]
PIECE_CHARS = 9


@dataclass(frozen=True, slots=True)
class Said:
    """Text that the user may read."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought. An empty `text` is reasoning that the provider keeps to itself: only its opaque token is sent."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call. `arguments` is the exact text; without `tool_call_id` the fake names the call as its provider does."""

    name: str
    arguments: str = "{}"
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens. `input` includes `cached`, `output` includes `reasoning`."""

    input: int = 31
    cached: int = 0
    output: int = 17
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its parts in order. Calls of one answer are parallel ones."""

    parts: Sequence[Said | Thought | Called]
    stop: Stop = "finished"
    used: Used = field(default_factory=Used)

    def __post_init__(self) -> None:
        if self.stop == "finished" and self.calls:
            object.__setattr__(self, "stop", "tool_calls")

    @property
    def calls(self) -> list[Called]:
        return [part for part in self.parts if isinstance(part, Called)]


def pieces(text: str) -> Iterator[str]:
    """The text as a stream brings it: a few characters at a time."""
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))


class ScriptedServer(FakeServer):
    """A fake that also answers by script: of `answers`, each request that passes gets the next, the last one again and again.

    While there are any, they stand in place of `streams`.
    """

    def __init__(self, streams: Sequence[bytes] = (), url: str = "", answers: Sequence[Answer] = ()) -> None:
        super().__init__(streams, url)
        self.answers = list(answers)

    @abstractmethod
    def write(self, answer: Answer, body: Any) -> bytes:
        """The answer to that body, as the provider sends it."""

    def next_stream(self) -> bytes:
        if not self.answers:
            return super().next_stream()
        return self.write(self.answers[min(len(self.served), len(self.answers)) - 1], self.served[-1])
