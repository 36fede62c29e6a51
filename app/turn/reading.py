"""Reading a turn's life from its own entries of all families."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import get_args

from app.entries.compactions import Checkpoint, CompactionFailed, CompactionRequested
from app.entries.messages import Answer, Entry, ToolResult, decode
from app.entries.parts import ToolCall
from app.entries.plans import CallReason
from app.entries.settings import PlanChanged
from app.entries.trace import (
    TRACE_BODIES,
    ApprovalDecided,
    ApprovalRequested,
    CutReason,
    Interruption,
    ModelCallFinished,
    ModelCallStarted,
    StopReason,
    StopRequested,
    ToolRejected,
    ToolStarted,
    TurnSettled,
    decode_trace,
)
from app.turn.life import CallLife, CompactionLife, Cut, Life, RunLife, ToolLife
from app.turn.policy import AgentPolicy, Policy

# A stop by somebody is a cancelled turn; the end of the process that ran it is an interrupted one.
_CUT_BY_STOP: Mapping[StopReason, CutReason] = MappingProxyType(
    {"cancel": "user", "stop": "user", "disconnect": "user", "interrupt": "superseded", "shutdown": "terminated"}
)


def read_life(
    entries: Iterable[Entry],
    policy: Policy,
    *,
    input_seq: int | None = None,
    cut: CutReason | None = None,
    adopted_seq: int = 0,
    compactable: bool = True,
) -> Life:
    """The life that a turn's own entries tell, in the order of `seq`.

    A turn that repeats another, or whose input was not stored, may have no message of its own: what it answers to is
    `input_seq`. `cut` is a reason to end that stands in no entry yet, such as a holder that was found gone. `adopted_seq` is the entry by
    which the session adopted an agent last, which is of no turn. `compactable`: whether anything may be left to summarise.
    """
    life = Life(policy, [RunLife(0, policy.agent, cause_seq=input_seq)], adopted_seq=adopted_seq, compactable=compactable)
    go_on(life, entries)
    if cut is not None and life.cut is None:
        life.cut = Cut(cut)
    return life


def go_on(life: Life, entries: Iterable[Entry]) -> None:
    """Takes in the entries that came behind those that the life was read from."""
    for entry in entries:
        if entry.payload is None:
            continue
        if entry.kind in ("assistant_message", "tool_result", "agent_message"):
            _add_message(life, entry, entry.payload)
        elif entry.kind in TRACE_BODIES:
            _add_trace(life, entry, entry.payload)
        elif entry.kind == PlanChanged.kind:
            change = PlanChanged.decode(entry.payload)
            call = _call(life, change.call_id)
            if call is not None:
                call.accepted.append(change.accepted)
                call.change_seq = entry.seq
        else:
            _add_compaction(life, entry, entry.payload)


def _add_compaction(life: Life, entry: Entry, payload: str) -> None:
    if entry.kind == CompactionRequested.kind:
        asked = CompactionRequested.decode(payload)
        life.compactions.append(CompactionLife(entry.seq, asked.trigger, asked.step_index, _run(life, entry).index, piece=asked.piece))
        return
    if entry.kind == Checkpoint.kind:
        ended, applied = Checkpoint.decode(payload).requested_seq, True
    elif entry.kind == CompactionFailed.kind:
        ended, applied = CompactionFailed.decode(payload).requested_seq, False
    else:
        return
    for one in life.compactions:
        if one.requested_seq == ended:
            one.applied = applied


def _add_message(life: Life, entry: Entry, payload: str) -> None:
    if entry.kind == "agent_message":
        run = life.runs[entry.invocation] if 0 < entry.invocation < len(life.runs) else None
        if run is not None and run.cause_seq is None:
            run.cause_seq = entry.seq
        return
    body = decode(entry.kind, payload)
    if isinstance(body, ToolResult):
        _add_result(life, body.tool_call_id, entry.seq)
        return
    call = _call(life, body.call_id) if isinstance(body, Answer) else None
    if call is None or not isinstance(body, Answer):
        return
    call.answer = body
    for part in body.parts:
        if isinstance(part, ToolCall) and part.tool_call_id not in life.tools:
            call.tools.append(life.tools.setdefault(part.tool_call_id, ToolLife(part, _run(life, entry).index)))


def _add_result(life: Life, tool_call_id: str, seq: int) -> None:
    tool = life.tools.get(tool_call_id)
    if tool is None or tool.result_seq is not None:
        return
    tool.result_seq = seq
    for run in life.runs:
        if run.tool_call_id == tool_call_id and run.cause_seq is None:
            run.cause_seq = seq


def _add_trace(life: Life, entry: Entry, payload: str) -> None:
    match decode_trace(entry.kind, payload):
        case ModelCallStarted() as started:
            main = started.purpose == "main"
            begun = CallLife(started.call_id, started.step_index, main, started.tools, started.allowed, started.exposure)
            begun.reason = next((known for known in get_args(CallReason) if known == started.reason), begun.reason)
            begun.receipt_seq, begun.pressed = started.receipt_seq, started.pressed
            _begin(life, entry, begun)
        case ModelCallFinished() as finished:
            call = _call(life, finished.call_id)
            if call is None:  # a refused preflight may have no start of its own
                call = CallLife(finished.call_id, life.steps)
                _begin(life, entry, call)
            call.status, call.error, call.controls = finished.status, finished.error, finished.controls
        case ToolStarted() as tool if tool.tool_call_id in life.tools:
            life.tools[tool.tool_call_id].starts += 1
            if tool.invocation is not None:
                _enter(life, entry, tool)
        case ToolRejected(tool_call_id, _, code) if tool_call_id in life.tools:
            life.tools[tool_call_id].rejected = code
        case ApprovalRequested(tool_call_id) if tool_call_id in life.tools:
            life.tools[tool_call_id].approval = "requested"
        case ApprovalDecided(tool_call_id, decision, reason) if tool_call_id in life.tools:
            life.tools[tool_call_id].approval, life.tools[tool_call_id].denied_because = decision, reason
        case StopRequested(reason):
            life.cut = life.cut or Cut(_CUT_BY_STOP[reason])
        case Interruption(why):
            life.cut = Cut(why if life.cut is None else life.cut.reason, recorded=True)
        case TurnSettled() as settled:
            life.settled = settled


def _begin(life: Life, entry: Entry, call: CallLife) -> None:
    life.calls.append(call)
    _run(life, entry).calls.append(call)


def _enter(life: Life, entry: Entry, started: ToolStarted) -> None:
    """Another agent's run begins. Runs are numbered in the order in which they begin."""
    agent = (started.agent or "", started.revision or 0)
    policy = life.policy.others.get(agent, AgentPolicy())
    life.runs.append(RunLife(len(life.runs), policy, agent, _run(life, entry), started.mode, started.tool_call_id))


def _run(life: Life, entry: Entry) -> RunLife:
    return life.runs[entry.invocation] if entry.invocation < len(life.runs) else life.runs[0]


def _call(life: Life, call_id: str | None) -> CallLife | None:
    return next((call for call in reversed(life.calls) if call.call_id == call_id), None)
