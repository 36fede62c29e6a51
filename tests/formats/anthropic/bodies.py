"""Messages bodies put together from small pieces, and what our own rules say of them."""

from typing import Any

from app.formats.anthropic.validate import validate
from tests.formats.anthropic.requests import NEW, OLD

USER: dict[str, Any] = {"role": "user", "content": "q"}
TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object"}}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
DOCUMENT: dict[str, Any] = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
SEARCH: dict[str, Any] = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(each) if isinstance(each, str) else each for each in content]}


def says(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def system(words: str = "Now.") -> dict[str, Any]:
    return {"role": "system", "content": words}


def call(id: Any = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **more}


def result(id: Any = "c1", content: Any = "r", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def source(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": kind, **more}}


def document(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": kind, **more}}


def strict(properties: dict[str, Any], required: Any = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties) if required is None else required}
    return {"name": "s", "strict": True, "input_schema": {**schema, "additionalProperties": False, **more}}


def faults(*messages: Any, model: str = NEW, **keys: Any) -> list[tuple[str, str]]:
    """Pointer and code of each violation; the least other keys are there."""
    return [(found.pointer, found.code) for found in validate({"model": model, "max_tokens": 2_000, "messages": list(messages), **keys})]


def old(*messages: Any, **keys: Any) -> list[tuple[str, str]]:
    """The same for a model that takes a prefill and a budget."""
    return faults(*messages, model=OLD, **keys)
