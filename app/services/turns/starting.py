"""What the service runs itself: tools of servers and skills, all of an answer at once; and agents, whose run begins instead."""

import asyncio
import contextlib
from collections.abc import Sequence

from app.config.agent_limits import TOOL_RUNS_AT_ONCE_MAX
from app.config.limits import MOVES_PER_TURN_MAX
from app.context.sources import AgentRevision, Tool
from app.entries import lossless
from app.entries.errors import HeadMismatch, NotFound
from app.entries.messages import Message, ToolResult
from app.entries.parts import Text, ToolCall
from app.entries.trace import ToolStarted
from app.services.consequences import error_result, of_run
from app.services.revisions import Revisions
from app.services.running import Running, patiently
from app.services.tools import ToolRuns
from app.services.turns.skills import loaded_skill
from app.services.write import Draft
from app.turn.life import RunLife
from app.turn.moves import Start


class Starting:
    """Does `Start` moves."""

    def __init__(self, tools: ToolRuns, revisions: Revisions) -> None:
        self._tools = tools
        self._revisions = revisions

    async def start(self, running: Running, move: Start) -> list[Draft] | None:
        """Runs the tools of the move, or begins the run of the agent that it names.

        What it returns is appended by the loop together with all that follows from it; empty where that is done. None: something was
        appended beside the claim before anything began, maybe a request to stop.
        """
        life = running.life
        run = life.runs[move.run]
        agent = running.agent_of(run)
        tools = {tool.name: tool for tool in agent.tools}
        first = move.tool_calls[0]
        if tools[first.name].executor["kind"] == "agent":
            return await self._enter(running, run, tools[first.name], first, len(life.runs))
        started = [_started(running, run, ToolStarted(call.tool_call_id, call.name)) for call in move.tool_calls]
        try:
            await running.commit(started)
        except HeadMismatch:
            return None
        await self._run_all(running, run, [(tools[call.name], call) for call in move.tool_calls], agent)
        return []

    async def _run_all(self, running: Running, run: RunLife, wanted: Sequence[tuple[Tool, ToolCall]], agent: AgentRevision) -> None:
        """Runs them at once and appends each result as it comes, so that a crash loses only what was not back yet.

        A stop ends what runs; what came back before that is appended all the same.
        """
        room = asyncio.Semaphore(TOOL_RUNS_AT_ONCE_MAX)

        async def one(tool: Tool, call: ToolCall) -> Draft:
            if tool.executor["kind"] == "skill":
                return loaded_skill(agent, call, running.number)
            async with room:
                return await self._tools.run(running, tool, call)

        left = {asyncio.create_task(one(tool, call)) for tool, call in wanted}
        stopping = asyncio.create_task(running.stop.wait())
        try:
            while left and not stopping.done():
                done, _ = await asyncio.wait({*left, stopping}, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in left if task in done]:
                    left.discard(task)
                    await _append(running, of_run(task.result(), run))
        finally:
            for rest in (*left, stopping):
                rest.cancel()
            await asyncio.wait({*left, stopping})
        for task in [task for task in left if not task.cancelled()]:
            await _append(running, of_run(task.result(), run))

    async def _enter(self, running: Running, run: RunLife, tool: Tool, call: ToolCall, index: int) -> list[Draft]:
        """The newest revision of the agent takes part from here: with the call's arguments as its input, or with the turn as it stands."""
        name, mode = tool.executor["agent"], tool.executor["mode"]
        try:
            other = await patiently(lambda: self._revisions.latest(running.facts.key.tenant, name))
        except NotFound:
            return [of_run(error_result(call, "The agent that this tool names does not exist any more.", running.number), run)]
        running.admit(other)
        begun = ToolStarted(call.tool_call_id, call.name, other.name, other.revision, mode, index)
        drafts = [_started(running, run, begun)]
        if mode == "call":
            asked = Message((Text(_input_of(call.arguments)),))
            return [*drafts, Draft("agent_message", asked, running.number, hidden=True, agent=other.name, invocation=index)]
        handed = ToolResult(call.tool_call_id, (Text(f"The conversation was handed to {other.name}."),), call.name)
        return [*drafts, of_run(Draft("tool_result", handed, running.number), run)]


def _started(running: Running, run: RunLife, body: ToolStarted) -> Draft:
    return of_run(Draft(body.kind, body.encode(), running.number), run)


async def _append(running: Running, draft: Draft) -> None:
    """Appends a result; what was appended beside the claim meanwhile changes nothing about it."""
    for _ in range(MOVES_PER_TURN_MAX):
        with contextlib.suppress(HeadMismatch):
            await running.commit([draft])
            return
    raise RuntimeError("the head of a session moved on without end")


def _input_of(arguments: str) -> str:
    """What a called agent is told: the one text that the arguments hold, else the arguments as the model wrote them."""
    try:
        asked = lossless.loads(arguments)
    except lossless.InvalidJson:
        return arguments
    only = list(asked.values()) if isinstance(asked, dict) else []
    return only[0] if len(only) == 1 and isinstance(only[0], str) and only[0].strip() else arguments
