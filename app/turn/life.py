"""A turn's life so far, read from its own entries of all families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from app.entries.messages import Answer, Entry, ToolResult, decode
from app.entries.parts import ToolCall
from app.entries.trace import (
    TRACE_BODIES,
    CallStatus,
    CutReason,
    Interruption,
    ModelCallFinished,
    ModelCallStarted,
    StopReason,
    StopRequested,
    ToolRejected,
    ToolStarted,
    TurnError,
    TurnSettled,
    decode_trace,
)
from app.turn.policy import Policy

SHUTDOWN = TurnError("shutdown", "The service was shut down while the turn ran; what it had received is kept.")
LEASE_LOST = TurnError("lease-lost", "The process that ran the turn was lost; what it had received is kept.")

# A stop by somebody is a cancelled turn; the end of the process that ran it is an interrupted one.
_CUT_BY_STOP: Mapping[StopReason, CutReason] = MappingProxyType(
    {"cancel": "user", "stop": "user", "disconnect": "user", "interrupt": "superseded", "shutdown": "terminated"}
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Why a turn ends early. `recorded`: an `interruption` entry of the turn says so already."""

    reason: CutReason
    recorded: bool = False

    @property
    def status(self) -> Literal["cancelled", "interrupted"]:
        return "cancelled" if self.reason in ("user", "superseded") else "interrupted"

    @property
    def error(self) -> TurnError | None:
        return {"terminated": SHUTDOWN, "lease_lost": LEASE_LOST}.get(self.reason)


@dataclass(slots=True)
class ToolLife:
    """One call of an answer: how often it was started here, why it was rejected, and where its result lies."""

    call: ToolCall
    runs: int = 0
    rejected: str | None = None
    result_seq: int | None = None


@dataclass(slots=True)
class CallLife:
    """One model call. `status` is None until it has finished; `tools` are the calls of its answer, in order."""

    call_id: str
    step_index: int
    main: bool = True
    status: CallStatus | None = None
    error: TurnError | None = None
    answer: Answer | None = None
    tools: list[ToolLife] = field(default_factory=list)


@dataclass(slots=True)
class Life:
    """Everything that `next_move` looks at. Read it with `read_life`; nothing changes it afterwards.

    `input_seq` is the entry that caused the first call: the turn's own input, or that of the turn it repeats.
    """

    policy: Policy
    input_seq: int | None = None
    calls: list[CallLife] = field(default_factory=list)
    tools: dict[str, ToolLife] = field(default_factory=dict)
    cut: Cut | None = None
    settled: TurnSettled | None = None

    @property
    def steps(self) -> int:
        """How many main calls the turn has made, refused ones included."""
        return sum(call.main for call in self.calls)

    @property
    def last_main(self) -> CallLife | None:
        return next((call for call in reversed(self.calls) if call.main), None)

    @property
    def open_tools(self) -> tuple[ToolLife, ...]:
        """The calls without a result, in the order in which they were made."""
        return tuple(tool for tool in self.tools.values() if tool.result_seq is None)


def read_life(entries: Sequence[Entry], policy: Policy, *, input_seq: int | None = None, cut: CutReason | None = None) -> Life:
    """The life that a turn's own entries tell, in the order of `seq`.

    A turn that repeats another, or whose input was not stored, may have no message of its own: what it answers to is
    `input_seq`. `cut` is a reason to end that stands in no entry yet, such as a holder that was found gone.
    """
    life = Life(policy, input_seq)
    for entry in entries:
        if entry.payload is None:
            continue
        if entry.kind == "assistant_message" or entry.kind == "tool_result":
            _add_message(life, entry, entry.payload)
        elif entry.kind in TRACE_BODIES:
            _add_trace(life, entry.kind, entry.payload)
    if cut is not None and life.cut is None:
        life.cut = Cut(cut)
    return life


def _add_message(life: Life, entry: Entry, payload: str) -> None:
    body = decode(entry.kind, payload)
    if isinstance(body, ToolResult):
        tool = life.tools.get(body.tool_call_id)
        if tool is not None and tool.result_seq is None:
            tool.result_seq = entry.seq
        return
    if not isinstance(body, Answer):
        return
    call = _call(life, body.call_id)
    if call is None:
        return
    call.answer = body
    for part in body.parts:
        if isinstance(part, ToolCall) and part.tool_call_id not in life.tools:
            call.tools.append(life.tools.setdefault(part.tool_call_id, ToolLife(part)))


def _add_trace(life: Life, kind: str, payload: str) -> None:
    match decode_trace(kind, payload):
        case ModelCallStarted() as started:
            life.calls.append(CallLife(started.call_id, started.step_index, started.purpose == "main"))
        case ModelCallFinished() as finished:
            call = _call(life, finished.call_id)
            if call is None:  # a refused preflight may have no start of its own
                call = CallLife(finished.call_id, life.steps)
                life.calls.append(call)
            call.status, call.error = finished.status, finished.error
        case ToolStarted(tool_call_id):
            if tool_call_id in life.tools:
                life.tools[tool_call_id].runs += 1
        case ToolRejected(tool_call_id, _, code):
            if tool_call_id in life.tools:
                life.tools[tool_call_id].rejected = code
        case StopRequested(reason):
            life.cut = life.cut or Cut(_CUT_BY_STOP[reason])
        case Interruption(why):
            life.cut = Cut(why if life.cut is None else life.cut.reason, recorded=True)
        case TurnSettled() as settled:
            life.settled = settled


def _call(life: Life, call_id: str | None) -> CallLife | None:
    return next((call for call in reversed(life.calls) if call.call_id == call_id), None)
