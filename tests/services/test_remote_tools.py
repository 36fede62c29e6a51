"""Agents whose tools run on the operator's servers: what is asked when they are put, what is kept, and what is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp import types
from mcp.server.fastmcp import FastMCP

from app.config.settings import Settings
from app.entries.errors import Invalid
from app.outbound.tool_servers.results import RemoteTool
from app.services.remote_tools import _resolve
from tests.api.conftest import running, talking
from tests.outbound.tool_servers.kit import McpPlace, configured, mcp_server
from tests.services.world import LIMITS, World

MODEL = {"upstream": "scripted", "name": "scripted", "params": {"script": [{"text": "Done."}]}}


class Shelf:
    """What the server lists, changed by a test as it goes on."""

    def __init__(self) -> None:
        self.tools = [tool("read_file", "Reads a file."), tool("write_file", "Writes one.")]

    def define(self, server: FastMCP, calls: list[Any]) -> None:
        @server._mcp_server.list_tools()
        async def listed() -> list[types.Tool]:
            calls.append("list")
            return self.tools


def tool(name: str, description: str, **schema: Any) -> types.Tool:
    return types.Tool(name=name, description=description, inputSchema={"type": "object", "properties": {"path": {"type": "string"}}, **schema})


def remote(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": name, "executor": {"kind": "mcp", "server": "files"}, **changes}


def document(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"model": MODEL, "limits": LIMITS, "tools": list(tools)}


@asynccontextmanager
async def world_of(settings: Settings, place: McpPlace) -> AsyncIterator[World]:
    servers = {
        "files": configured(place.url, "mcp", "files", timeout_seconds=5.0),
        "desk": configured("http://127.0.0.1:9/tools", "http", "desk"),
        "gone": configured("http://127.0.0.1:9/mcp", "mcp", "gone"),
    }
    async with running(replace(settings, tool_servers=servers)) as app, talking(app) as client:
        yield World(client)


async def faults(world: World, *tools: dict[str, Any]) -> list[tuple[str, str]]:
    found = (await world.call("PUT", "/agents/x", 422, json=document(*tools))).json()
    await world.call("GET", "/agents/x", 404)
    return [(one["pointer"], one["code"]) for one in found["errors"]]


@pytest.mark.req("T-23", "S0-15")
async def test_a_revision_keeps_what_its_server_said(settings):
    shelf = Shelf()
    async with mcp_server(shelf.define) as place, world_of(settings, place) as world:
        put = document(
            remote("read_file"),
            remote("keep", executor={"kind": "mcp", "server": "files", "tool": "write_file"}, description="Keeps a text."),
            remote("whole", description="Described here.", parameters={"type": "object"}),
            {"name": "mine"},
        )
        first = (await world.call("PUT", "/agents/a", 201, json=put)).json()
        assert first["document"] == put
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        assert first["resolved_tools"] == [
            {"name": "read_file", "description": "Reads a file.", "parameters": schema},
            {"name": "keep", "parameters": schema},
        ]
        assert place.calls == ["list"]
        assert (await world.call("PUT", "/agents/a", 200, json=put)).json() == first

        shelf.tools[0] = tool("read_file", "Reads a file, or a part of it.")
        second = (await world.call("PUT", "/agents/a", 201, json=put)).json()
        assert (second["revision"], second["document"], second["digest"] == first["digest"]) == (2, put, False)
        assert second["resolved_tools"][0]["description"] == "Reads a file, or a part of it."
        assert (await world.call("GET", "/agents/a/revisions/1", 200)).json() == first

        place.kill()
        session = await world.session("a", agent_revision=1)
        declared = (await world.input(session, dialect="openai-chat"))["body"]["tools"]
        assert [one["function"]["name"] for one in declared] == ["read_file", "keep", "whole", "mine"]
        assert [one["function"].get("description") for one in declared][:3] == ["Reads a file.", "Keeps a text.", "Described here."]
        assert [one["function"]["parameters"] for one in declared][:2] == [schema, schema]


async def test_a_document_that_describes_its_tools_asks_nobody(settings):
    async with mcp_server(Shelf().define) as place, world_of(settings, place) as world:
        whole = remote("whole", description="Described here.", parameters={"type": "object"}, executor={"kind": "mcp", "server": "gone"})
        desk = {"name": "look", "executor": {"kind": "http", "server": "desk", "tool": "look-up"}, "approval": "always"}
        found = (await world.call("PUT", "/agents/a", 201, json=document(whole, desk))).json()
        assert found["resolved_tools"] == []
        assert place.methods == []


@pytest.mark.req("T-23")
async def test_what_cannot_be_learned_is_refused_with_its_place(settings):
    shelf = Shelf()
    shelf.tools += [
        types.Tool(name="far", description="", inputSchema={"type": "object", "$ref": "https://elsewhere.example/schema"}),
        types.Tool(name="flat", description="", inputSchema={"type": "string"}),
        types.Tool(name="wrong", description="", inputSchema={"type": "object", "properties": 3}),
        tool("long", "x" * 20_000),
    ]
    async with mcp_server(shelf.define) as place, world_of(settings, place) as world:
        assert await faults(
            world,
            remote("read_file"),
            remote("nothing"),
            remote("other", executor={"kind": "mcp", "server": "files", "tool": "elsewhere"}),
            remote("t", executor={"kind": "mcp", "server": "gone"}),
            remote("far"),
            remote("flat"),
            remote("wrong"),
            remote("long"),
        ) == [
            ("/tools/1/name", "unknown-remote-tool"),
            ("/tools/2/executor/tool", "unknown-remote-tool"),
            ("/tools/3/executor/server", "tool-server-unreachable"),
            ("/tools/4/parameters", "bad-remote-schema"),
            ("/tools/5/parameters", "bad-remote-schema"),
            ("/tools/6/parameters", "bad-remote-schema"),
            ("/tools/7/description", "too-long"),
        ]
        assert place.calls == ["list"]
        own = {"description": "", "parameters": {"type": "object"}}
        await world.call("PUT", "/agents/y", 201, json=document(remote("far", **own), remote("nothing", **own)))


@pytest.mark.req("T-23")
async def test_a_remote_schema_nests_as_deep_as_one_in_a_document(settings):
    shelf = Shelf()
    shelf.tools = [tool(f"t{depth}", "", **{"not": nested(depth)}) for depth in (60, 61, 90, 180)]
    async with mcp_server(shelf.define) as place, world_of(settings, place) as world:
        for name in ("t61", "t90", "t180"):
            assert await faults(world, remote(name)) == [("/tools/0/parameters", "bad-remote-schema")]
        await world.call("PUT", "/agents/a", 201, json=document(remote("t60")))
        for depth, status in ((60, 201), (61, 422)):
            own = {"description": "", "parameters": {"type": "object", "not": nested(depth)}}
            await world.call("PUT", "/agents/b", status, json=document(remote("t", **own)))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_remote_schema_holds_no_number_that_json_has_not(number):
    listed = {"files": {"t": RemoteTool("t", "", {"type": "object", "maxProperties": 1, "maximum": number})}}
    with pytest.raises(Invalid) as caught:
        _resolve([(0, remote("t"))], listed)
    assert [fault.code for fault in caught.value.faults] == ["bad-remote-schema"]


def nested(depth: int) -> dict[str, Any]:
    """A schema of so many levels."""
    return {"not": nested(depth - 1)} if depth > 1 else {}


async def test_servers_and_agents_have_to_be_known(settings):
    async with mcp_server(Shelf().define) as place, world_of(settings, place) as world:
        assert await faults(
            world,
            {"name": "a", "executor": {"kind": "http", "server": "nowhere"}},
            {"name": "b", "executor": {"kind": "http", "server": "files"}},
            {"name": "c", "executor": {"kind": "agent", "agent": "nobody", "mode": "call"}},
            {"name": "d", "executor": {"kind": "agent", "agent": "x", "mode": "call"}},
        ) == [
            ("/tools/0/executor/server", "unknown-tool-server"),
            ("/tools/1/executor/server", "unknown-tool-server"),
            ("/tools/2/executor/agent", "unknown-agent"),
        ]
        await world.call("PUT", "/agents/nobody", 201, json=document())
        await world.call("PUT", "/agents/x", 201, json=document({"name": "c", "executor": {"kind": "agent", "agent": "nobody", "mode": "call"}}))
        refused = await world.call("PUT", "/agents/z", 422, json=document({"name": "c", "executor": {"kind": "http", "server": "https://a.example"}}))
        assert refused.json()["errors"][0]["pointer"] == "/tools/0/executor/server"


async def test_an_export_needs_no_server_where_it_is_imported(settings, tmp_path):
    shelf = Shelf()
    async with mcp_server(shelf.define) as place, world_of(settings, place) as world:
        first = (await world.call("PUT", "/agents/a", 201, json=document(remote("read_file")))).json()
        session = await world.session("a")
        await world.turn(session)
        data = (await world.call("GET", f"/sessions/{session}/export", 200, params={"format": "jsonl"})).content
        place.kill()
        report = (await world.call("POST", "/sessions/import", 201, params={"format": "jsonl"}, content=data)).json()
        other = report["sessions"][0]["id"]
        assert (await world.input(other))["digest"] == (await world.input(session))["digest"]
        assert (await world.call("GET", "/agents/a", 200)).json() == first
