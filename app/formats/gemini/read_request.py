"""Gemini requests, and chats of the Gemini command line, to sessions: an object with `contents`, an array of them, or one of these a line.

The fields of a request may be spelled as Google's JSON or as its protocol (`function_call`, URL-safe base64): notes 12.3. A request
names no model; its answers' blocks are noted for an unknown one, under the account `import`, to which nothing is sent back
(`app/entries/producers.py`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Text, ToolCall
from app.entries.producers import imported_producer
from app.formats.gemini.import_chat import is_chat, read_chat
from app.formats.gemini.import_parts import DIALECT, Parts, Waiting, camel, said_part
from app.formats.protocols import ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import documents

_CONTENT = frozenset({"role", "parts"})
_RESPONSE = frozenset({"id", "name", "response", "parts"})


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """A session for each request or chat of the file. Raises `UnreadableImport` where there is none."""
    for prefix, document in documents(data):
        yield read_chat(document, prefix) if is_chat(document) else _Request(document, prefix).read()


class _Request:
    """One request in the reading."""

    def __init__(self, document: Any, prefix: str) -> None:
        found = document if isinstance(document, list) else mapping(document).get("contents")
        self.contents: list[Any] = [found] if isinstance(found, Mapping | str) else found if isinstance(found, list) else []
        if not self.contents:
            raise UnreadableImport("A request is an object with `contents`, or an array of them.")
        self.document = mapping(document)
        self.prefix = prefix
        self.entries = Entries("gemini", "contents")
        self.session = self.entries.session
        self.parts = Parts(self.session, imported_producer(DIALECT, (word(self.document, "model") or "").removeprefix("models/")))
        self.waiting = Waiting()

    def read(self) -> ImportedSession:
        for key, value in self.document.items():
            if camel(str(key)) not in ("contents", "systemInstruction") and value is not None:
                self.entries.lose(f"{self.prefix}document", str(key), "not part of the conversation")
        system = self.document.get("systemInstruction") or self.document.get("system_instruction")
        if system:
            self._system(system, f"{self.prefix}systemInstruction")
        for index, content in enumerate(self.contents):
            self._content({"role": "user", "parts": [content]} if isinstance(content, str) else mapping(content), f"{self.prefix}content {index}")
        if not self.session.entries:
            raise UnreadableImport("The request holds no content of the Gemini API.")
        return self.entries.finish()

    def _content(self, content: Mapping[str, Any], place: str) -> None:
        role, parts = content.get("role"), _parts(content)
        if parts is None:
            self.entries.lose(place, "content", "it has no parts")
        elif role == "model":
            self._answer(parts, place, spare(content, _CONTENT))
        elif role in ("user", "function", "", None):
            self._input(parts, place, spare(content, _CONTENT))
        elif role == "system":
            self._system(content, place)
        else:
            self.entries.lose(place, "content", "a role that is not known")

    def _system(self, content: Any, place: str) -> None:
        parts = [content] if isinstance(content, str) else _parts(mapping(content))
        if parts is None:
            self.entries.lose(place, "content", "it has no parts")
            return
        self.entries.add("system_message", Message(tuple([self.parts.input(part, place) for part in parts])), place)
        self.entries.keep()

    def _answer(self, parts: list[Any], place: str, facts: Mapping[str, Any]) -> None:
        found = tuple([self.parts.answer(part, place) for part in parts])
        self.waiting.ask([part for part in found if isinstance(part, ToolCall)])
        self.entries.add("assistant_message", Answer(found, Status.COMPLETED), place, facts=facts)
        self.entries.keep()

    def _input(self, parts: list[Any], place: str, facts: Mapping[str, Any]) -> None:
        """Its results, each an entry, and what else the user says as one message, in the order of the parts."""
        said: list[Part] = []
        before = len(self.session.entries)

        def say() -> None:
            if said:
                self.entries.add("user_message", Message(tuple(said)), place, facts=facts)
                said.clear()

        for part in parts:
            response = mapping(said_part(part).get("functionResponse"))
            if word(response, "name") is None and word(response, "id") is None:
                said.append(self.parts.input(part, place))
                continue
            say()
            self._result(response, place, facts)
        say()
        found = len(self.session.entries) - before
        if not found:
            self.entries.add("user_message", Message((Text(""),)), place, facts=facts)
        elif found > 1:
            self.entries.change(place, "content", f"it became {found} entries: each tool result is one")
        self.entries.keep()

    def _result(self, response: Mapping[str, Any], place: str, facts: Mapping[str, Any]) -> None:
        """The result of a call: of the one that it names, else of the first open one of its name, else of the first open one."""
        tool_call_id, name = self.waiting.answer(word(response, "id"), word(response, "name"))
        tool_call_id = tool_call_id or self.parts.made_up_id(place)
        parts, is_error = self.parts.result(response, place)
        self.entries.add("tool_result", ToolResult(tool_call_id, parts, name, is_error), place, facts=facts)
        self.session.changed.extend([Note(place, str(key)[:64], "a field of a result that is not kept") for key in spare(response, _RESPONSE)])


def _parts(content: Mapping[str, Any]) -> list[Any] | None:
    """The parts of a content; one alone may stand without its list."""
    parts = content.get("parts")
    if isinstance(parts, Mapping | str):
        return [parts]
    return parts if isinstance(parts, list) else None
