"""A turn's life so far: what `next_move` looks at."""

from dataclasses import dataclass, field
from typing import Literal

from app.entries.compactions import Trigger
from app.entries.messages import Answer
from app.entries.parts import ToolCall
from app.entries.plans import CallReason, Exposure
from app.entries.trace import AgentMode, CallStatus, CutReason, Decided, TurnError, TurnSettled
from app.turn.policy import AgentPolicy, Policy, ToolPolicy

SHUTDOWN = TurnError("shutdown", "The service was shut down while the turn ran; what it had received is kept.")
LEASE_LOST = TurnError("lease-lost", "The process that ran the turn was lost; what it had received is kept.")


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
    starts: int = 0
    rejected: str | None = None
    result_seq: int | None = None
    approval: Literal["requested"] | Decided | None = None
    denied_because: str | None = None


@dataclass(slots=True)
class CallLife:
    """One model call. `status` is None until it has finished; `tools` are the calls of its answer, in order.

    `declared`, `allowed` and `exposure` are what it was shown; `controls` those that its answer used, `accepted` whether each change of
    the plan among them was accepted, `change_seq` the entry of the last. `reason` and `receipt_seq` are what it was made for; `pressed`: it
    went out while compaction was due.
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
    reason: CallReason = "input_received"
    receipt_seq: int | None = None
    pressed: bool = False

    @property
    def overflowed(self) -> bool:
        """Whether the provider found it too large and nothing of an answer was kept."""
        return self.status == "failed" and self.error is not None and self.error.code == "upstream-overflow" and self.answer is None


@dataclass(slots=True)
class CompactionLife:
    """A summary that was asked for before the main call `step_index`, or after it where the provider found it too large.

    `applied` is None until it ended, then whether a checkpoint came of it. `piece`: it was to cover a part of what its attempt is to cover.
    """

    requested_seq: int
    trigger: Trigger
    step_index: int | None
    run: int = 0
    applied: bool | None = None
    piece: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether its attempt does: the next piece is to be summarised."""
        return self.piece and self.applied is True


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
    """Everything that `next_move` looks at. Read it with `read_life`; only `go_on` changes it afterwards.

    `adopted_seq` is the session's last adoption of an agent, as far as it is known. `compactable`: False once it is known that nothing
    can be summarised after a call that was too large.
    """

    policy: Policy
    runs: list[RunLife] = field(default_factory=list)
    calls: list[CallLife] = field(default_factory=list)
    tools: dict[str, ToolLife] = field(default_factory=dict)
    cut: Cut | None = None
    settled: TurnSettled | None = None
    adopted_seq: int = 0
    compactions: list[CompactionLife] = field(default_factory=list)
    compactable: bool = True

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
        """The agent that the turn was handed to last, outside of any call: the session adopts it, unless it adopted another one since."""
        found = next((run for run in reversed(self.runs) if run.mode == "transfer" and run.answers is None), None)
        return None if found is None or (found.cause_seq or 0) < self.adopted_seq else found.agent

    def policy_of(self, tool: ToolLife) -> ToolPolicy | None:
        """The tool that a call names, of the agent that made it."""
        return self.runs[tool.run].policy.tools.get(tool.call.name)

    def runs_here(self, tool: ToolLife) -> bool:
        """Whether the service runs the call itself, whatever comes before that; the client's are the others."""
        policy = self.policy_of(tool)
        return policy is not None and policy.executor != "client"

    def _entered(self, run: RunLife) -> RunLife | None:
        for inner in reversed(self.runs):
            if inner.parent is run and (inner.mode == "transfer" or self.tools[inner.tool_call_id or ""].result_seq is None):
                return inner
        return None
