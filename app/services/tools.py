"""One run of a tool that a server of the operator's has: arguments checked, the call made, and a `tool_result` of whatever came of it.

The loop decides that a tool may run and writes `tool_started` before; what is here never decides, never writes, and never fails a turn.
"""

import asyncio
import hashlib

from app.context.schemas import pattern_properties
from app.context.sources import Tool
from app.entries import lossless
from app.entries.ids import TURN, format_id
from app.entries.messages import ToolResult
from app.entries.parts import Text, ToolCall
from app.outbound.tool_servers.results import ToolOutcome, ToolRequest
from app.outbound.tool_servers.servers import ToolServers
from app.services.bounded_schemas import checker_of
from app.services.running import Running
from app.services.schema_faults import schema_faults
from app.services.write import Draft

_FAULTS_SHOWN_MAX = 20
_FAULTS_CHARS_MAX = 4_000
_RULES = {"wrong-form": "This does not match the pattern that is asked for."}
"""Where what is said to the API's clients would lead a model to a document that it does not have."""


class ToolRuns:
    """Runs tools of the kinds `http` and `mcp`."""

    def __init__(self, servers: ToolServers) -> None:
        self._servers = servers

    async def run(self, running: Running, tool: Tool, call: ToolCall) -> Draft:
        """The `tool_result` of one call, its media included. `call` has its arguments inline.

        Whoever ends the run cancels it: the request is dropped.
        """
        found = await asyncio.to_thread(_argument_faults, tool, call.arguments)
        if found is not None:
            return _draft(running, call, found)
        request = ToolRequest(
            tool=tool.executor.get("tool", tool.name),
            arguments=call.arguments if call.arguments.strip() else "{}",
            tool_call_id=call.tool_call_id,
            session_id=running.facts.session_id,
            turn_id=format_id(TURN, running.facts.turn_id),
            request_id=request_id(running.facts.session_id, call.tool_call_id),
        )
        return _draft(running, call, await self._servers.call(tool.executor["server"], request))


def request_id(session_id: str, tool_call_id: str) -> str:
    """What a server knows a call by: the same each time it is made, and no other's. A provider's own id is new in its session only."""
    return "msg_" + hashlib.sha256(f"{session_id}\0{tool_call_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _argument_faults(tool: Tool, text: str) -> ToolOutcome | None:
    """The error result of arguments that the tool's schema does not take: pointers and rules, never values. None where they pass."""
    try:
        arguments = lossless.loads(text) if text.strip() else {}
    except lossless.InvalidJson as error:
        return _invalid([f"they are no JSON ({error.code})"])
    if not isinstance(arguments, dict):
        return _invalid(["they have to be a JSON object"])
    # The checker cannot be stopped in patterns of names; the server judges such arguments.
    if pattern_properties(tool.parameters, ""):
        return None
    try:
        faults = schema_faults(checker_of(tool.parameters), arguments)
    except Exception:  # a checker that breaks on arguments says nothing of them: the server judges
        return None
    return _invalid([f"{fault.pointer or '(the whole)'}: {_RULES.get(fault.code, fault.detail)}" for fault in faults]) if faults else None


def _invalid(why: list[str]) -> ToolOutcome:
    more = [f"and {len(why) - _FAULTS_SHOWN_MAX} more"] if len(why) > _FAULTS_SHOWN_MAX else []
    lines = "\n".join(f"- {one}" for one in [*why[:_FAULTS_SHOWN_MAX], *more])[:_FAULTS_CHARS_MAX]
    return ToolOutcome((Text(f"Not executed: the arguments do not fit the tool's parameters.\n{lines}"),), True, "invalid-arguments")


def _draft(running: Running, call: ToolCall, outcome: ToolOutcome) -> Draft:
    result = ToolResult(call.tool_call_id, outcome.parts, call.name, outcome.is_error)
    return Draft("tool_result", result, running.number, media=outcome.media)
