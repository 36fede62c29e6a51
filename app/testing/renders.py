"""One call's model input, derived again by the service, and the questions that tests ask of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_KINDS = {"user_message": "user", "agent_message": "user", "system_message": "system", "tool_result": "tool_result"}
_PARTS = {"reasoning": "thought", "tool_call": "tool_call"}
_INSERTED = {"tool-repair": "tool_result"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that `message_count` counts. `role`: system, user, assistant, thought, tool_call or tool_result."""

    role: str
    text: str


@dataclass(frozen=True)
class Render:
    """`input` is the resource of `GET …/calls/{call}/model-input`, `call` that of the call, `entries` the ledger by seq."""

    input: Mapping[str, Any]
    call: Mapping[str, Any]
    entries: Mapping[int, Mapping[str, Any]]

    @property
    def message_count(self) -> int:
        """Parts after the last renderer: each system section, message, and part of an answer counts one."""
        return int(self.input["message_count"])

    @property
    def tools(self) -> tuple[str, ...]:
        """The declared tools."""
        return tuple(self.call["tools"])

    @property
    def body(self) -> Mapping[str, Any]:
        """What went to the provider, in its dialect."""
        found: Mapping[str, Any] = self.input["body"]
        return found

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What became of every source, and why."""
        found: Mapping[str, Any] = self.input["manifest"]
        return found

    @property
    def verified(self) -> bool | str:
        """Whether these are the bytes that were sent: true, false or `unverifiable`."""
        found: bool | str = self.input["verified"]
        return found

    @cached_property
    def system_text(self) -> str:
        """The system text as the body holds it; sections stand apart by a blank line."""
        return "\n\n".join(_text_at(self.body, place) or "" for place in dict.fromkeys(self._sections()))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The prompt in order: system sections, then messages, an answer's parts one by one.

        A part that the dialect cannot carry is here, as it is in `message_count`; `input["losses"]` names it.
        """
        return tuple(self._pieces())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the pieces."""
        return tuple(piece.role for piece in self.pieces)

    def _sections(self) -> list[str]:
        """Where each system section stands in the body."""
        rows = self.manifest["decisions"]
        return [row["pointer"] for row in rows if row["source"]["kind"] == "system" and row["pointer"] is not None]

    def _section_texts(self) -> Iterator[str]:
        """Each section's text. Where a dialect folds several into one and a section has blank lines of its own, all of them have the whole."""
        places = self._sections()
        for place in dict.fromkeys(places):
            folded, sections = _text_at(self.body, place) or "", places.count(place)
            texts = folded.split("\n\n")
            yield from texts if len(texts) == sections else [folded] * sections

    def _pieces(self) -> Iterator[Piece]:
        yield from (Piece("system", text) for text in self._section_texts())
        for index, source in enumerate(self.input["source_map"]["sources"]):
            entry = self.entries.get(source["seq"]) if source["type"] == "history" else None
            if entry is not None and entry["kind"] == "assistant_message":
                yield from self._answer(index, entry)
            else:
                role = _INSERTED.get(source["type"], "user") if entry is None else _KINDS[entry["kind"]]
                yield Piece(role, "".join(self._sent(index).values()) or self._whole(index))

    def _answer(self, index: int, entry: Mapping[str, Any]) -> Iterator[Piece]:
        """The parts that were sent, and those that only the dialect left out."""
        sent = self._sent(index)
        lost = {loss["part"] for loss in self.input["losses"] if loss.get("seq") == entry["seq"] and loss.get("part") is not None}
        for number, part in enumerate(entry["body"]["parts"]):
            if number in sent or number in lost:
                said = f"{part['name']}({part['arguments']})" if part["type"] == "tool_call" else sent.get(number) or part.get("text", "")
                yield Piece(_PARTS.get(part["type"], "assistant"), said)

    def _sent(self, index: int) -> dict[int, str]:
        """Part to its text in the body, of the parts of message `index` that are in it."""
        rows = [row for row in self.input["source_map"]["pointers"] if row["source"] == index and row["part"] is not None]
        return {row["part"]: _text_at(self.body, row["pointer"]) or "" for row in rows}

    def _whole(self, index: int) -> str:
        places = (row["pointer"] for row in self.input["source_map"]["pointers"] if row["source"] == index and row["part"] is None)
        return "".join(_text_at(self.body, place) or "" for place in places)


def _text_at(document: Any, pointer: str) -> str | None:
    """What stands at an RFC 6901 pointer, as text: of a part its text, of anything else its JSON."""
    for word in pointer.split("/")[1:]:
        word = word.replace("~1", "/").replace("~0", "~")
        document = document[int(word)] if isinstance(document, list) else document.get(word)
        if document is None:
            return None
    if isinstance(document, Mapping):
        document = document.get("text", document.get("content", document))
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
