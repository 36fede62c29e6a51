"""Messages API requests to sessions: an object with `messages`, an array of them, or one of these a line.

A request does not say who gave its answers: their blocks are noted for the model that it asks, under the account `import`, to which
nothing is sent back (`app/entries/producers.py`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Text, ToolCall
from app.entries.producers import imported_producer
from app.formats.protocols import ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.anthropic_blocks import DIALECT, STOP_REASONS, answer_part, input_part, result_parts
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import documents

_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})
_MESSAGE = frozenset({"role", "content", "model", "stop_reason"})


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """A session for each request of the file. Raises `UnreadableImport` where there is none."""
    for prefix, document in documents(data):
        yield _Request(document, prefix).read()


class _Request:
    """One request in the reading."""

    def __init__(self, document: Any, prefix: str) -> None:
        messages = document if isinstance(document, list) else mapping(document).get("messages")
        if not isinstance(messages, list) or not messages:
            raise UnreadableImport("A request is an object with `messages`, or an array of them.")
        self.messages = messages
        self.document = mapping(document)
        self.prefix = prefix
        self.entries = Entries("anthropic_messages", "messages")
        self.session = self.entries.session
        self.producer = imported_producer(DIALECT, word(self.document, "model"))
        self.names: dict[str, str] = {}
        self.answering: int | None = None
        """The entry of the answer that the message before was; answers in a row are one (wire-format notes 12.7)."""

    def read(self) -> ImportedSession:
        for key, value in self.document.items():
            if key not in ("messages", "system") and value is not None:
                self.entries.lose(f"{self.prefix}document", str(key), "not part of the conversation")
        system = self.document.get("system")
        if system:
            self._system(system, f"{self.prefix}system")
        for index, message in enumerate(self.messages):
            self._message(mapping(message), f"{self.prefix}message {index}")
        if not self.session.entries:
            raise UnreadableImport("The request holds no message of the Messages API.")
        return self.entries.finish()

    def _message(self, message: Mapping[str, Any], place: str) -> None:
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            self._answer(message, place)
            return
        self.answering = None
        if role == "user":
            self._input(content, place, spare(message, _MESSAGE))
        elif role == "system":
            self._system(content, place)
        else:
            self.entries.lose(place, "message", "a role that is not known")

    def _system(self, content: Any, place: str) -> None:
        self.entries.add("system_message", Message(result_parts(content, self.producer, place, self.session)), place)
        self.entries.keep()

    def _answer(self, message: Mapping[str, Any], place: str) -> None:
        parts = [answer_part(block, self.producer, place, self.session) for block in _blocks(message.get("content"))]
        self.names.update({part.tool_call_id: part.name for part in parts if isinstance(part, ToolCall)})
        self.entries.keep()
        if self.answering is not None:
            self.entries.grow(self.answering, parts, place)
            self.entries.tell(self.answering, spare(message, _MESSAGE))
            self.entries.change(place, "message", "answers in a row are one, as the provider takes them")
            return
        stop = STOP_REASONS.get(str(message.get("stop_reason")))
        answer = Answer(tuple(parts), Status.COMPLETED, word(message, "model"), stop)
        self.answering = self.entries.add("assistant_message", answer, place, facts=spare(message, _MESSAGE))

    def _input(self, content: Any, place: str, facts: Mapping[str, Any]) -> None:
        """Its tool results, each an entry, and what else the user says as one message, in the order of the blocks."""
        said: list[Part] = []
        before = len(self.session.entries)

        def say() -> None:
            if said:
                self.entries.add("user_message", Message(tuple(said)), place, facts=facts)
                said.clear()

        for block in _blocks(content):
            result = mapping(block)
            tool_call_id = word(result, "tool_use_id")
            if result.get("type") != "tool_result" or tool_call_id is None:
                said.append(input_part(block, self.producer, place, self.session))
                continue
            say()
            parts = result_parts(result.get("content"), self.producer, place, self.session)
            body = ToolResult(tool_call_id, parts, self.names.get(tool_call_id), result.get("is_error") is True)
            self.entries.add("tool_result", body, place, facts=facts)
            self.session.changed.extend([Note(place, str(key)[:64], "a field of a result that is not kept") for key in spare(result, _RESULT)])
        say()
        found = len(self.session.entries) - before
        if not found:
            self.entries.add("user_message", Message((Text(""),)), place, facts=facts)
        elif found > 1:
            self.entries.change(place, "message", f"it became {found} entries: each tool result is one")
        self.entries.keep()


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [] if content is None else [content]
