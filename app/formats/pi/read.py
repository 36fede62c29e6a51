"""Session files of the pi coding agent to sessions: every line becomes an entry, or is listed as lost with the reason.

A line is a record with a `type`; messages are `{type: "message", message: {role, …}}`. Messages stand in file order; the tree of
`parentId` (`branch.py`) decides only which of them the next model call gets. A compaction's summary stays visible and out of context,
since what it stands for is in the file in full. A file may also be one bare message, or an array of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Text, ToolCall
from app.entries.wire import read_timestamp
from app.formats.pi.branch import current_branch
from app.formats.pi.commands import command_text
from app.formats.pi.parts import Speaker, input_parts
from app.formats.protocols import ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import documents, first_words, moment, records

_STOP_REASONS = {"stop": "finished", "length": "length", "toolUse": "tool_calls"}
_STATUSES = {"aborted": Status.CANCELLED, "error": Status.FAILED}
_WHY = {
    "model_change": "a setting of the client; the model stands with each answer",
    "thinking_level_change": "a setting of the client",
    "label": "a bookmark of the client",
    "custom": "what an extension keeps for itself",
    "usage": "figures beside the conversation",
    "ephemeral": "what was said to the model for one call alone",
    "context_transform": "an edit of what the model is sent; the messages stay as they were",
    "context_edit": "an edit of what the model is sent; the message stays as it was",
    "session": "the head of another session",
}
_HEADER = ("id", "version", "timestamp", "cwd", "provider", "modelId", "thinkingLevel", "branchedFrom", "parentSession")
_USER = frozenset({"role", "content", "timestamp"})
_ANSWER = _USER | {"model", "stopReason"}
_RESULT = _USER | {"toolCallId", "toolName", "isError", "details"}
_RECORD = frozenset({"type", "id", "parentId", "timestamp"})
_SUMMARY = _RECORD | {"summary"}


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """The session of a file. Raises `UnreadableImport` where no line is a message."""
    pieces = list(data)
    held, broken = records(pieces)
    lines = [(place, record) for place, record in held if isinstance(record.get("type"), str)]
    broken += [Note(place, "line", "no record of a session file") for place, record in held if not isinstance(record.get("type"), str)]
    if not any(record["type"] == "message" for _, record in lines):
        lines, broken = _bare(pieces), []
    session = _Session(lines).read()
    session.lost[:0] = broken
    yield session


def _bare(pieces: Sequence[bytes]) -> list[tuple[str, Mapping[str, Any]]]:
    """Messages without their records; pi's have a time each, which tells them from others."""
    _, document = next(documents(pieces))
    messages = document if isinstance(document, list) else [document]
    if not all(moment(mapping(message).get("timestamp"), 1000) for message in messages):
        raise UnreadableImport("The file holds no message of a pi session.")
    return [(f"message {index}", {"type": "message", "message": message}) for index, message in enumerate(messages)]


