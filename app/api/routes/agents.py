"""Agents, upstreams and the catalogue."""

import re

from starlette.responses import Response

from app.api.answers import json_answer, listed, page_answer
from app.api.documented import PAGE, ok
from app.api.problems import Problem
from app.api.routing import Exchange, Operation
from app.api.schemas.agents import AGENT_DOCUMENT, MODEL_CURSOR_CHARS_MAX
from app.api.schemas.basics import LIMIT, NAME_PATTERN, integer, text
from app.config.limits import AGENT_NAME_CHARS_MAX, LIST_LIMIT_DEFAULT
from app.entries.errors import Fault, Invalid

_NAME = re.compile(NAME_PATTERN.removeprefix("^").removesuffix("$"))


def _is_name(name: str) -> bool:
    return len(name) <= AGENT_NAME_CHARS_MAX and _NAME.fullmatch(name) is not None


def _name(exchange: Exchange) -> str:
    """The agent's name in the path; one that cannot be a name names nothing."""
    name = exchange.path("name")
    if not _is_name(name):
        raise Problem("not-found")
    return name


async def put_agent(exchange: Exchange) -> Response:
    name = exchange.path("name")
    if not _is_name(name):
        raise Invalid([Fault("", "wrong-form", f"A name is letters, digits, `.`, `_` and `-`, at most {AGENT_NAME_CHARS_MAX}.")])
    agent, created = await exchange.services.agents.put(exchange.tenant, name, exchange.body)
    return json_answer(agent, 201 if created else 200, {"location": f"/agents/{name}/revisions/{agent['revision']}"})


async def list_agents(exchange: Exchange) -> Response:
    after, limit = exchange.query.get("after"), exchange.query.get("limit", LIST_LIMIT_DEFAULT)
    return page_answer(await exchange.services.agents.list(exchange.tenant, after, limit))


async def get_agent(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.agents.get(exchange.tenant, _name(exchange)))


async def list_revisions(exchange: Exchange) -> Response:
    after, limit = exchange.query.get("after", 0), exchange.query.get("limit", LIST_LIMIT_DEFAULT)
    return page_answer(await exchange.services.agents.revisions(exchange.tenant, _name(exchange), after, limit))


async def get_revision(exchange: Exchange) -> Response:
    number = exchange.path("revision")
    if re.fullmatch("[1-9][0-9]{0,8}", number) is None:
        raise Problem("not-found")
    return json_answer(await exchange.services.agents.get(exchange.tenant, _name(exchange), int(number)))


async def list_upstreams(exchange: Exchange) -> Response:
    return json_answer(listed(exchange.services.models.upstreams()))


async def list_models(exchange: Exchange) -> Response:
    models = exchange.services.models
    rows, after = models.models(exchange.query.get("after"), exchange.query.get("limit", LIST_LIMIT_DEFAULT))
    return json_answer({**listed(rows, after), **models.catalogue()})


READ, TAG = "model-input:read", "agents"

OPERATIONS = (
    Operation(
        "PUT",
        "/agents/{name}",
        "put_agent",
        TAG,
        "Put a document under a name; one that differs from the newest makes a revision.",
        put_agent,
        {200: ok("Agent", "Equal to the newest revision.", ("Location",)), 201: ok("Agent", "A new revision.", ("Location",))},
        "agents:write",
        body=AGENT_DOCUMENT,
    ),
    Operation(
        "GET",
        "/agents",
        "list_agents",
        TAG,
        "Agents by name, each in its newest revision.",
        list_agents,
        {200: ok("AgentList", "A page.")},
        READ,
        PAGE,
    ),
    Operation("GET", "/agents/{name}", "get_agent", TAG, "The newest revision.", get_agent, {200: ok("Agent", "The agent.")}, READ, errors=(404,)),
    Operation(
        "GET",
        "/agents/{name}/revisions",
        "list_revisions",
        TAG,
        "All revisions of an agent.",
        list_revisions,
        {200: ok("RevisionList", "A page.")},
        READ,
        {"limit": LIMIT, "after": integer(0, 2**31 - 1)},
        errors=(404,),
    ),
    Operation(
        "GET",
        "/agents/{name}/revisions/{revision}",
        "get_revision",
        TAG,
        "One revision.",
        get_revision,
        {200: ok("Agent", "The revision.")},
        READ,
        errors=(404,),
    ),
    Operation("GET", "/upstreams", "list_upstreams", TAG, "Configured upstreams.", list_upstreams, {200: ok("UpstreamList", "All of them.")}, READ),
    Operation(
        "GET",
        "/models",
        "list_models",
        TAG,
        "The dated catalogue, a source for each figure, and each upstream's own models.",
        list_models,
        {200: ok("Catalogue", "A page.")},
        READ,
        {"limit": LIMIT, "after": text(MODEL_CURSOR_CHARS_MAX)},
    ),
)
