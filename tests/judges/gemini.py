"""generateContent: the models of the `google-genai` package, and the rules of the fake endpoint.

The package has no type of a whole REST body, so one is put together here of the types that it has. What its models take and the wire
does not (bytes that are no base64) is asked beside the schema.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
from google.genai import types
from pydantic import BaseModel, ConfigDict, Field

from app.models.resolve import Target
from tests.fakes.gemini_rules import breaches
from tests.judges.schemas import compiled, found_by

_BYTES = frozenset({"data", "thoughtSignature"})
_STANDARD = str.maketrans("-_", "+/")
"""Google writes bytes in either alphabet and takes both; what it gave goes back as it came (wire-format notes 12.3)."""


class Body(BaseModel):
    """A request as REST has it."""

    model_config = ConfigDict(extra="forbid")

    contents: list[types.Content] = Field(min_length=1)
    systemInstruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    toolConfig: types.ToolConfig | None = None
    generationConfig: types.GenerationConfig | None = None
    safetySettings: list[types.SafetySetting] | None = None
    cachedContent: str | None = None


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    return compiled(Body.model_json_schema(by_alias=True))


def sdk_objections(body: Any, target: Target) -> list[str]:
    return found_by(schema(), body) or list(_no_bytes(body["contents"]))


def _no_bytes(value: Any, at: str = "/contents") -> Iterator[str]:
    """Texts that stand where bytes belong and are no base64, in parts (the arguments of a call are the model's own)."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _no_bytes(item, f"{at}/{index}")
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _BYTES and isinstance(item, str):
                try:
                    b64decode(item.translate(_STANDARD), validate=True)
                except binascii.Error:
                    yield f"{at}/{key}: no base64"
            elif key not in ("args", "response"):
                yield from _no_bytes(item, f"{at}/{key}")


def fake_objections(body: Any, target: Target) -> list[str]:
    return [breach.message for breach in breaches(body, target.model.name)]
