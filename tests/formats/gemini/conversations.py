"""Conversations for tests of the rules of Gemini bodies."""

from typing import Any

from app.formats.gemini.rules import rules_for
from app.formats.gemini.validate import validate

THIRD = rules_for("gemini-3-flash-preview")
OLDER = rules_for("gemini-2.5-flash")


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def user(*texts: str) -> dict[str, Any]:
    return content("user", *({"text": text} for text in texts or ("q",)))


def model(*parts: Any) -> dict[str, Any]:
    return content("model", *(parts or ({"text": "a"},)))


def call(name: Any = "f", args: Any = None, signature: str | None = "Zm9v", **inner: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"functionCall": {"name": name, "args": {} if args is None else args, **inner}}
    return found if signature is None else found | {"thoughtSignature": signature}


def result(name: Any = "f", response: Any = None, **inner: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "r"} if response is None else response, **inner}}


def answered(*calls: Any) -> list[dict[str, Any]]:
    return [user(), model(*calls), content("user", *(result(one["functionCall"]["name"]) for one in calls))]


def faults(*contents: Any, rules: Any = THIRD, **keys: Any) -> list[tuple[str, str]]:
    return [(found.pointer, found.code) for found in validate({"contents": list(contents), **keys}, rules)]


PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
