"""HTTP steps of a case as requests of the contract: the notation's routes and bodies are its own, ours are in http-api."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.raw_json import members
from tests.services.world import LIMITS

JSON = {"content-type": "application/json"}
_KINDS = {'"user"': '"user_message"', '"assistant"': '"assistant_message"', '"tool"': '"tool_result"', '"tool_result"': '"tool_result"'}


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `content` is JSON text."""

    method: str
    path: str
    content: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, Any]:
        """As keyword arguments of an httpx client's `request`."""
        found: dict[str, Any] = {"headers": dict(self.headers)}
        if self.params:
            found["params"] = dict(self.params)
        if self.content is not None:
            found |= {"content": self.content.encode("utf-8", "surrogatepass"), "headers": {**JSON, **self.headers}}
        return found


def request_of(step: Mapping[str, Any], names: Mapping[str, str]) -> Request:
    """The request that a step stands for, `{name}`s of its path and body filled in."""
    parts = urlsplit(_filled(step["path"], names))
    text = step.get("raw_body") or (json.dumps(step["body"]) if "body" in step else None)
    text = None if text is None else _filled(text, names)
    query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    for method, pattern, make in _ROUTES:
        found = re.fullmatch(pattern, parts.path)
        if found is not None and method in (step["method"], "*"):
            request = make(found, text, query)
            return Request(request.method, request.path, request.content, {**request.headers, **step.get("headers", {})}, request.params)
    return Request(step["method"], parts.path, text, step.get("headers", {}), query)


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text


Make = Callable[[re.Match[str], str | None, dict[str, str]], Request]


def _post_messages(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    return Request("POST", f"/sessions/{found[1]}/entries", entries_text(text or ""))


def _get_messages(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    ours = {"after_seq" if name == "cursor" else name: value for name, value in query.items()}
    return Request("GET", f"/sessions/{found[1]}/raw", params=ours)


def _project(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    body = json.loads(text or "{}")
    named = {"checkpoint": body["checkpoint_id"]} if "checkpoint_id" in body else {}
    target = {"upstream": upstream_of(dialect_of(body["provider"])), "model": body["model"]} if "provider" in body else {}
    return Request("GET", f"/sessions/{found[1]}/model-input", params={**named, **target})


def _turn(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    body = json.loads(text or "{}")
    return Request("POST", f"/sessions/{found[1]}/turns", json.dumps({**({"input": body.pop("message")} if "message" in body else {}), **body}))


def _tools(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    """Tools belong to an agent's document, so this is one with these tools; their text is not read."""
    model = json.dumps({"upstream": "scripted", "name": "scripted"})
    return Request("PUT", "/agents/with-tools", f'{{"model":{model},"limits":{json.dumps(LIMITS)},"tools":{text}}}')


def _stream(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    return Request("GET", f"/sessions/{found[1]}/turns/{found[2]}/events", params=query)


def _healthz(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    return Request("GET", "/livez")


def _open(found: re.Match[str], text: str | None, query: dict[str, str]) -> Request:
    """A fork is asked for at the session that it is made of."""
    of = json.loads(text or "{}").get("fork_from")
    return Request("POST", "/sessions", text) if of is None else Request("POST", f"/sessions/{of}/fork", "{}")


_ROUTES: tuple[tuple[str, str, Make], ...] = (
    ("POST", r"/sessions", _open),
    ("POST", r"/sessions/([^/]+)/messages", _post_messages),
    ("GET", r"/sessions/([^/]+)/messages", _get_messages),
    ("POST", r"/sessions/([^/]+)/project", _project),
    ("POST", r"/sessions/([^/]+)/turns", _turn),
    ("PUT", r"/sessions/([^/]+)/tools", _tools),
    ("GET", r"/sessions/([^/]+)/turns/([^/]+)/stream", _stream),
    ("GET", r"/healthz", _healthz),
)


def entries_text(text: str) -> str:
    """A message of the notation as the body of `POST …/entries`; every value keeps its own text. What is no object stays as it is."""
    try:
        given = members(text)
    except ValueError:
        return text
    kind = given.pop("kind", None) or given.pop("role", "null")
    entry = {"kind": _KINDS.get(kind, kind)}
    if "json" in given:  # a structured result is its JSON text
        entry["parts"] = f'[{{"type":"text","text":{json.dumps(given.pop("json"))}}}]'
    for name in ("text", "content"):
        if name in given:
            entry["parts"] = f'[{{"type":"text","text":{given.pop(name)}}}]'
    for name, ours in (("call_id", "tool_call_id"), ("tool_call_id", "tool_call_id"), ("metadata", "attributes")):
        if name in given:
            entry[ours] = given.pop(name)
    entry |= given  # what is left has no place in the contract and is sent as it is
    return '{"entries":[{' + ",".join(f'"{name}":{value}' for name, value in entry.items()) + "}]}"
