"""Lines of Claude Code session files, made by hand."""

import json
from collections.abc import Iterable
from typing import Any

from app.entries.messages import Answer, Message, ToolResult
from app.formats.claude_code.read import read
from app.formats.protocols import ImportedMessage, ImportedSession

AT = "2026-01-02T03:04:05.678Z"


def line(type: str, uuid: str, parent: str | None, **keys: Any) -> dict[str, Any]:
    return {"type": type, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s1", "timestamp": AT, **keys}


def user(uuid: str, parent: str | None, content: Any, **keys: Any) -> dict[str, Any]:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **keys)


def result(uuid: str, parent: str, tool_use_id: str, content: Any = "r", **keys: Any) -> dict[str, Any]:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **keys}])


def assistant(uuid: str, parent: str | None, id: str, *blocks: Any, model: str = "claude-x", **keys: Any) -> dict[str, Any]:
    message = {"id": id, "role": "assistant", "model": model, "content": list(blocks), "stop_reason": None}
    return line("assistant", uuid, parent, message=message, **keys)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool_use(id: str, name: str = "Bash", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def file(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def imported(*records: Any) -> ImportedSession:
    (session,) = read([file(*records)])
    return session


def said(entries: Iterable[ImportedMessage]) -> list[tuple[str, str]]:
    """Kind and text of each entry, calls as their names, results with their call."""
    found = []
    for entry in entries:
        assert isinstance(entry.body, Message | Answer | ToolResult)
        words = [str(getattr(part, "text", "") or getattr(part, "name", "")) for part in entry.body.parts]
        found.append((entry.kind, " ".join(words)))
    return found
