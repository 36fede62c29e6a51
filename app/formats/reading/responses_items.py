"""Items of the Responses API to entries, as requests, stored responses and the session files of clients hold them.

What the model said in one go (reasoning, messages, calls and the steps of the provider's own tools) is one answer, in the order of its
items, until something is said to it. An item that we do not model is kept whole as an opaque part of the answer around it.

What stands beside a part is in the form that the dialect's own streams leave:

Reasoning.opaque   the item, whole; none of reasoning in plain words
ToolCall.opaque    `{"item": …, "after": …}`: the item, its arguments emptied, since the part has them
Text.opaque        `{"item": …, "index": …, "part": …, "after": …}`: the message, `content` emptied; the position of this text in it; the
                   content part, its text emptied and without `logprobs`, which nobody takes back

`after` is the id of the reasoning item that led there, left out where there was none, as is everything where the item holds nothing besides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.entries import lossless
from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.entries.producers import imported_producer
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import UNKNOWN_MEDIA_TYPE, mapping, store, store_url, word
from app.formats.reading.entries import Entries, spare

DIALECT = "openai-responses"

_KINDS = {"user": "user_message", "system": "system_message", "developer": "system_message"}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_SPOKEN = {"output_text": "text", "text": "text", "refusal": "refusal"}
"""Content parts of an answer that say something, and the key under which they do."""
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_MESSAGE = frozenset({"type", "role", "content"})
_REASONING = frozenset({"type", "summary", "content"})
_OUTPUT = frozenset({"type", "call_id", "output"})
_TEXT = frozenset({"type", "text"})
_MEDIA = frozenset({"type", "image_url", "file_data", "file_url", "filename", "input_audio"})
_CALL = frozenset({"type", "call_id", "name", "arguments"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
"""The kinds of calls that a client runs, and where each has its arguments."""


@dataclass(slots=True)
class Items:
    """Takes items in order. `model` is who gives the answers from now on, as far as the file tells."""

    entries: Entries
    model: str | None = None
    says_model: bool = False
    """Whether the file says so of each answer, and not only of the request that holds them."""
    says_end: bool = False
    """Whether the file says how an answer ended; else an item that is not complete tells it."""
    _open: int | None = None
    _after: str | None = None
    _names: dict[str, str] = field(default_factory=dict)

    def take(self, item: Mapping[str, Any], place: str, at: datetime | None = None, *, hidden: bool = False) -> None:
        """One item, which becomes an entry or a part of one, or is noted as lost."""
        kind = item.get("type") if isinstance(item.get("type"), str) else "message" if "role" in item else None
        session = self.entries.session
        if kind == "message":
            self._message(item, place, at, hidden)
        elif kind in _OUTPUTS:
            self._output(item, place, at, hidden)
        elif kind is None:
            self.entries.lose(place, "item", "neither a type nor a role says what it is")
        elif kind in _CALLS:
            self._say((self._call(str(kind), item, place, session),), item, place, at)
        elif kind == "reasoning":
            self._after = word(item, "id")
            self._say((self._reasoning(item, place),), item, place, at)
        else:
            self._say((self._opaque(item, str(kind), place, session),), item, place, at)

    def close(self) -> None:
        """What comes next is another answer."""
        self._open = self._after = None

    @property
    def producer(self) -> str:
        return imported_producer(DIALECT, self.model)

    def _message(self, item: Mapping[str, Any], place: str, at: datetime | None, hidden: bool) -> None:
        role = str(item.get("role"))
        kind = _KINDS.get(role)
        if role == "assistant":
            self._say(self._answer(item, place), item, place, at)
        elif kind is None:
            self.entries.lose(place, "message", "a role that is not known")
        else:
            self.close()
            if role == "developer":
                self.entries.change(place, "role", "developer became system_message")
            self.entries.add(kind, Message(self._parts(item.get("content"), place)), place, at, hidden=hidden, facts=spare(item, _MESSAGE))
            self.entries.keep()

    def _output(self, item: Mapping[str, Any], place: str, at: datetime | None, hidden: bool) -> None:
        tool_call_id = word(item, "call_id") or (word(item, "id") if item.get("type") == "local_shell_call_output" else None)
        if tool_call_id is None:
            self.entries.lose(place, "item", "a tool result that names no call")
            return
        self.close()
        output = item.get("output")
        is_error = mapping(output).get("success") is False
        if isinstance(output, Mapping) and isinstance(output.get("content"), str):
            if spare(output, frozenset({"content", "success"})):
                self.entries.change(place, "output", "only the content of an older form is kept")
            output = output["content"]
        body = ToolResult(tool_call_id, self._parts(output, place), self._names.get(tool_call_id), is_error)
        self.entries.add("tool_result", body, place, at, hidden=hidden, facts=spare(item, _OUTPUT))
        self.entries.keep()

    def _say(self, parts: tuple[Part, ...], item: Mapping[str, Any], place: str, at: datetime | None) -> None:
        session = self.entries.session
        model = self.model if self.says_model else None
        if self._open is not None:
            body = session.entries[self._open].body
            if isinstance(body, Answer) and body.model != model:
                self.close()
        if self._open is None:
            self._open = self.entries.add("assistant_message", Answer(parts, Status.COMPLETED, model), place, at)
        else:
            self.entries.grow(self._open, parts, place)
        self.entries.keep()
        self._names.update({part.tool_call_id: part.name for part in parts if isinstance(part, ToolCall)})
        if not self.says_end and item.get("status") in ("in_progress", "incomplete") and item.get("type") in ("message", *_CALLS):
            self.entries.settle(self._open, Status.INTERRUPTED, None, "an item of it is not complete: the answer is kept as interrupted")

    def _call(self, kind: str, item: Mapping[str, Any], place: str, session: ImportedSession) -> Part:
        tool_call_id = word(item, "call_id") or (word(item, "id") if kind == "local_shell_call" else None)
        name = "local_shell" if kind == "local_shell_call" else word(item, "name")
        if tool_call_id is None or name is None:
            session.changed.append(Note(place, kind, "a call without id or name is kept as it is and never sent"))
            return Opaque(DIALECT, self.producer, lossless.dumps(item), kind)
        written = item.get(_CALLS[kind])
        if kind == "custom_tool_call":
            session.changed.append(Note(place, "input", "the input of a custom call became its argument text"))
        if not isinstance(written, str):
            if kind == "function_call" and written is not None:
                session.changed.append(Note(place, "arguments", "an object was spelled out as text"))
            written = "" if written is None else lossless.dumps(written)
        if kind == "function_call" and not spare(item, _CALL):
            return ToolCall(tool_call_id, name, written)
        block = self._block({"item": {**item, _CALLS[kind]: ""}})
        return ToolCall(tool_call_id, name, written, opaque=block, producer=self.producer)

    def _block(self, block: dict[str, Any]) -> str:
        return lossless.dumps(block if self._after is None else {**block, "after": self._after})

    def _reasoning(self, item: Mapping[str, Any], place: str) -> Reasoning:
        """What of it can be read, and the item as it is where the rest is encrypted: without that nobody takes it back."""
        texts = [found for key in ("summary", "content") for piece in _list(item.get(key)) if (found := word(mapping(piece), "text")) is not None]
        if word(item, "encrypted_content") is not None:
            return Reasoning("\n\n".join(texts), lossless.dumps(item), self.producer)
        for key in spare(item, _REASONING):
            self.entries.change(place, str(key), "a field of plain reasoning that is not kept")
        return Reasoning("\n\n".join(texts))

    def _opaque(self, item: Any, kind: str, place: str, session: ImportedSession) -> Opaque:
        session.changed.append(Note(place, kind[:64], "an item that is not modelled; it is kept as it is, for nobody but who made it"))
        return Opaque(DIALECT, self.producer, lossless.dumps(item), kind[:64])

    def _answer(self, item: Mapping[str, Any], place: str) -> tuple[Part, ...]:
        """What an assistant's message says, each text with what the provider put with it."""
        content = item.get("content")
        whole = {"type": "message", **item, "content": []}
        held = bool(spare(item, _MESSAGE))
        if not isinstance(content, list):
            (part,) = self._parts(content, place)
            return (part._replace(opaque=self._block({"item": whole}), producer=self.producer) if held and isinstance(part, Text) else part,)
        found: list[Part] = []
        for index, piece in enumerate(content):
            part = self._part(piece, place, answer=True)
            key = _SPOKEN.get(str(mapping(piece).get("type")))
            if isinstance(part, Text) and key is not None and (held or spare(piece, frozenset({"type", key}))):
                kept = {name: value for name, value in piece.items() if name != "logprobs"} | {key: ""}
                part = part._replace(opaque=self._block({"item": whole, "index": index, "part": kept}), producer=self.producer)
            found.append(part)
        return tuple(found)

    def _parts(self, content: Any, place: str) -> tuple[Part, ...]:
        if content is None or isinstance(content, str):
            return (Text(content or ""),)
        if not isinstance(content, list):
            self.entries.change(place, "content", "neither text nor parts: spelled out as text")
            return (Text(lossless.dumps(content)),)
        return tuple([self._part(part, place) for part in content])

    def _part(self, part: Any, place: str, *, answer: bool = False) -> Part:
        """`answer`: the fields of a text beside what it says are kept by the caller."""
        if isinstance(part, str):
            return Text(part)
        found = mapping(part)
        session, kind = self.entries.session, found.get("type")
        if kind in _TEXTS and isinstance(found.get("text"), str):
            if not answer or kind not in _SPOKEN:
                session.changed.extend([Note(place, str(key)[:64], "a field of a part that is not kept") for key in spare(found, _TEXT)])
            return Text(found["text"])
        if kind == "refusal" and isinstance(found.get("refusal"), str):
            session.changed.append(Note(place, "refusal", "it became text"))
            return Text(found["refusal"])
        media = _media(found, session)
        if media is not None:
            session.changed.extend([Note(place, str(key)[:64], "a field of a part that is not kept") for key in spare(found, _MEDIA)])
            return media
        return self._opaque(part, str(kind), place, session)


def _media(part: Mapping[str, Any], session: ImportedSession) -> Media | None:
    """An image, a file or a sound whose bytes or address the part holds. A provider's own `file_id` leads nowhere else."""
    kind, name = part.get("type"), word(part, "filename")
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return store_url(session, "image", part["image_url"], name)
    if kind == "input_file" and isinstance(part.get("file_url"), str):
        return store_url(session, "file", part["file_url"], name)
    if kind == "input_file" and isinstance(part.get("file_data"), str):
        media_type = "application/pdf" if name and name.lower().endswith(".pdf") else UNKNOWN_MEDIA_TYPE
        data = part["file_data"]
        return store_url(session, "file", data, name) if data.startswith("data:") else store(session, "file", media_type, data, name)
    sound = mapping(part.get("input_audio"))
    if kind == "input_audio" and isinstance(sound.get("data"), str):
        return store(session, "file", "audio/wav" if sound.get("format") == "wav" else "audio/mpeg", sound["data"])
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
