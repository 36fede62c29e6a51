"""Chats of the Gemini command line (one JSON document) to sessions.

A record of type `gemini` holds an answer and what became of its calls; a signature is not kept by the client, so its thoughts
are plain. Records of other types are the client's own.
"""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.entries.producers import imported_producer
from app.entries.wire import read_timestamp
from app.formats.gemini.import_parts import DIALECT, Parts, said_part
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import first_words

_HEADER = ("projectHash", "startTime", "lastUpdated")
_READ = frozenset({"sessionId", "messages", "summary", *_HEADER})
_RECORD = frozenset({"type", "timestamp", "content", "thoughts", "toolCalls", "model"})
_SHOWN = {"resultDisplay", "displayName", "description", "renderOutputAsMarkdown"}
_CALL = frozenset({"id", "name", "args", "result", "status", "timestamp"}) | _SHOWN
_FAILED = ("error", "cancelled")


def is_chat(document: Any) -> bool:
    """Whether a document is a chat and no request."""
    return isinstance(mapping(document).get("messages"), list) and "contents" not in document


def read_chat(document: Any, prefix: str) -> ImportedSession:
    """The session. Raises `UnreadableImport` where no record is of a chat."""
    return _Chat(document, prefix).read()


class _Chat:
    """One chat in the reading."""

    def __init__(self, document: Mapping[str, Any], prefix: str) -> None:
        self.document = document
        self.prefix = prefix
        self.entries = Entries("gemini", "messages")
        self.session = self.entries.session
        self.parts = Parts(self.session, imported_producer(DIALECT, None))
        self.shown = 0

    def read(self) -> ImportedSession:
        for index, record in enumerate(self.document["messages"]):
            self._record(mapping(record), f"{self.prefix}message {index}")
        if not self.session.entries:
            raise UnreadableImport("The file holds no message of a Gemini chat.")
        for key in spare(self.document, _READ):
            self.entries.lose(f"{self.prefix}document", str(key), "not part of the conversation")
        if self.shown:
            self.entries.change(f"{self.shown} calls", "toolCalls", "how the client shows a call and its result is not kept")
        self.session.external_id = word(self.document, "sessionId")
        self.session.title = (word(self.document, "summary") or "")[:500] or first_words(self.session.entries)
        header = {key: self.document[key] for key in _HEADER if self.document.get(key) is not None}
        return self.entries.finish({"session": header} if header else None)

    def _record(self, record: Mapping[str, Any], place: str) -> None:
        kind = record.get("type")
        if kind == "user":
            at = read_timestamp(record.get("timestamp"))
            body = Message(tuple([self.parts.input(part, place) for part in _contents(record.get("content"))]) or (Text(""),))
            self.entries.add("user_message", body, place, at, facts=spare(record, _RECORD))
            self.entries.keep()
        elif kind == "gemini":
            self._answer(record, place)
        elif kind in ("info", "error", "warning"):
            self.entries.lose(place, str(kind), "a note of the client beside the conversation")
        else:
            self.entries.lose(place, "message", "a type that is not known")

    def _answer(self, record: Mapping[str, Any], place: str) -> None:
        """The answer, in the order in which the model gives it, and then the results of its calls."""
        model, at = word(record, "model"), read_timestamp(record.get("timestamp"))
        self.parts.producer = imported_producer(DIALECT, model)
        parts: list[Part] = []
        for thought in _list(record.get("thoughts")):
            said = [text for key in ("subject", "description") if (text := word(mapping(thought), key)) is not None]
            parts.append(Reasoning("\n\n".join([f"**{said[0]}**", *said[1:]] if word(mapping(thought), "subject") else said)))
        if parts:
            self.entries.change(place, "thoughts", "subject and description of a thought became one text")
        content = _contents(record.get("content"))
        parts += [self.parts.answer(part, place) for part in content if part != ""]
        calls = [(mapping(call), self._call(mapping(call), place)) for call in _list(record.get("toolCalls"))]
        parts += [part for _, part in calls]
        self.entries.add("assistant_message", Answer(tuple(parts), Status.COMPLETED, model), place, at, facts=spare(record, _RECORD))
        for call, part in calls:
            if isinstance(part, ToolCall):
                self._result(call, part, place)
        self.entries.keep()

    def _call(self, call: Mapping[str, Any], place: str) -> Part:
        name = word(call, "name")
        if name is None:
            return self.parts.answer({"toolCalls": call}, place)
        self.shown += not _SHOWN.isdisjoint(call)
        for key in spare(call, _CALL):
            self.entries.change(place, str(key), "a field of a call that is not kept")
        return ToolCall(word(call, "id") or self.parts.made_up_id(place), name, lossless.dumps(call.get("args", {})))

    def _result(self, call: Mapping[str, Any], asked: ToolCall, place: str) -> None:
        """The parts that the client sent back for one call; it may have been stopped before there was anything."""
        failed = call.get("status") in _FAILED
        parts: list[Part] = []
        for piece in _contents(call.get("result")):
            response = mapping(said_part(piece).get("functionResponse"))
            if response:
                said, is_error = self.parts.result(response, place)
                parts += said
                failed = failed or is_error
            else:
                parts.append(self.parts.input(piece, place))
        if parts:
            body = ToolResult(asked.tool_call_id, tuple(parts), asked.name, failed)
            self.entries.add("tool_result", body, place, read_timestamp(call.get("timestamp")))


def _contents(value: Any) -> list[Any]:
    """What stands for parts: a text, a part, or a list of them."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
