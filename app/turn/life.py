"""A turn's life so far, read from its own entries of all families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from app.entries.messages import Answer, Entry, ToolResult, decode
from app.entries.parts import ToolCall
from app.entries.plans import Exposure
from app.entries.settings import PlanChanged
from app.entries.trace import (
    TRACE_BODIES,
    AgentMode,
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    CutReason,
    Decided,
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
from app.turn.policy import AgentPolicy, Policy, ToolPolicy

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
    """One call of an answer, of the run `run`: how often it was started here, why it was rejected, and where its result lies.

    `approval` is None for a call that needs none.
    """

    call: ToolCall
    run: int = 0
    runs: int = 0
    rejected: str | None = None
    result_seq: int | None = None
    approval: Literal["requested"] | Decided | None = None
    denied_because: str | None = None


@dataclass(slots=True)
class CallLife:
    """One model call. `status` is None until it has finished; `tools` are the calls of its answer, in order.

    `declared`, `allowed` and `exposure` are what it was shown; `controls` those that its answer used, `accepted` whether each change of
    the plan among them was accepted, `change_seq` the entry of the last.
    """

    call_id: str
    step_index: int
    main: bool = True
    declared: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None
    exposure: Exposure = "ordinary"
    status: CallStatus | None = None
    error: TurnError | None = None
    answer: Answer | None = None
    tools: list[ToolLife] = field(default_factory=list)
    controls: tuple[str, ...] = ()
    accepted: list[bool] = field(default_factory=list)
    change_seq: int | None = None


@dataclass(slots=True, eq=False)
class RunLife:
    """One agent's run in the turn, an invocation. `index` 0 is the one that the turn began with.

    `parent` asked for it by the call `tool_call_id`, in that `mode`. `cause_seq` is the entry that its first call answers to: an input, the
    arguments that it was called with, or the result that says that the turn was handed to it.
    """

    index: int
    policy: AgentPolicy
    agent: tuple[str, int] | None = None
    parent: "RunLife | None" = None
    mode: AgentMode | None = None
    tool_call_id: str | None = None
    cause_seq: int | None = None
    calls: list[CallLife] = field(default_factory=list)

    @property
    def last(self) -> CallLife | None:
        """Its last main call."""
        return next((call for call in reversed(self.calls) if call.main), None)

    @property
    def lineage(self) -> tuple["RunLife", ...]:
        """The runs that led to it, outermost first, without itself."""
        return () if self.parent is None else (*self.parent.lineage, self.parent)

    @property
    def answers(self) -> str | None:
        """The call that its last answer will be the result of: the innermost one by which it, or what handed over to it, was called."""
        if self.mode == "call":
            return self.tool_call_id
        return None if self.parent is None else self.parent.answers

    @property
    def depth(self) -> int:
        """How many calls of agents it lies inside."""
        return (self.mode == "call") + (0 if self.parent is None else self.parent.depth)


@dataclass(slots=True)
class Life:
    """Everything that `next_move` looks at. Read it with `read_life`; nothing changes it afterwards."""

    policy: Policy
    runs: list[RunLife] = field(default_factory=list)
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

    @property
    def current(self) -> RunLife:
        """The run that goes on: what the first one was handed to or called, and so on inwards."""
        run = self.runs[0]
        while (inner := self._entered(run)) is not None:
            run = inner
        return run

    @property
    def handed_to(self) -> tuple[str, int] | None:
        """The agent that the turn was handed to last, outside of any call: the session adopts it."""
        found = next((run for run in reversed(self.runs) if run.mode == "transfer" and run.answers is None), None)
        return None if found is None else found.agent

    def policy_of(self, tool: ToolLife) -> ToolPolicy | None:
        """The tool that a call names, of the agent that made it."""
        return self.runs[tool.run].policy.tools.get(tool.call.name)

    def _entered(self, run: RunLife) -> RunLife | None:
        for inner in reversed(self.runs):
            if inner.parent is run and (inner.mode == "transfer" or self.tools[inner.tool_call_id or ""].result_seq is None):
                return inner
        return None


def read_life(entries: Sequence[Entry], policy: Policy, *, input_seq: int | None = None, cut: CutReason | None = None) -> Life:
    """The life that a turn's own entries tell, in the order of `seq`.

    A turn that repeats another, or whose input was not stored, may have no message of its own: what it answers to is
    `input_seq`. `cut` is a reason to end that stands in no entry yet, such as a holder that was found gone.
    """
    life = Life(policy, [RunLife(0, policy.agent, cause_seq=input_seq)])
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
    if cut is not None and life.cut is None:
        life.cut = Cut(cut)
    return life


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
            _begin(life, entry, CallLife(started.call_id, started.step_index, main, started.tools, started.allowed, started.exposure))
        case ModelCallFinished() as finished:
            call = _call(life, finished.call_id)
            if call is None:  # a refused preflight may have no start of its own
                call = CallLife(finished.call_id, life.steps)
                _begin(life, entry, call)
            call.status, call.error, call.controls = finished.status, finished.error, finished.controls
        case ToolStarted() as run if run.tool_call_id in life.tools:
            life.tools[run.tool_call_id].runs += 1
            if run.invocation is not None:
                _enter(life, entry, run)
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
