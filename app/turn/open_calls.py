"""What becomes of the calls of an answer that have no result yet.

Refusals come first, then what the service runs itself, then agents that are called, one at a time; then the client and whoever approves, for
all that is left at once; a call that hands the turn over comes last, when everything beside it has its result.
"""

from app.config.agent_limits import AGENT_CALLS_NESTED_MAX, AGENT_CALLS_OPEN_MAX
from app.turn.admission import Rejection, acted_on, admit, denial, rejection
from app.turn.life import CallLife, Life, RunLife, ToolLife
from app.turn.moves import Await, Close, Closed, Move, Pending, Refuse, Start
from app.turn.policy import ToolPolicy


def close(tools: tuple[ToolLife, ...], why: Rejection) -> Close:
    """Closes these calls for one reason."""
    return Close(tuple(Closed(tool.call, tool.run) for tool in tools), why.code, why.detail)


def outcome_unknown(policy: ToolPolicy) -> Rejection:
    """Why a call has no result that was started where nobody saw its end, and whether the model may make it again."""
    return rejection("outcome-unknown-repeatable" if policy.repeatable else "outcome-unknown")


def next_of_open(run: RunLife, last: CallLife, life: Life) -> Move | None:
    """The move that the run's open calls ask for; None where none is open."""
    tools = tuple(tool for tool in life.open_tools if tool.run == run.index)
    if not tools:
        return None
    barred = None if last.answer is None else acted_on(last.answer)
    if barred is not None:
        return close(tools, barred)
    for tool in tools:
        refused = _refused(tool, tools, run, last, life)
        if refused is not None:
            return refused
    return _run(tools, run, life) or _await(life) or _hand_over(tools, run, life)


def _refused(tool: ToolLife, tools: tuple[ToolLife, ...], run: RunLife, last: CallLife, life: Life) -> Move | None:
    if tool.rejected is not None:
        return close((tool,), rejection(tool.rejected))
    refused = admit(tool.call.name, run.policy.tools, last.declared, last.allowed)
    mode = _mode(tool, life)
    if refused is None and mode == "transfer":
        first = next(one for one in tools if _mode(one, life) == "transfer")
        refused = None if tool is first or first.approval == "requested" else rejection("already-transferred")
    if refused is None and mode == "call" and run.depth >= AGENT_CALLS_NESTED_MAX:
        refused = rejection("nested-too-deep")
    if refused is not None:
        return Refuse(tool.call, refused.code, refused.detail, tool.run)
    return close((tool,), denial(tool.denied_because)) if tool.approval == "deny" else None


def _run(tools: tuple[ToolLife, ...], run: RunLife, life: Life) -> Move | None:
    """Plain tools together, else one agent. A tool that was started and has no result ran where nobody saw its end."""
    ready = [tool for tool in tools if tool.approval != "requested" and life.runs_here(tool)]
    plain = [tool for tool in ready if _mode(tool, life) is None]
    for tool in plain:
        policy = run.policy.tools[tool.call.name]
        if tool.starts and not (policy.repeatable and tool.starts < policy.starts_max):
            return close((tool,), outcome_unknown(policy))
    if plain:
        return Start(tuple(tool.call for tool in plain), run.index)
    called = next((tool for tool in ready if _mode(tool, life) == "call"), None)
    if called is not None and len(life.open_tools) > AGENT_CALLS_OPEN_MAX:
        why = rejection("too-many-open")
        return Refuse(called.call, why.code, why.detail, called.run)
    return None if called is None else Start((called.call,), run.index)


def _await(life: Life) -> Move | None:
    """Everything that waits for somebody, of the outer runs too: they were asked before they called an agent."""
    waiting = [tool for tool in life.open_tools if tool.approval == "requested" or not life.runs_here(tool)]
    pending = [Pending(tool.call, "approval" if tool.approval == "requested" else "result") for tool in waiting]
    return Await(tuple(pending)) if pending else None


def _hand_over(tools: tuple[ToolLife, ...], run: RunLife, life: Life) -> Move | None:
    return next((Start((tool.call,), run.index) for tool in tools if _mode(tool, life) == "transfer"), None)


def _mode(tool: ToolLife, life: Life) -> str | None:
    policy = life.policy_of(tool)
    return None if policy is None else policy.mode
