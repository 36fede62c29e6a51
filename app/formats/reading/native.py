"""A provider's blocks, made again of what clients keep of them: the texts beside parts are those that the dialects' own streams leave.

Each function gives the JSON text for `opaque`; None where a dialect has no such block, and the caller keeps what the file says.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.config.limits import JSON_DEPTH_MAX
from app.entries import lossless


def thinking(dialect: str, text: str, signature: str) -> str | None:
    """Thoughts with the signature that vouches for them; of OpenAI's the signature is the item itself, as JSON text."""
    if dialect == "openai-responses":
        return signature if isinstance(read(signature), dict) else None
    return _made(_THINKING, dialect, text, signature)


def redacted(dialect: str, data: str) -> str | None:
    """Thoughts that the provider gives out sealed."""
    return _made(_REDACTED, dialect, data)


def said(dialect: str, mark: str) -> str | None:
    """What stands beside a text: a signature, or the id of the message, alone or as a JSON object with its phase."""
    if dialect == "openai-responses":
        found = read(mark) if mark.startswith("{") else {"id": mark}
        if not isinstance(found, dict):
            return None
        kept = {key: found[key] for key in ("id", "phase") if found.get(key) is not None}
        return lossless.dumps({"item": {"type": "message", "role": "assistant", "content": [], **kept}})
    return _made(_BESIDE, dialect, mark)


def called(dialect: str, mark: str) -> str | None:
    """What stands beside a call: a signature, or the id of the item."""
    if dialect == "openai-responses":
        return lossless.dumps({"item": {"type": "function_call", "id": mark, "arguments": ""}})
    return _made(_BESIDE, dialect, mark)


def reasoned(item_id: str, encrypted_content: str | None, texts: list[str]) -> str:
    """A reasoning item of OpenAI's."""
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return lossless.dumps({"type": "reasoning", "id": item_id, "summary": summary, "encrypted_content": encrypted_content})


def read(text: str) -> Any:
    """The JSON value of a text; None where it is none."""
    try:
        return lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        return None


def _made(table: Mapping[str, Callable[..., dict[str, Any]]], dialect: str, *said: str) -> str | None:
    make = table.get(dialect)
    return None if make is None else lossless.dumps(make(*said))


_THINKING: Mapping[str, Callable[..., dict[str, Any]]] = MappingProxyType(
    {
        "anthropic-messages": lambda text, signature: {"type": "thinking", "thinking": text, "signature": signature},
        "gemini": lambda text, signature: {"thought": True, "thoughtSignature": signature},
        "bedrock-converse": lambda text, signature: {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}},
    }
)
_REDACTED: Mapping[str, Callable[..., dict[str, Any]]] = MappingProxyType(
    {
        "anthropic-messages": lambda data: {"type": "redacted_thinking", "data": data},
        "bedrock-converse": lambda data: {"reasoningContent": {"redactedContent": data}},
    }
)
_BESIDE: Mapping[str, Callable[..., dict[str, Any]]] = MappingProxyType({"gemini": lambda signature: {"thoughtSignature": signature}})
