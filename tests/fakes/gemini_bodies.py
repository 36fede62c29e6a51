"""Bodies for Gemini's endpoint, and pairs of them: one that is refused for a rule, and its near twin that is served."""

import base64
from typing import Any, NamedTuple

from tests.fakes.gemini_rules import breaches

FLASH, THREE, FOUR, ANY = "gemini-2.5-flash", "gemini-3-flash-preview", "gemini-4-argon", "any"
SIGNATURE = base64.b64encode(b"signed").decode()
TOOL: dict[str, Any] = {"name": "count", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts) or [{"text": "How many?"}]}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts) or [{"text": "Seven."}]}


def call(name: str = "count", **more: Any) -> dict[str, Any]:
    signed = {key: more.pop(key) for key in ("thoughtSignature",) if key in more}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def given(name: str = "count", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "7"}, **more}}


def body(*contents: Any, **more: Any) -> dict[str, Any]:
    return {"contents": list(contents) or [user()], **more}


def config(**more: Any) -> dict[str, Any]:
    return body(generationConfig=more)


def thinking(**more: Any) -> dict[str, Any]:
    return config(thinkingConfig=more)


def declared(*tools: Any, **more: Any) -> dict[str, Any]:
    return body(tools=[{"functionDeclarations": list(tools)}], **more)


def choosing(*names: str, mode: str | None = None) -> dict[str, Any]:
    return declared(TOOL, toolConfig={"functionCallingConfig": {"mode": mode, "allowedFunctionNames": list(names)}})


def schema(**given: Any) -> dict[str, Any]:
    return declared({**TOOL, "parameters": {"type": "OBJECT", "properties": {"a": given}}})


def shaped(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels - 1):
        found = {"type": "object", "properties": {"a": found}}
    return config(responseMimeType="application/json", responseJsonSchema=found)


class Twins(NamedTuple):
    refused: dict[str, Any]
    words: str
    served: dict[str, Any]
    model: str = ANY
    """Asked for the refused body."""
    other: str | None = None
    """Asked for the served one, where it is not the same."""

    def hold(self) -> None:
        found = breaches(self.refused, self.model)
        assert any(self.words in breach.message for breach in found), found
        assert breaches(self.served, self.other or self.model) == []