class _Session:
    """One file in the reading."""

    def __init__(self, lines: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.lines = lines
        self.branch = current_branch([record for _, record in lines])
        self.entries = Entries("pi", "lines")
        self.session = self.entries.session
        self.header: dict[str, Any] | None = None
        self.titled: str | None = None
        self.details = 0

    def read(self) -> ImportedSession:
        for index, (place, record) in enumerate(self.lines):
            before = len(self.session.entries)
            self._record(place, record)
            if index not in self.branch:
                for at in range(before, len(self.session.entries)):
                    self.entries.leave_out(at, "branch", "on a branch that was left: visible, and in no later model call")
        if not self.session.entries:
            raise UnreadableImport("The file holds no message of a pi session.")
        if self.details:
            self.entries.change(f"{self.details} lines", "details", "the client's own copy of a tool result is not kept; it is never sent to a model")
        self.session.external_id = word(self.header or {}, "id")
        self.session.title = self.session.title or first_words(self.session.entries)
        return self.entries.finish({"session": self.header} if self.header else None)

    def _record(self, place: str, record: Mapping[str, Any]) -> None:
        kind, at = record["type"], read_timestamp(record.get("timestamp"))
        if kind == "message":
            message = mapping(record.get("message"))
            self._message(place, message, at or moment(message.get("timestamp"), 1000))
        elif kind == "custom_message":
            self._message(place, {**spare(record, _RECORD), "role": "custom"}, at)
        elif kind in ("compaction", "branch_summary"):
            self._summary(place, record, at, compaction=kind == "compaction")
        elif kind == "session_info" and word(record, "name") is not None:
            if self.titled is not None:
                self.entries.lose(self.titled, "session_info", "an earlier title of this session, which a later one replaces")
                self.session.kept -= 1
            self.titled, self.session.title = place, record["name"][:500]
            self.entries.keep()
        elif kind == "session" and self.header is None:
            self.header = {key: record[key] for key in _HEADER if record.get(key) is not None}
            self.entries.lose(place, "session", "no message; what it says of the session stands with the first entry")
        else:
            self.entries.lose(place, kind, _WHY.get(kind, "a record of a kind that is not known"))

    def _message(self, place: str, message: Mapping[str, Any], at: datetime | None) -> None:
        role = message.get("role")
        if role == "assistant":
            self._answer(place, message, at)
        elif role == "toolResult":
            self._result(place, message, at)
        elif role in ("compactionSummary", "branchSummary"):
            self._summary(place, message, at, compaction=role == "compactionSummary")
        elif role == "bashExecution":
            self.entries.change(place, "bashExecution", "a command that the user ran became a message, in the words that pi has for it")
            self._say(place, (Text(command_text(message)),), message, at, in_context=message.get("excludeFromContext") is not True)
        elif role in ("custom", "hookMessage"):
            self._say(place, input_parts(message.get("content"), place, self.session), message, at, hidden=message.get("display") is not True)
        elif role in ("user", "system"):
            self._say(place, input_parts(message.get("content"), place, self.session), message, at)
        else:
            self.entries.lose(place, "message", "a role that is not known")

    def _say(
        self, place: str, parts: tuple[Part, ...], message: Mapping[str, Any], at: datetime | None, *, hidden: bool = False, in_context: bool = True
    ) -> None:
        kind = "system_message" if message.get("role") == "system" else "user_message"
        self.entries.add(kind, Message(parts), place, at, hidden=hidden, in_context=in_context, facts=spare(message, _USER))
        self.entries.keep()
        if not in_context:
            self.entries.change(place, "message", "the user kept it from the model: visible, and in no later model call")

    def _answer(self, place: str, message: Mapping[str, Any], at: datetime | None) -> None:
        speaker, content = Speaker(message), message.get("content")
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        parts = tuple([speaker.part(block, place, self.session) for block in blocks])
        stop = str(message.get("stopReason"))
        status = _STATUSES.get(stop, Status.COMPLETED)
        self.entries.add("assistant_message", Answer(parts, status, speaker.model, _STOP_REASONS.get(stop)), place, at, facts=spare(message, _ANSWER))
        self.entries.keep()
        if status is not Status.COMPLETED:
            called = any(isinstance(part, ToolCall) for part in parts)
            self.entries.change(place, "answer", f"it was cut short{' while it asked for calls' if called else ''}: kept as {status.value}")

    def _result(self, place: str, message: Mapping[str, Any], at: datetime | None) -> None:
        tool_call_id = word(message, "toolCallId")
        if tool_call_id is None:
            self.entries.lose(place, "message", "a tool result that names no call")
            return
        self.details += message.get("details") is not None
        parts = input_parts(message.get("content"), place, self.session)
        body = ToolResult(tool_call_id, parts, word(message, "toolName"), message.get("isError") is True)
        self.entries.add("tool_result", body, place, at, facts=spare(message, _RESULT))
        self.entries.keep()

    def _summary(self, place: str, record: Mapping[str, Any], at: datetime | None, *, compaction: bool) -> None:
        """Of a compaction: what stands before it, which the file has in full. Of a branch: what was left, which no later call gets."""
        text = word(record, "summary")
        if text is None:
            self.entries.lose(place, "summary", "it says nothing")
            return
        covered = compaction and any(entry.kind == "user_message" for entry in self.session.entries)
        facts = spare(record, _SUMMARY | {"role"})
        self.entries.add("user_message", Message((Text(text),)), place, at, in_context=not covered, facts=facts)
        self.entries.keep()
        why = "of what stands before it in full: visible, and in no later model call" if covered else "of what the file does not have in context"
        self.entries.change(place, "summary", f"a {'compaction' if compaction else 'branch'} summary {why}")
