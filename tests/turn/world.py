"""A turn that is run as the service runs it, in a world that crashes, stops, repeats itself and answers at random.

`World.live` drives `next_move` to the end. Everything between two appends may be lost in a crash; what was appended stays.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from app.entries.compactions import CompactionFailed, Trigger
from app.entries.messages import Answer, Body, Message, ToolResult, decode
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.entries.plans import PLAN_CONTROL, PROGRESS_CONTROL
from app.entries.settings import PlanChanged
from app.entries.trace import (
    ApprovalDecided,
    ApprovalRequested,
    CutReason,
    Decided,
    Interruption,
    ModelCallFinished,
    StopReason,
    StopRequested,
    ToolRejected,
    ToolStarted,
    TraceBody,
    TurnError,
    TurnSettled,
)
from app.turn.decide import next_move
from app.turn.life import Life
from app.turn.moves import Await, Call, Close, Compact, Done, GiveUp, Mend, Pending, Refuse, Return, Settle, Start
from app.turn.policy import Policy
from app.turn.pressure import next_attempt
from app.turn.reading import read_life
from tests.turn.lives import NURSE, PLANNING, POLICY, TOOLS, Folded, Ledger, answer, changed, checkpoint, finished, requested, result, started

CRASHES_MAX = 4
STOPS_MAX = 3
MOVES_MAX = 300
NAMES = ("ask", "look", "pay", "ask", "look", "look", "masked", "narrowed", "nobody", "sign", "consult", "consult", "hand_over")
STOPS: tuple[StopReason, ...] = ("cancel", "stop", "disconnect", "interrupt", "shutdown")


class Crash(Exception):
    """The process is gone."""


@dataclass
class World:
    """`choose(n)` gives a number from 0 to n - 1; a life is a function of its choices."""

    choose: Callable[[int], int]
    ledger: Ledger = field(default_factory=Ledger)
    provider_calls: int = 0
    summaries: int = 0
    tool_runs: Counter[str] = field(default_factory=Counter)
    handed_out: set[str] = field(default_factory=set)
    crashes: int = 0
    stops: int = 0
    moves: int = 0
    tools_made: int = 0
    approved: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    cut: CutReason | None = None
    policy: Policy = POLICY
    compactable: bool = True
    crash_one_in: int = 0
    stop_one_in: int = 0

    def __post_init__(self) -> None:
        """Some lives are calm, in some the process dies at every other step."""
        self.crash_one_in = (0, 5, 12, 40)[self.choose(4)]
        self.stop_one_in = (0, 0, 15, 40)[self.choose(4)]
        self.policy = (POLICY, PLANNING)[self.choose(2)]

    def chance(self, one_in: int) -> bool:
        return self.choose(one_in) == one_in - 1

    def append(self, *bodies: Body | TraceBody | PlanChanged | Folded, run: int = 0, then: Callable[[], None] | None = None) -> None:
        """One transaction; before and after it the process may die and somebody may ask for a stop."""
        self.disturb()
        self.ledger.append(*bodies, run=run)
        if then is not None:
            then()
        self.disturb()

    def disturb(self) -> None:
        if self.stop_one_in and self.stops < STOPS_MAX and self.chance(self.stop_one_in):
            self.stops += 1
            self.ledger.append(StopRequested(STOPS[self.choose(5)]))
        if self.crash_one_in and self.crashes < CRASHES_MAX and self.chance(self.crash_one_in):
            self.crashes += 1
            raise Crash

    def live(self) -> None:
        """Runs the turn to its end, over any number of processes."""
        while True:
            try:
                return self.run()
            except Crash:
                self.compactable = True  # the next process knows what was appended, and no more
                how = self.choose(6)  # some takeovers write down that the holder was lost, some only know it, most just go on
                if how == 0:
                    self.cut = "lease_lost"
                elif how == 1 and not isinstance(self.next(), Done):
                    self.ledger.append(Interruption("lease_lost"))

    def next(self):
        return next_move(self.life())

    def life(self) -> Life:
        return read_life(self.ledger.entries, self.policy, input_seq=1, cut=self.cut, compactable=self.compactable)

    def run(self) -> None:
        while True:
            self.moves += 1
            assert self.moves <= MOVES_MAX, "the turn does not end"
            move = self.next()
            if isinstance(move, Done):
                return
            self.do(move)

    def do(self, move) -> None:
        match move:
            case Call():
                self.call(move)
            case Mend(call_id, status, error):
                number = int(call_id.removeprefix("mcl_"))
                said = [self.partial(number, status)] if self.chance(2) else []
                self.append(*said, ModelCallFinished(call_id, status, error=error), run=self.run_of(number))
            case GiveUp(requested_seq, run):
                self.append(CompactionFailed(requested_seq, "failed", "interrupted"), run=run)
            case Compact(step_index, run):
                if self.chance(4):
                    self.compactable = False
                else:
                    self.compact(step_index, run, overflow=True)
            case Start(calls, run):
                self.run_tools(calls, run)
            case Refuse(call, code, _, run):
                self.append(ToolRejected(call.tool_call_id, call.name, code), result(call.tool_call_id), run=run)
            case Return(call, _, _, run):
                self.append(result(call.tool_call_id), run=run)
            case Close(closed):
                assert closed
                for one in closed:
                    self.ledger.append(result(one.tool_call.tool_call_id), run=one.run)
            case Await(pending):
                assert pending
                self.client(pending)
            case Settle(status, error, cut):
                self.append(*([] if cut is None else [Interruption(cut)]), TurnSettled(status, error))

    def run_of(self, number: int) -> int:
        return next(e.invocation for e in self.ledger.entries if e.kind == "model_call_started" and f'"mcl_{number}"' in (e.payload or ""))

    def run_tools(self, calls: tuple[ToolCall, ...], run: int) -> None:
        mode = TOOLS[calls[0].name].mode
        if mode is None:
            self.append(*[ToolStarted(call.tool_call_id, call.name) for call in calls], run=run)
            for call in calls:
                self.tool_runs[call.tool_call_id] += 1
                self.append(result(call.tool_call_id), run=run)
            return
        (call,) = calls
        inner = len(self.life().runs)
        begun = ToolStarted(call.tool_call_id, call.name, *NURSE, mode, inner)
        if mode == "call":
            asked = Message((Text(call.arguments),))
            self.append(begun, run=run, then=lambda: self.ledger.append(asked, kind="agent_message", run=inner))
        else:
            self.append(begun, result(call.tool_call_id), run=run)

    def compact(self, number: int, run: int, attempt: int = 1, *, overflow: bool = False) -> None:
        """Asks for a summary, and gets one or none."""
        trigger: Trigger = "overflow" if overflow else "automatic"
        self.append(requested(number, trigger, attempt, piece=self.chance(3)), run=run)
        seq = max(entry.seq for entry in self.ledger.entries if entry.kind == "compaction_requested")
        self.summaries += 1
        self.disturb()
        found = checkpoint(seq, trigger) if self.chance(2) else CompactionFailed(seq, "failed", "blank")
        self.append(found, run=run)

    def call(self, move: Call) -> None:
        number, run = move.step_index, move.run
        presses = self.chance(4)
        while presses and (attempt := next_attempt(self.life(), move, fits=self.chance(2))) is not None:
            self.compact(number, run, attempt)
            if self.life().cut is not None:
                return
            presses = self.chance(2)
        self.append(replace(started(number, move.exposure), pressed=presses, reason=move.reason), run=run)
        self.provider_calls += 1
        self.disturb()
        cut = self.life().cut
        if cut is not None:  # the reader sees the stop and gives up what it had read
            said = [self.partial(number, cut.status)] if self.chance(2) else []
            self.append(*said, finished(number, cut.status, None, cut.error), run=run)
            return
        kind = self.choose(17)
        if kind == 0:
            self.append(finished(number, "failed", None, TurnError("upstream-error", "503", 503)), run=run)
        elif kind == 1:
            self.append(self.partial(number, "failed"), finished(number, "failed", None, TurnError("stream-truncated", "cut")), run=run)
        elif kind == 2:
            self.append(finished(number, "refused", None, TurnError("context-over-budget", "too large")), run=run)
        elif kind == 3:
            self.append(answer(number, *self.parts(0)), finished(number), run=run)
        elif kind == 16:
            said = [self.partial(number, "failed")] if self.chance(4) else []
            self.append(*said, finished(number, "failed", None, TurnError("upstream-overflow", "too long", 400)), run=run)
        elif kind in (4, 5, 6) and self.policy is PLANNING:
            self.controls(number, run)
        else:
            parts = self.parts(3)
            stop = ("finished", "tool_calls", "tool_calls", "tool_calls", "tool_calls", "tool_calls", "length", "refused")[self.choose(8)]
            self.append(answer(number, *parts, stop_reason=stop), finished(number, stop_reason=stop), *asked_for(parts), run=run)

    def controls(self, number: int, run: int) -> None:
        """An answer of controls, with or without more beside them."""
        plans = self.choose(3)
        used = (PLAN_CONTROL,) * plans + (PROGRESS_CONTROL,) * self.choose(2)
        beside = self.parts(1) if self.chance(3) else []
        said = [answer(number, *beside)] if beside else []
        changes = [changed(number, self.chance(2)) for _ in range(plans)]
        self.append(*said, finished(number, controls=used), *changes, *asked_for(beside), run=run)

    def parts(self, calls_max: int) -> list[Part]:
        said: list[Part] = [Reasoning("hm")] if self.chance(3) else []
        said += [Text("so")] if self.chance(2) else []
        for _ in range(min(calls_max, self.choose(6))):
            self.tools_made += 1
            said.append(ToolCall(f"t{self.tools_made}", NAMES[self.choose(len(NAMES))], "{}"))
        return said

    def partial(self, number: int, status: str) -> Answer:
        return answer(number, *self.parts(2), status=status, stop_reason=None)

    def client(self, pending: tuple[Pending, ...]) -> None:
        """Decides on some, posts some results, or repeats old ones, or lets the turn wait; the service drops what has a result already."""
        for one in pending:
            if one.needs == "approval" and (not self.chance(3) or self.moves > MOVES_MAX // 2):
                decision: Decided = "deny" if self.chance(3) else "approve"
                decided = self.denied if decision == "deny" else self.approved
                self.append(ApprovalDecided(one.tool_call_id, decision), then=partial(decided.add, one.tool_call_id))
        asked = [one.tool_call_id for one in pending if one.needs == "result"]
        self.handed_out.update(asked)
        posted = [one for one in asked if not self.chance(3) or self.moves > MOVES_MAX // 2]
        posted += [one for one in sorted(self.handed_out) if self.chance(4)]
        known = {body.tool_call_id for body in self.results()}
        fresh = [one for one in dict.fromkeys(posted) if one not in known]
        if fresh:
            self.append(*[result(one) for one in fresh])

    def results(self) -> list[ToolResult]:
        bodies = [decode(e.kind, e.payload or "") for e in self.ledger.entries if e.kind == "tool_result"]
        return [body for body in bodies if isinstance(body, ToolResult)]

    def answers(self) -> list[Answer]:
        bodies = [decode(e.kind, e.payload or "") for e in self.ledger.entries if e.kind == "assistant_message"]
        return [body for body in bodies if isinstance(body, Answer)]


def asked_for(parts: list[Part]) -> list[ApprovalRequested]:
    """What the service asks of a person as soon as an answer is there."""
    return [ApprovalRequested(part.tool_call_id, part.name) for part in parts if isinstance(part, ToolCall) and part.name == "sign"]
