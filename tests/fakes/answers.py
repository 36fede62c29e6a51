"""What a fake model says, in no provider's words: a test writes it once, and each fake turns it into its own wire stream."""

import json
from dataclasses import dataclass
from typing import Any, Literal

Stop = Literal["finished", "tool_calls", "output_cap", "window_full", "refused", "stop_sequence"]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning in the open. The fake signs it."""

    text: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """Reasoning that comes as an opaque block alone, which the fake makes up."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments`: JSON as the model wrote it, which may be broken. Without an id, the fake gives one of its own."""

    name: str
    arguments: str = "{}"
    tool_call_id: str | None = None

    def parsed(self) -> Any:
        """The arguments as an object; None for what is none."""
        try:
            parsed = json.loads(self.arguments or "{}")
        except ValueError:
            return None
        return parsed if isinstance(parsed, dict) else None


Part = Text | Thinking | Redacted | ToolCall


@dataclass(frozen=True, slots=True)
class Usage:
    """In tokens. `input_tokens` counts what no cache had a hand in; `thinking_tokens` are among the `output_tokens`."""

    input_tokens: int = 120
    output_tokens: int = 40
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model. `stop` None: `tool_calls` where it calls a tool, else `finished`."""

    parts: tuple[Part, ...]
    stop: Stop | None = None
    usage: Usage = Usage()

    @property
    def why(self) -> Stop:
        return self.stop or ("tool_calls" if any(isinstance(part, ToolCall) for part in self.parts) else "finished")


def pieces(text: str, chars: int = 9) -> list[str]:
    """A text as a stream hands it out; an empty one comes as one empty piece."""
    return [text[at : at + chars] for at in range(0, len(text), chars)] or [""]
