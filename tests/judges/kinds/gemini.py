"""Differences on generateContent."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.judges.kinds.kind import DESCRIPTIONS, Kind, everywhere, less, listed, without

_PROTO = re.compile(r"_([a-z])")
_USERS_OWN = frozenset({"args", "response", "parametersJsonSchema"})


def _proto(value: Any, key: str = "") -> Any:
    """The names of fields as Google's JSON spells them; what is the user's own stays as it is."""
    if isinstance(value, dict) and key not in _USERS_OWN:
        named = {_PROTO.sub(lambda match: match[1].upper(), name): item for name, item in value.items() if item is not None}
        return {name: _proto(item, name) for name, item in named.items()}
    return [_proto(item, key) for item in value] if isinstance(value, list) else value


def lower_types(schema: Any) -> Any:
    """A schema of Google's own subset, whose types are upper-case, as JSON Schema."""
    if isinstance(schema, dict):
        return {key: item.lower() if key == "type" and isinstance(item, str) else lower_types(item) for key, item in schema.items()}
    return [lower_types(item) for item in schema] if isinstance(schema, list) else schema


def _schemas(value: dict[str, Any]) -> dict[str, Any]:
    if isinstance(value.get("parameters"), dict) and "name" in value:
        return {**less(value, "parameters"), "parametersJsonSchema": lower_types(value["parameters"])}
    return value


def _alphabet(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: item.translate(str.maketrans("-_", "+/")) if key in ("thoughtSignature", "data") and isinstance(item, str) else item
        for key, item in value.items()
    }


def _response(value: dict[str, Any]) -> dict[str, Any]:
    """What a result says, whatever the client called it: `output` is our word, and an object is spelled out in it."""
    said = value.get("functionResponse")
    if not isinstance(said, dict) or not isinstance(said.get("response"), dict) or "error" in said["response"]:
        return value
    response = said["response"]
    text = (
        response["output"]
        if set(response) == {"output"} and isinstance(response["output"], str)
        else json.dumps(response, separators=(",", ":"), ensure_ascii=False)
    )
    return {**value, "functionResponse": {**said, "response": {"output": text}}}


def _parts(body: dict[str, Any], keep: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    contents = [{**content, "parts": [part for part in content["parts"] if keep(part)]} for content in body["contents"]]
    return {**body, "contents": [content for content in contents if content["parts"]]}


def _silent(part: dict[str, Any]) -> bool:
    return part == {"text": ""}


GEMINI = (
    Kind("spelling of fields", "Google takes names in snake_case, and nulls, beside its own spelling (12.3).", lambda body: dict(_proto(body))),
    DESCRIPTIONS,
    Kind("alphabet of bytes", "Google takes both alphabets of base64 (12.3); what it gave goes back as it came.", everywhere(_alphabet)),
    Kind("JSON Schema", "Parameters go as the JSON Schema that they are, not as Google's subset.", everywhere(_schemas)),
    Kind(
        "role of instructions",
        "Instructions have no role.",
        lambda body: {**body, "systemInstruction": less(body["systemInstruction"], "role")} if "systemInstruction" in body else body,
    ),
    Kind(
        "ids of calls",
        "The provider gave the calls no id; the client made one up for call and result.",
        without("id", where=lambda value: str(value.get("id", "")).startswith(("pyd_ai_", "call_"))),
    ),
    Kind("word for a result", "A result stands under `output`, the documented word; the client used others.", everywhere(_response)),
    Kind(
        "thoughts",
        "What was thought is shown to us and not asked back; the signature of the answer is.",
        lambda body: _parts(body, lambda part: part.get("thought") is not True),
    ),
    Kind("empty texts", "A text without a letter and without a signature is not sent.", lambda body: _parts(body, lambda part: not _silent(part))),
    Kind(
        "provider's own tools",
        "Tools that the provider runs are none of an agent document.",
        listed("tools", lambda tool: tool if "functionDeclarations" in tool else None),
    ),
    Kind(
        "files in a bucket",
        "A `gs:` address is for the provider's own eyes: an import keeps it for nobody.",
        lambda body: _parts(body, lambda part: "fileData" not in part),
    ),
)
