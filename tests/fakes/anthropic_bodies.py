"""Bodies for the Messages fake, put together from small pieces, and pairs of them: one that breaks a rule, and its near twin."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.fakes.anthropic_rules import breaches
from tests.fakes.claude_thinking import BINDING_BETA

OPUS, SONNET_45, SONNET_46 = "claude-opus-5", "claude-sonnet-4-5", "claude-sonnet-4-6"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HUGE_PNG = "iVBORw0KGgoAAAANSUhEUgAAJxAAAAABCAYAAAA="
USER: dict[str, Any] = {"role": "user", "content": "How many?"}
TOOL: dict[str, Any] = {"name": "count", "description": "Counts.", "input_schema": {"type": "object"}}
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT: dict[str, Any] = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BETAS = frozenset({BINDING_BETA})


def says(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(each) if isinstance(each, str) else each for each in content]}


def user(*content: Any) -> dict[str, Any]:
    return {**says(*content), "role": "user"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "count", "input": {}, **more}


def result(id: str, content: Any = "7", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def thinking(signature: str = "c2ln") -> dict[str, Any]:
    return {"type": "thinking", "thinking": "Hm.", "signature": signature}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": OPUS, "max_tokens": 2000, "messages": list(messages) or [USER], **more}


def tool(name: str = "count", schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", **(schema or {})}, **more}


def strict(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return body(tools=[tool(schema={"properties": properties, "required": list(properties), "additionalProperties": False, **more}, strict=True)])


class Rule(NamedTuple):
    """A body that is refused with these words, a twin that is served, and what `breaches` is told besides."""

    gist: str
    refused: Any
    served: Any
    told: Mapping[str, Any] = MappingProxyType({})


def parts(rule: Rule) -> bool:
    """Whether the rule tells its two bodies apart. Fails with what was found."""
    found = [breach.message for breach in breaches(rule.refused, **rule.told)]
    assert any(rule.gist in message for message in found), found
    assert [breach.message for breach in breaches(rule.served, **rule.told)] == []
    return True
