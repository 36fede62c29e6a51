"""The OpenAPI document, read off the same table that serves the routes. `openapi/openapi.json` is its bytes, compared by a test."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.api.answers import JSON, PROBLEM_JSON
from app.api.routing import Operation
from app.api.schemas.basics import NAME_PATTERN, Schema, ref
from app.api.schemas.named import NAMED

VERSION = "0.1.0"
_PARAMETER = re.compile(r"{(\w+)}")
_DESCRIPTION = "An append-only ledger of AI sessions: what was said, what the model was sent, and why."

_PATHS: Mapping[str, Schema] = {
    "name": {"type": "string", "maxLength": 64, "pattern": NAME_PATTERN},
    "revision": {"type": "integer", "minimum": 1},
    "code": {"type": "string"},
    "dialect": {"type": "string"},
    "digest": {"type": "string"},
    "session_id": {"type": "string"},
    "turn_id": {"type": "string"},
    "call_id": {"type": "string"},
    "checkpoint_id": {"type": "string"},
    "seq": {"type": "string"},
    "user": {"type": "string"},
}

_PROBLEMS: Mapping[int, str] = {
    400: "The request is not HTTP as this server reads it.",
    401: "A key is needed.",
    403: "The key lacks the scope, or the request is not local where only local ones are served.",
    404: "Unknown, of another tenant, or an id that does not parse.",
    405: "The route has no such method.",
    406: "No form that `Accept` allows.",
    409: "A clash with what is stored or runs; `code` says which.",
    410: "The session was erased, or the events were purged.",
    412: "The head has moved.",
    413: "The body is too large.",
    415: "The body has the wrong media type.",
    422: "The request does not fit the contract; `errors` says where.",
    500: "An unexpected failure, logged under `request_id`.",
    503: "The service cannot take it now.",
}

_HEADERS: Mapping[str, str] = {
    "ETag": "Names the state that was read.",
    "Location": "Where the resource is.",
    "Content-Location": "The turn's events.",
    "Idempotent-Replayed": "`true` where the key was known.",
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole document, in the order of the table."""
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Context Ledger",
            "version": VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": dict(NAMED), "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def rendered(operations: Sequence[Operation]) -> bytes:
    """The bytes of the checked-in file."""
    return (json.dumps(document(operations), indent=1, ensure_ascii=True) + "\n").encode()


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": operation.name, "tags": [operation.tag], "summary": operation.summary}
    found["security"] = [] if operation.scope is None else [{"key": [operation.scope]}, {}]
    if parameters := _parameters(operation):
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = {"required": operation.body_needed, "content": {JSON: {"schema": operation.body}}}
    if operation.takes_bytes:
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
    found["responses"] = _responses(operation)
    return found


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PATHS[name]} for name in _PARAMETER.findall(operation.path)
    ]
    for name, schema in operation.query.items():
        if name.endswith("."):
            found.append(_metadata(name))
            continue
        row: dict[str, Any] = {"name": name, "in": "query", "schema": schema}
        if name in operation.query_needed:
            row["required"] = True
        if schema.get("type") == "array":
            row |= {"style": "form", "explode": False}
        found.append(row)
    if operation.method == "POST":
        found.append(
            _header("Idempotency-Key", {"type": "string", "pattern": "^[!-~]{1,255}$"}, "The same key and body give the first answer again.")
        )
    if 412 in operation.errors:
        found.append(_header("If-Match", {"type": "string"}, "The head that is expected: an ETag, a bare number or `*`."))
    if operation.conditional:
        found.append(_header("If-None-Match", {"type": "string"}, "Answers 304 where the ETag still holds."))
    return found


def _metadata(prefix: str) -> dict[str, Any]:
    """Filters by key, as an object that is spelled out: `metadata.<key>=<value>`, one parameter a key."""
    schema = {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 0}
    return {"name": prefix + "*", "in": "query", "schema": schema, "description": f"`{prefix}<key>=<value>`, one a key."}


def _header(name: str, schema: Schema, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": schema, "description": description}


def _responses(operation: Operation) -> dict[str, Any]:
    found: dict[int, Any] = {}
    for status, answer in operation.answers.items():
        row: dict[str, Any] = {"description": answer.description}
        names = [*answer.headers, "Idempotent-Replayed"] if operation.method == "POST" else answer.headers
        if names:
            row["headers"] = {name: {"schema": {"type": "string"}, "description": _HEADERS[name]} for name in names}
        if answer.content:
            row["content"] = {media_type: {"schema": schema} for media_type, schema in answer.content.items()}
        found[status] = row
    problems = {400, 403, 422, 500, 503, *operation.errors}
    if operation.scope is not None:
        problems.add(401)
    if "{session_id}" in operation.path:
        problems.add(410)
    if operation.method not in ("GET", "HEAD"):
        problems.add(413)
    if operation.body is not None:
        problems.add(415)
    for status in problems - found.keys():
        found[status] = {"description": _PROBLEMS[status], "content": {PROBLEM_JSON: {"schema": ref("Problem")}}}
    for status in problems & found.keys():
        found[status]["content"] = {**found[status].get("content", {}), PROBLEM_JSON: {"schema": ref("Problem")}}
    return {str(status): found[status] for status in sorted(found)}
