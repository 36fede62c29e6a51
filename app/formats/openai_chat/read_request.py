"""Chat Completions messages to sessions: an array of messages, an object with `messages`, or one of these a line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.entries import lossless
from app.entries.messages import Answer, Body, Message, ToolResult
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.openai_chat.rules import DIALECT
from app.formats.protocols import ImportedMessage, ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, store, store_url
from app.formats.reading.files import documents

_READ = frozenset({"role", "content", "refusal", "tool_calls", "function_call", "tool_call_id", "name", "reasoning_content", "reasoning"})
_KINDS = {"system": "system_message", "developer": "system_message", "user": "user_message"}


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """A session for each conversation of the file. Raises `UnreadableImport` where there is none."""
    for prefix, document in documents(data):
        yield _session(document, prefix)


def _session(document: Any, prefix: str) -> ImportedSession:
    messages = document if isinstance(document, list) else mapping(document).get("messages")
    if not isinstance(messages, list) or not messages:
        raise UnreadableImport("A conversation is an array of messages, or an object with `messages`.")
    session = ImportedSession()
    if isinstance(document, Mapping):
        session.title = document["title"][:500] if isinstance(document.get("title"), str) else None
        session.external_id = document["id"] if isinstance(document.get("id"), str) else None
        session.lost.extend(
            Note(f"{prefix}document", str(key)[:64], "not part of the conversation") for key in document if key not in ("messages", "title", "id")
        )
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        _message(mapping(message), f"{prefix}message {index}", session, open_calls)
    return session


def _message(message: Mapping[str, Any], place: str, session: ImportedSession, open_calls: list[str]) -> None:
    """`open_calls`: ids that were made up for calls of the old form and wait for their result."""
    role = message.get("role")
    body: Body
    kind = _KINDS.get(str(role))
    if kind is not None:
        body = Message(_parts(message.get("content"), place, session))
    elif role == "assistant":
        kind, body = "assistant_message", _answer(message, place, session, open_calls)
    elif role in ("tool", "function"):
        made_up = open_calls.pop(0) if role == "function" and open_calls else None
        tool_call_id = message.get("tool_call_id") or made_up
        if not isinstance(tool_call_id, str):
            session.lost.append(Note(place, "message", "a tool result that names no call"))
            return
        name = message.get("name")
        kind, body = "tool_result", ToolResult(tool_call_id, _parts(message.get("content"), place, session), name if isinstance(name, str) else None)
    else:
        session.lost.append(Note(place, "message", "a role that is not known"))
        return
    if role == "developer":
        session.changed.append(Note(place, "role", "developer became system_message"))
    if "name" in message and kind != "tool_result":
        session.lost.append(Note(place, "name", "speakers are not kept"))
    session.lost.extend(Note(place, str(key)[:64], "a field that is not known") for key in message if key not in _READ and message[key] is not None)
    session.entries.append(ImportedMessage(kind, body))
    session.kept += 1


def _answer(message: Mapping[str, Any], place: str, session: ImportedSession, open_calls: list[str]) -> Answer:
    parts: list[Part] = []
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        parts.append(Reasoning(reasoning))
    if message.get("content") not in (None, ""):
        parts.extend(_parts(message["content"], place, session))
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        parts.append(Text(message["refusal"]))
        session.changed.append(Note(place, "refusal", "it became text"))
    calls = message.get("tool_calls")
    parts.extend(_call(mapping(call), place, session) for call in (calls if isinstance(calls, list) else ()))
    old = mapping(message.get("function_call"))
    if isinstance(old.get("name"), str):
        made_up = f"call_import_{len(session.entries)}"
        open_calls.append(made_up)
        session.changed.append(Note(place, "function_call", "the old form has no id; one was made up"))
        parts.append(ToolCall(made_up, old["name"], _arguments(old.get("arguments"), place, session)))
    return Answer(tuple(parts) or (Text(""),))


def _call(call: Mapping[str, Any], place: str, session: ImportedSession) -> Part:
    kind = call.get("type", "function")
    inner = mapping(call.get(str(kind)))
    tool_call_id, name = call.get("id"), inner.get("name")
    if not isinstance(tool_call_id, str) or not tool_call_id or not isinstance(name, str):
        session.changed.append(Note(place, "tool_calls", "a call without id or name is kept as it is and never sent"))
        return Opaque(DIALECT, DIALECT, lossless.dumps(dict(call)), "tool_call")
    if kind == "custom":
        session.changed.append(Note(place, "tool_calls", "the input of a custom call became its argument text"))
        return ToolCall(tool_call_id, name, str(inner.get("input", "")))
    beside = {key: value for key, value in call.items() if key not in ("id", "type", "function", "index") and value is not None}
    return ToolCall(tool_call_id, name, _arguments(inner.get("arguments"), place, session), opaque=lossless.dumps(beside) if beside else None)


def _arguments(value: Any, place: str, session: ImportedSession) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    session.changed.append(Note(place, "arguments", "an object was spelled out as text"))
    return lossless.dumps(value)


def _parts(content: Any, place: str, session: ImportedSession) -> tuple[Part, ...]:
    if content is None or isinstance(content, str):
        return (Text(content or ""),)
    if not isinstance(content, list):
        session.changed.append(Note(place, "content", "neither text nor parts: spelled out as text"))
        return (Text(lossless.dumps(content)),)
    return tuple([_part(mapping(part) if not isinstance(part, str) else {"type": "text", "text": part}, place, session) for part in content])


def _part(part: Mapping[str, Any], place: str, session: ImportedSession) -> Part:
    """Text, image, audio, file; any other part is kept whole as an opaque one."""
    kind = str(part.get("type"))
    inner = part.get(kind)
    if kind in ("text", "refusal") and isinstance(inner, str):
        return Text(inner)
    found = None
    if kind == "image_url":
        url = inner if isinstance(inner, str) else mapping(inner).get("url")
        found = store_url(session, "image", url) if isinstance(url, str) else None
    elif kind == "input_audio" and isinstance(mapping(inner).get("data"), str):
        found = store(session, "file", "audio/wav" if mapping(inner).get("format") == "wav" else "audio/mpeg", mapping(inner)["data"])
    elif kind == "file" and isinstance(mapping(inner).get("file_data"), str):
        name = mapping(inner).get("filename")
        found = store_url(session, "file", mapping(inner)["file_data"], name if isinstance(name, str) else None)
    if found is not None:
        return found
    session.changed.append(Note(place, f"content/{kind}"[:64], "a part that is not modelled is kept as it is and never sent"))
    return Opaque(DIALECT, DIALECT, lossless.dumps(dict(part)), kind[:64])
