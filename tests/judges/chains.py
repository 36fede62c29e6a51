"""Recorded exchanges whose next request extends the last: what our ledger makes of the first, and what it would have sent next.

The first request is imported, each recorded answer is read as a stream is, and what the client added since (results, the next
question) is imported out of the next request. What stands beside the conversation, instructions, tools and parameters, is the recorded
request's own, as an operator would have configured it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.context.compile import compile_context
from app.entries.messages import Answer, Body, Status, ToolResult
from app.entries.parts import ToolCall
from app.formats.protocols import ImportedSession
from app.formats.registry import FORMATS, IMPORTERS
from app.models.presets import PRESETS
from app.models.resolve import Limits, ModelChoice, Target
from tests.judges.kinds.gemini import lower_types
from tests.judges.recorded import Exchange, exchanges
from tests.judges.talks import folded
from tests.strategies import Ledger, agent, resolved, tokens

LIMITS = Limits(1_000_000, 65_536, "explicit")
_CONVERSATION = ("messages", "contents", "input")
Rows = list[tuple[str, Body]]


@dataclass(frozen=True, slots=True)
class Link:
    """A recorded request that extends another one, and what we would have sent in its place."""

    name: str
    wire: str
    """The dialect, or the preset of a server that speaks it in its own way."""
    recorded: dict[str, Any]
    compiled: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as it was sent: its session by itself, and the ledger that it stands at the head of."""

    session: ImportedSession
    ledger: Rows


def links(shared: Path) -> Iterator[Link]:
    """Every one whose dialect has an importer and whose answer did not fail: a failed answer is no part of what is sent next."""
    files: dict[str, list[Exchange]] = defaultdict(list)
    for each in exchanges(shared):
        if each.speaks in IMPORTERS:
            files[each.name].append(each)
    for name, found in files.items():
        yield from _links(name, found)


def _links(name: str, found: list[Exchange]) -> Iterator[Link]:
    sent: list[_Sent] = []
    for place, now in enumerate(found):
        dialect = str(now.speaks)
        (session,) = IMPORTERS[dialect]([json.dumps(now.request).encode()])
        rows = [(entry.kind, entry.body) for entry in session.entries if not isinstance(entry.body, str)]
        before = next((earlier for earlier in reversed(range(place)) if extends(now, found[earlier])), None)
        if before is not None and (answer := _answer(found[before])) is not None:
            rows = _continued(sent[before], rows, answer)
            compiled = _compiled(now, rows, session)
            yield Link(f"{name} {found[before].number} → {now.number}", now.preset or dialect, now.streamed_request, compiled)
        sent.append(_Sent(session, rows))


def extends(now: Exchange, before: Exchange) -> bool:
    """Whether a request is an earlier one with more behind it, sent to the same model."""
    was, is_now = conversation(before.request), conversation(now.request)
    return (before.host, before.model) == (now.host, now.model) and len(was) < len(is_now) and unmarked(was) == unmarked(is_now[: len(was)])


def conversation(request: Mapping[str, Any]) -> list[Any]:
    found: list[Any] | Any = next((request[key] for key in _CONVERSATION if key in request), [])
    return found if isinstance(found, list) else [{"role": "user", "content": found}]


def unmarked(value: Any) -> Any:
    """The value without cache marks, which move from request to request."""
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def _answer(exchange: Exchange) -> Answer | None:
    """What our reader makes of the recorded answer; None where that ended with an error."""
    response, target = exchange.response, _target(exchange, {})
    fold = folded(response.encode() if isinstance(response, str) else json.dumps(response).encode(), target)
    return None if fold.failed is not None else fold.answer(Status.COMPLETED, target.model.name)


def _continued(before: _Sent, rows: Rows, answer: Answer) -> Rows:
    """The earlier ledger, the recorded answer to it, and what the client said since, with our ids for the answer's calls."""
    added = rows[len(before.session.entries) :]
    told: list[ToolCall] = []
    while added and isinstance(added[0][1], Answer):
        told += [part for part in added.pop(0)[1].parts if isinstance(part, ToolCall)]
    own = [part for part in answer.parts if isinstance(part, ToolCall)]
    ids = {theirs.tool_call_id: ours.tool_call_id for theirs, ours in zip(told, own, strict=False)}
    return [*before.ledger, ("assistant_message", answer), *[(kind, _renamed(body, ids)) for kind, body in added]]


def _renamed(body: Body, ids: Mapping[str, str]) -> Body:
    return replace(body, tool_call_id=ids.get(body.tool_call_id, body.tool_call_id)) if isinstance(body, ToolResult) else body


def _target(exchange: Exchange, extra: Mapping[str, Any]) -> Target:
    quirks = PRESETS[exchange.preset].quirks if exchange.preset else {}
    return resolved(ModelChoice("recorded", exchange.model, {"extra": extra} if extra else {}), LIMITS, str(exchange.speaks), quirks)


def _compiled(exchange: Exchange, rows: Rows, session: ImportedSession) -> dict[str, Any]:
    system, tools, extra = _BESIDE[str(exchange.speaks)](exchange.request)
    context = [{"renderer": "system", "text": text} for text in system]
    revision = agent(context=[*context, {"renderer": "history"}], tools=tools)
    ledger = Ledger()
    for kind, body in rows:
        ledger.add(kind, body)
    target = _target(exchange, extra)
    request = compile_context(ledger.sources(revision, target), tokens).request
    blobs = {digest: content for digest, (_, content) in session.blobs.items()}
    compiled: dict[str, Any] = json.loads(FORMATS[target.dialect].write_request(request, blobs).body)
    return compiled


Beside = tuple[list[str], list[dict[str, Any]], dict[str, Any]]
"""Instructions, tools as an agent document has them, and every other key."""


def _tool(name: str, description: str | None, parameters: Any) -> dict[str, Any]:
    return {"name": name, "description": description or "", "parameters": parameters or {"type": "object"}}


def _rest(request: Mapping[str, Any], *said: str) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key not in said}


def _chat(request: Mapping[str, Any]) -> Beside:
    heads = [message["content"] for message in request["messages"] if message["role"] in ("system", "developer")]
    functions = [tool["function"] for tool in request.get("tools", ())]
    tools = [_tool(each["name"], each.get("description"), each.get("parameters")) for each in functions]
    return heads, tools, _rest(request, "model", "messages", "tools", "stream")


def _responses(request: Mapping[str, Any]) -> Beside:
    functions = [tool for tool in request.get("tools", ()) if tool["type"] == "function"]
    tools = [_tool(each["name"], each.get("description"), each["parameters"]) for each in functions]
    system = [request["instructions"]] if request.get("instructions") else []
    return system, tools, _rest(request, "model", "input", "tools", "stream", "instructions")


def _messages(request: Mapping[str, Any]) -> Beside:
    system = request.get("system") or []
    tools = [_tool(each["name"], each.get("description"), each["input_schema"]) for each in request.get("tools", ()) if "input_schema" in each]
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    return texts, tools, _rest(request, "model", "messages", "tools", "stream", "system")


def _gemini(request: Mapping[str, Any]) -> Beside:
    functions = [each for tool in request.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    schema = ("parametersJsonSchema", "parameters_json_schema", "parameters")
    tools = [
        _tool(each["name"], each.get("description"), lower_types(next((each[key] for key in schema if key in each), None))) for each in functions
    ]
    parts = (request.get("systemInstruction") or {}).get("parts", ())
    return [part["text"] for part in parts], tools, _rest(request, "contents", "tools", "systemInstruction")


_BESIDE = {"openai-chat": _chat, "openai-responses": _responses, "anthropic-messages": _messages, "gemini": _gemini}
