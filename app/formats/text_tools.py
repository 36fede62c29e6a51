"""Promotes a reply that is written as a tool call to one, for models without native calling (S0-26, S0-27, X-34).

Strict: the whole reply is one object with a declared tool's name and an object of arguments; no fence is trimmed and nothing is looked
for in prose. A reply that may still become one is held back, so that the text of a promoted call is never shown.
"""

import json
import re
from collections.abc import Collection

from app.context.passes.text_tools import ARGUMENTS_KEY, NAME_KEY
from app.entries.deltas import Delta, Finished, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted
from app.formats.protocols import StreamReader

_STRING = r'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(rf'\s*\{{\s*"{NAME_KEY}"\s*:\s*({_STRING})\s*,\s*"{ARGUMENTS_KEY}"\s*:\s*(?=\{{)')
_TAIL = re.compile(r"\s*\}\s*")
_DECODER = json.JSONDecoder()


class TextCallReader:
    """A reader over another one. `tools` are the names of the declared tools."""

    def __init__(self, inner: StreamReader, tools: Collection[str]) -> None:
        self._inner = inner
        self._tools = tools
        self._held: list[TextDelta] = []
        self._open = True
        """Whether what was said so far may be the beginning of a call."""

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas that these bytes complete, but for text that is held back."""
        return self._sifted(self._inner.feed(data))

    def end(self) -> list[Delta]:
        """What is left once the connection is closed."""
        return self._sifted(self._inner.end())

    def _sifted(self, deltas: list[Delta]) -> list[Delta]:
        found: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, TextDelta) and self._open:
                self._hold(delta, found)
            elif isinstance(delta, Finished):
                found += self._ended(delta)
            else:
                if isinstance(delta, (StreamFailed, ToolCallStarted)):
                    self._release(found)
                found.append(delta)
        return found

    def _hold(self, delta: TextDelta, found: list[Delta]) -> None:
        begun = any(not one.text.isspace() for one in self._held)
        self._held.append(delta)
        said = delta.text.lstrip()
        same = delta.part == self._held[0].part
        if not same or (not begun and said and not said.startswith("{")):
            self._release(found)

    def _release(self, found: list[Delta]) -> None:
        found += self._held
        self._held = []
        self._open = False

    def _ended(self, finished: Finished) -> list[Delta]:
        text = "".join(delta.text for delta in self._held)
        call = promoted(text, self._tools) if self._held and finished.stop_reason == "finished" else None
        if call is None:
            found: list[Delta] = []
            self._release(found)
            return [*found, finished]
        name, arguments = call
        part = self._held[0].part
        self._held, self._open = [], False
        return [ToolCallStarted(part, name), ToolCallDelta(part, arguments), Finished("tool_calls", finished.native)]


def promoted(text: str, tools: Collection[str]) -> tuple[str, str] | None:
    """Name and exact argument text of the call that a whole reply is; None for one that is none."""
    head = _HEAD.match(text)
    if head is None:
        return None
    try:
        name = json.loads(head[1])
        _, end = _DECODER.raw_decode(text, head.end())
    except (ValueError, RecursionError):
        return None
    if name not in tools or _TAIL.fullmatch(text, end) is None:
        return None
    return name, text[head.end() : end]
