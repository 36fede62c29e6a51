"""What a document leaves to others: the tool servers that it names, and what they say of tools that it does not describe.

A server is asked when an agent is put, and never again for that revision: a compile needs no network, and a server that changes its mind
changes nothing that was put before.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.config.agent_limits import TOOL_SERVERS_ASKED_MAX
from app.config.limits import JSON_DEPTH_MAX
from app.context.agents.defaults import DESCRIPTION_CHARS_MAX
from app.context.schemas import check_schema
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.outbound.tool_servers.results import RemoteTool, ToolFault
from app.outbound.tool_servers.servers import ToolServers

_ASKED = ("description", "parameters")
_DEPTH_MAX = JSON_DEPTH_MAX - 3
"""Nesting of a schema that a server gives: what a document could hold at the same place."""

Resolved = list[dict[str, Any]]


def unknown_servers(servers: ToolServers, tools: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """A fault for each tool of a checked document whose server is not configured, or is of another kind."""
    for position, tool in enumerate(tools):
        executor = tool.get("executor", {})
        if executor.get("kind") not in ("http", "mcp"):
            continue
        kind = servers.kind_of(executor["server"])
        if kind != executor["kind"]:
            what = "No tool server of this name is configured" if kind is None else f"The tool server of this name is of the kind {kind}"
            yield Fault(f"/tools/{position}/executor/server", "unknown-tool-server", f"{what}; the operator's configuration has the servers.")


async def resolved_tools(servers: ToolServers, tools: Sequence[Mapping[str, Any]]) -> Resolved:
    """`{name, description?, parameters?}` of each MCP tool that leaves one of them out, as its server says it, in the order of the document.

    Raises `Invalid` with a fault for each tool of which nothing can be learned, or nothing that can be declared to a model.
    """
    asked = [(position, tool) for position, tool in enumerate(tools) if _is_asked(tool)]
    names = list(dict.fromkeys(tool["executor"]["server"] for _, tool in asked))
    if len(names) > TOOL_SERVERS_ASKED_MAX:
        raise Invalid(
            [Fault("/tools", "too-many", f"At most {TOOL_SERVERS_ASKED_MAX} servers are asked; describe the tools of the others yourself.")]
        )
    lists = dict(zip(names, await asyncio.gather(*(_listed(servers, name) for name in names)), strict=True))
    return await asyncio.to_thread(_resolve, asked, lists)


def _is_asked(tool: Mapping[str, Any]) -> bool:
    return tool.get("executor", {}).get("kind") == "mcp" and not all(key in tool for key in _ASKED)


async def _listed(servers: ToolServers, name: str) -> Mapping[str, RemoteTool] | ToolFault:
    try:
        return await servers.list_tools(name)
    except ToolFault as fault:
        return fault


def _resolve(asked: Sequence[tuple[int, Mapping[str, Any]]], lists: Mapping[str, Mapping[str, RemoteTool] | ToolFault]) -> Resolved:
    faults: list[Fault] = []
    found: Resolved = []
    for position, tool in asked:
        pointer, executor = f"/tools/{position}", tool["executor"]
        listed = lists[executor["server"]]
        if isinstance(listed, ToolFault):
            detail = f"The tool server could not be asked ({listed.code}); try again, or give `description` and `parameters` yourself."
            faults.append(Fault(f"{pointer}/executor/server", "tool-server-unreachable", detail))
            continue
        remote = listed.get(executor.get("tool", tool["name"]))
        if remote is None:
            place = "executor/tool" if "tool" in executor else "name"
            faults.append(Fault(f"{pointer}/{place}", "unknown-remote-tool", "The tool server lists no tool of this name."))
            continue
        faults += _remote_faults(remote, tool, pointer)
        said = {"description": remote.description, "parameters": dict(remote.parameters)}
        found.append({"name": tool["name"], **{key: value for key, value in said.items() if key not in tool}})
    if faults:
        raise Invalid(faults)
    return found


def _remote_faults(remote: RemoteTool, tool: Mapping[str, Any], pointer: str) -> Iterator[Fault]:
    if "description" not in tool and len(remote.description) > DESCRIPTION_CHARS_MAX:
        detail = f"The server's description is longer than {DESCRIPTION_CHARS_MAX} characters; give one yourself."
        yield Fault(f"{pointer}/description", "too-long", detail)
    if "parameters" not in tool:
        why = _schema_fault(remote.parameters)
        if why is not None:
            yield Fault(f"{pointer}/parameters", "bad-remote-schema", f"The server's schema is not taken; give `parameters` yourself. {why}")


def _schema_fault(schema: Mapping[str, Any]) -> str | None:
    """Why a server's schema cannot be a tool's parameters, judged as it will be stored; None where it can."""
    try:
        stored = lossless.loads(lossless.dumps(schema), _DEPTH_MAX)
    except lossless.InvalidJson as error:
        return error.detail
    except (ValueError, RecursionError):  # of what JSON has no spelling for
        return "It is no JSON document."
    broken = check_schema(stored, "")
    if broken:
        return broken[0].detail
    return None if stored.get("type") == "object" else "The parameters of a tool are an object."
