"""Session files of Claude Code to sessions: every line becomes a message, or is listed as lost with the reason.

Messages stand in file order, which is the order in which the client saw them; the tree of `parentUuid` (`branch.py`) decides
only which of them the next model call gets: what was left by a rewind stays visible and out of context. Lines of one response
(`message.id`) are one answer, at the place of its first line. Subagents' lines are sessions of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.entries import lossless
from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Text, ToolCall
from app.entries.producers import imported_producer
from app.entries.wire import read_timestamp
from app.formats.claude_code.branch import blocks, current_branch, is_conversation
from app.formats.protocols import ImportedMessage, ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.anthropic_blocks import DIALECT, STOP_REASONS, answer_part, input_part, result_parts
from app.formats.reading.files import first_words
from app.formats.reading.files import records as read_records

_NOT_CONVERSATION = {
    "progress": "progress of a hook, a command or a subagent; the client shows it and never sends it",
    "file-history-snapshot": "the client's undo data for files",
    "queue-operation": "a prompt that waited; it stands in the conversation once it was sent",
    "system": "a note of the client beside the conversation",
    "summary": "the title of another session",
    "pr-link": "a link of the client to a pull request",
}
_PRODUCER = imported_producer(DIALECT, None)
_KEPT_FIELDS = ("uuid", "requestId", "cwd", "gitBranch", "version", "agentId", "permissionMode", "slug")
_LOST_FIELDS = {
    "toolUseResult": "the client's own copy of a tool result; it is never sent to a model",
    "todos": "the client's own list",
    "thinkingMetadata": "a setting of the client",
    "usage": "figures of the stream's beginning, not final ones",
}


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """The sessions of one file, the main one first. Raises `UnreadableImport` where no line is of this format."""
    held, broken = read_records(data)
    records = [(place, record) for place, record in held if isinstance(record.get("type"), str)]
    broken += [Note(place, "line", "no record of a session file") for place, record in held if not isinstance(record.get("type"), str)]
    if not any(is_conversation(record) for _, record in records):
        raise UnreadableImport("The file holds no message of a Claude Code session.")
    for index, group in enumerate(_sessions(records)):
        session = _Session(group).read()
        session.lost[:0] = broken if index == 0 else []
        yield session


def _sessions(records: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[tuple[str, Mapping[str, Any]]]]:
    """The main session and one for each subagent; a file of one subagent alone is one session."""
    spoken = [record for _, record in records if is_conversation(record)]
    mixed = len({bool(record.get("isSidechain")) for record in spoken}) > 1
    agents = {word(record, "agentId") or "sidechain" for record in spoken if mixed and record.get("isSidechain")}
    groups: dict[str, list[tuple[str, Mapping[str, Any]]]] = {"": []}
    for place, record in records:
        agent = (word(record, "agentId") or "sidechain") if record.get("isSidechain") else ""
        groups.setdefault(agent if agent in agents else "", []).append((place, record))
    return [groups[key] for key in sorted(groups)]


class _Session:
    """One session in the making."""

    def __init__(self, records: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.places = [place for place, _ in records]
        self.records = [record for _, record in records]
        self.branch = current_branch(self.records)
        self.session = ImportedSession()
        self.answers: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.seen: dict[str, Mapping[str, Any]] = {}
        self.fields: dict[str, int] = {}
        self.titled: int | None = None
        self.known = {word(record, "uuid") for record in self.records} - {None}

    def read(self) -> ImportedSession:
        session = self.session
        for index, record in enumerate(self.records):
            if is_conversation(record):
                self._conversation(index, record)
            else:
                self._beside(index, record)
        session.lost.extend(Note(f"{count} lines", name, _LOST_FIELDS[name]) for name, count in self.fields.items())
        first = next(record for record in self.records if is_conversation(record))
        session.external_id = "/".join(str(part) for part in (word(first, "sessionId"), word(first, "agentId")) if part) or None
        session.title = session.title or first_words(session.entries)
        return session

    def _beside(self, index: int, record: Mapping[str, Any]) -> None:
        kind = record["type"]
        title = word(record, "summary")
        if kind == "summary" and title is not None and word(record, "leafUuid") in self.known:
            if self.titled is not None:
                self._lose(self.titled, "summary", "an earlier title of this session, which a later one replaces")
                self.session.kept -= 1
            self.titled = index
            self.session.title = title[:500]
            self.session.kept += 1
            return
        what = "/".join(str(part)[:64] for part in (kind, record.get("subtype") or mapping(record.get("data")).get("type")) if part)
        self._lose(index, what, _NOT_CONVERSATION.get(kind, "a record of a kind that is not known"))

    def _conversation(self, index: int, record: Mapping[str, Any]) -> None:
        uuid = word(record, "uuid")
        if uuid is not None:
            if self.seen.get(uuid) == record["message"]:
                self._lose(index, "line", "the same line stands in the file before")
                return
            self.seen.setdefault(uuid, record["message"])
        before = len(self.session.entries)
        for name in _LOST_FIELDS:
            if record.get(name) is not None or mapping(record["message"]).get(name) is not None:
                self.fields[name] = self.fields.get(name, 0) + 1
        if record["type"] == "assistant":
            self._answer(index, record)
        else:
            self._input(index, record)
        self.session.kept += 1
        if index not in self.branch and len(self.session.entries) > before:
            self._change(index, "branch", "left by a rewind: visible, and in no later model call")

    def _answer(self, index: int, record: Mapping[str, Any]) -> None:
        message, place = record["message"], self.places[index]
        model = word(message, "model") or "unknown"
        content = message.get("content")
        producer = imported_producer(DIALECT, model)
        parts: list[Part] = [answer_part(block, producer, place, self.session) for block in blocks(record)]
        if isinstance(content, str):
            parts.append(Text(content))
        self.names.update({part.tool_call_id: part.name for part in parts if isinstance(part, ToolCall)})
        response = word(message, "id")
        stop = STOP_REASONS.get(str(message.get("stop_reason")))
        if response is not None and response in self.answers:
            self._extend(self.answers[response], parts, stop, index)
            return
        made_up = model == "<synthetic>" or record.get("isApiErrorMessage") is True
        if made_up:
            self._change(index, "answer", "written by the client and not by a model: kept as failed, in no later model call")
        elif response is not None:
            self.answers[response] = len(self.session.entries)
        self._add(index, record, "assistant_message", Answer(tuple(parts), Status.FAILED if made_up else Status.COMPLETED, model, stop))

    def _extend(self, at: int, parts: list[Part], stop: str | None, index: int) -> None:
        """Another line of a response that stands in the ledger already."""
        entry = self.session.entries[at]
        assert isinstance(entry.body, Answer)
        body = Answer((*entry.body.parts, *parts), entry.body.status, entry.body.model, stop or entry.body.stop_reason)
        attributes = lossless.read(entry.attributes or "{}")
        attributes["claude_code"]["lines"].append(self.places[index])
        self.session.entries[at] = _with(entry, body, lossless.dumps(attributes))

    def _input(self, index: int, record: Mapping[str, Any]) -> None:
        """A user line: its tool results, each an entry, and what else it says as one message, in the order of its blocks."""
        content, place = record["message"].get("content"), self.places[index]
        said: list[Part] = []
        found = 0
        for block in content if isinstance(content, list) else [content if isinstance(content, str) else ""]:
            result = mapping(block)
            tool_call_id = word(result, "tool_use_id")
            if result.get("type") != "tool_result" or tool_call_id is None:
                said.append(input_part(block, _PRODUCER, place, self.session))
                continue
            found += self._say(index, record, said)
            parts = result_parts(result.get("content"), _PRODUCER, place, self.session)
            self._add(index, record, "tool_result", ToolResult(tool_call_id, parts, self.names.get(tool_call_id), result.get("is_error") is True))
            found += 1
        found += self._say(index, record, said)
        if found > 1:
            self._change(index, "line", f"it became {found} entries: each tool result is one")
        if not found:
            said.append(Text(""))
            self._say(index, record, said)

    def _say(self, index: int, record: Mapping[str, Any], said: list[Part]) -> int:
        if not said:
            return 0
        self._add(index, record, "user_message", Message(tuple(said)))
        said.clear()
        return 1

    def _add(self, index: int, record: Mapping[str, Any], kind: str, body: Message | Answer | ToolResult) -> None:
        summary = record.get("isCompactSummary") is True
        covered = summary and any(entry.kind == "user_message" for entry in self.session.entries)
        if covered:
            self._change(index, "summary", "a compaction summary of what stands before it in full: visible, and in no later model call")
        facts = {key: record[key] for key in _KEPT_FIELDS if record.get(key) is not None}
        attributes = lossless.dumps({"claude_code": {"lines": [self.places[index]], **facts}})
        in_context = index in self.branch and not covered
        hidden = record.get("isMeta") is True
        self.session.entries.append(ImportedMessage(kind, body, read_timestamp(record.get("timestamp")), attributes, hidden, in_context))

    def _change(self, index: int, what: str, why: str) -> None:
        self.session.changed.append(Note(self.places[index], what, why))

    def _lose(self, index: int, what: str, why: str) -> None:
        self.session.lost.append(Note(self.places[index], what, why))


def _with(entry: ImportedMessage, body: Answer, attributes: str) -> ImportedMessage:
    return ImportedMessage(entry.kind, body, entry.at, attributes, entry.hidden, entry.include_in_context)
