"""What servers put with reasoning and want back with it: OpenRouter's details, Mistral's thinking chunks (wire-format notes 0.3, 2.3, 2.4).

A stream cuts both into fragments. What goes back is what an answer in one piece would have held: the fragments put together, with
every key that they had.
"""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless

_SPOKEN = ("text", "summary")
"""Keys whose fragments are pieces of one text."""

_WHOLE = frozenset({"reasoning.text", "reasoning.summary"})
"""Kinds of details that come in fragments; any other kind comes whole."""


class Thoughts:
    """Gathers the blocks of one answer's reasoning."""

    __slots__ = ("_chunk", "_details", "_said")

    def __init__(self) -> None:
        self._details: list[Any] = []
        self._chunk: dict[str, Any] = {}
        self._said: list[str] = []

    def details(self, fragments: list[Any]) -> str:
        """Takes elements of `reasoning_details`; gives the text that they say."""
        for fragment in fragments:
            last = self._details[-1] if self._details else None
            if isinstance(last, dict) and _continues(last, fragment):
                _append(last, fragment)
            else:
                self._details.append(dict(fragment) if isinstance(fragment, dict) else fragment)
        return "".join(item["text"] for item in fragments if isinstance(item, dict) and isinstance(item.get("text"), str))

    def chunk(self, piece: Mapping[str, Any]) -> str:
        """Takes a content chunk of type `thinking`; gives the text that it says. What in it is no text is kept for the way back."""
        said = ""
        for item in piece["thinking"]:
            if isinstance(item, dict) and item.get("type", "text") == "text" and isinstance(item.get("text"), str):
                said += item["text"]
            else:
                self._chunk.setdefault("beside", []).append(item)
        self._chunk |= {key: value for key, value in piece.items() if key not in ("type", "thinking") and value is not None}
        self._said.append(said)
        return said

    def block(self) -> str | None:
        """The block of the answer's reasoning as JSON text; None where its text says all that there was."""
        if self._details:
            return lossless.dumps(self._details)
        if self._chunk.keys() <= {"closed"}:
            return None
        beside = self._chunk.pop("beside", [])
        return lossless.dumps({"type": "thinking", "thinking": [{"type": "text", "text": "".join(self._said)}, *beside], **self._chunk})


def _continues(last: Mapping[str, Any], fragment: Any) -> bool:
    if not isinstance(fragment, dict) or fragment.get("type") not in _WHOLE:
        return False
    return all(last.get(key) == fragment.get(key) for key in ("type", "index"))


def _append(last: dict[str, Any], fragment: Mapping[str, Any]) -> None:
    """A text goes on where the last fragment ended; of any other key the later value holds, unless it is empty."""
    for key, value in fragment.items():
        if key in _SPOKEN and isinstance(value, str) and isinstance(last.get(key), str):
            last[key] += value
        elif value or key not in last:
            last[key] = value
