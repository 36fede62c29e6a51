"""UI messages of the AI SDK to sessions: an array of messages, an object with `messages`, or one of these a line.

An assistant's message holds everything from one prompt to the next, calls and results included. It is taken apart as the SDK
does for a provider: an answer for each step (at `step-start`, and where something is said after results), and its results behind it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Opaque, Part, Text, ToolCall
from app.entries.wire import read_timestamp
from app.formats.ai_sdk.parts import Parts, Pieces
from app.formats.ai_sdk.tools import KNOWN, Tool, read_tool
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import documents, first_words, moment

_MESSAGE = frozenset({"role", "parts", "content", "toolInvocations", "reasoning", "experimental_attachments", "createdAt"})
_DOCUMENT = frozenset({"messages", "id", "title"})


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """A session for each conversation of the file. Raises `UnreadableImport` where there is none."""
    for prefix, document in documents(data):
        yield _session(document, prefix)


def _session(document: Any, prefix: str) -> ImportedSession:
    messages = document if isinstance(document, list) else mapping(document).get("messages")
    if not isinstance(messages, list) or not messages:
        raise UnreadableImport("A conversation is an array of messages, or an object with `messages`.")
    entries = Entries("ai_sdk", "messages")
    session = entries.session
    for key in spare(mapping(document), _DOCUMENT):
        entries.lose(f"{prefix}document", str(key), "not part of the conversation")
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        _Message(mapping(message), f"{prefix}message {index}", entries, names).read()
    if not session.entries:
        raise UnreadableImport("The file holds no message of the AI SDK.")
    session.title = (word(mapping(document), "title") or "")[:500] or first_words(session.entries)
    session.external_id = word(mapping(document), "id")
    return entries.finish()


class _Message:
    """One message in the reading. `names`: of the calls so far; `said` and `results`: the step that is open."""

    def __init__(self, message: Mapping[str, Any], place: str, entries: Entries, names: dict[str, str]) -> None:
        self.message = message
        self.place = place
        self.entries = entries
        self.names = names
        metadata = mapping(message.get("metadata"))
        self.model = word(metadata, "model") or word(metadata, "modelId")
        self.at = _time(message.get("createdAt")) or _time(metadata.get("createdAt"))
        self.parts = Parts(entries.session, place, self.model)
        self.facts: dict[str, Any] = spare(message, _MESSAGE)
        self.said: list[Part] = []
        self.results: list[ToolResult] = []
        self.whole = True
        self.answered_alone = False

    def read(self) -> None:
        role, parts = self.message.get("role"), self._parts()
        if role == "assistant":
            self._answer(parts)
        elif role in ("user", "system"):
            found = [self.parts.part(part) for part in parts]
            kind = "user_message" if role == "user" else "system_message"
            self.entries.add(kind, Message(tuple(found) or (Text(""),)), self.place, self.at, facts=self.facts)
            self.entries.keep()
        else:
            self.entries.lose(self.place, "message", "a role that is not known")

    def _parts(self) -> list[Any]:
        """The parts of a message; of version 4, what stood for them. Attachments come behind what is said."""
        message = self.message
        parts, content = message.get("parts"), message.get("content")
        found: list[Any] = parts if isinstance(parts, list) else []
        if not found:
            if isinstance(message.get("reasoning"), str):
                found.append({"type": "reasoning", "text": message["reasoning"]})
            found += content if isinstance(content, list) else [] if content is None or content == "" else [content]
            found += [{"type": "tool-invocation", "toolInvocation": call} for call in _list(message.get("toolInvocations"))]
        elif content not in (None, "", "".join([said for part in found if (said := word(mapping(part), "text")) and part.get("type") == "text"])):
            self.facts["content"] = content
        return [*found, *[{"type": "file", **mapping(each)} for each in _list(message.get("experimental_attachments"))]]

    def _answer(self, parts: list[Any]) -> None:
        before = len(self.entries.session.entries)
        for part in self.parts.joined(parts):
            tool = read_tool(mapping(part))
            if mapping(part).get("type") == "step-start":
                self._step()
            elif tool is None or tool.by_provider:
                self._say(self.parts.opaque(part) if tool is not None else self.parts.part(part))
                state = part.state if isinstance(part, Pieces) else mapping(part).get("state")
                self.whole = self.whole and state != "streaming"
            else:
                self.parts.change_spare(part if part.get("type") != "tool-invocation" else mapping(part["toolInvocation"]), KNOWN)
                self._tool(tool)
        self._step()
        found = len(self.entries.session.entries) - before
        if not found:
            self.entries.add("assistant_message", Answer((), Status.COMPLETED, self.model), self.place, self.at, facts=self.facts)
        elif found > 1:
            self.entries.change(self.place, "message", f"it became {found} entries: each step and each tool result is one")
        self.entries.keep()

    def _say(self, part: Part) -> None:
        """A part of an answer. What is said after results is another step."""
        if self.results and not isinstance(part, Opaque):
            self._step()
        self.said.append(part)

    def _tool(self, tool: Tool) -> None:
        if tool.asked:
            if self.answered_alone:
                self._step()
            opaque, producer = self.parts.beside_call(tool.metadata)
            self.said.append(ToolCall(tool.tool_call_id, tool.name, tool.arguments, opaque=opaque, producer=producer))
            self.names[tool.tool_call_id] = tool.name
            self.whole = self.whole and tool.whole
        else:
            self.answered_alone = True
            if tool.tool_call_id not in self.names:
                self.entries.change(self.place, "toolCallId", "a result whose call is not in the file")
        if tool.output is not None:
            self.results.append(ToolResult(tool.tool_call_id, (Text(tool.output),), tool.name, tool.is_error))

    def _step(self) -> None:
        """Ends the step: its answer, and the results of its calls."""
        if self.said:
            status = Status.COMPLETED if self.whole else Status.INTERRUPTED
            self.entries.add("assistant_message", Answer(tuple(self.said), status, self.model), self.place, self.at, facts=self._told())
            if not self.whole:
                self.entries.change(self.place, "answer", "it was not written to its end: kept as interrupted")
        for result in self.results:
            self.entries.add("tool_result", result, self.place, self.at, facts=self._told())
        self.said, self.results, self.whole, self.answered_alone = [], [], True, False

    def _told(self) -> dict[str, Any]:
        """What the message says besides, once."""
        facts, self.facts = self.facts, {}
        return facts


def _time(value: object) -> datetime | None:
    return read_timestamp(value) or moment(value, 1000)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
