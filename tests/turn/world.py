"""A turn that is run as the service runs it, in a world that crashes, stops, repeats itself and answers at random.

`World.live` drives `next_move` to the end. Everything between two appends may be lost in a crash; what was appended stays.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from app.entries.messages import Answer, Body, ToolResult, decode
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.entries.trace import (
    CutReason,
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
from app.turn.moves import Await, Call, Close, Done, Mend, Refuse, Run, Settle, next_move, read_life
from tests.turn.lives import POLICY, Ledger, answer, finished, result, started

CRASHES_MAX = 4
STOPS_MAX = 3
MOVES_MAX = 200
NAMES = ("ask", "look", "pay", "ask", "look", "look", "masked", "narrowed", "nobody")
STOPS: tuple[StopReason, ...] = ("cancel", "stop", "disconnect", "interrupt", "shutdown")


class Crash(Exception):
    """The process is gone."""


@dataclass
class World:
    """`choose(n)` gives a number from 0 to n - 1; a life is a function of its choices."""

    choose: Callable[[int], int]
    ledger: Ledger = field(default_factory=Ledger)
    provider_calls: int = 0
    tool_runs: Counter[str] = field(default_factory=Counter)
    handed_out: set[str] = field(default_factory=set)
    crashes: int = 0
    stops: int = 0
    moves: int = 0
    tools_made: int = 0
    cut: CutReason | None = None
    crash_one_in: int = 0
    stop_one_in: int = 0

    def __post_init__(self) -> None:
        """Some lives are calm, in some the process dies at every other step."""
        self.crash_one_in = (0, 5, 12, 40)[self.choose(4)]
        self.stop_one_in = (0, 0, 15, 40)[self.choose(4)]

    def chance(self, one_in: int) -> bool:
        return self.choose(one_in) == one_in - 1

    def append(self, *bodies: Body | TraceBody) -> None:
        """One transaction; before and after it the process may die and somebody may ask for a stop."""
        self.disturb()
        self.ledger.append(*bodies)
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
                how = self.choose(6)  # some takeovers write down that the holder was lost, some only know it, most just go on
                if how == 0:
                    self.cut = "lease_lost"
                elif how == 1 and not isinstance(self.next(), Done):
                    self.ledger.append(Interruption("lease_lost"))

    def next(self):
        return next_move(read_life(self.ledger.entries, POLICY, input_seq=1, cut=self.cut))

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
            case Call(step_index):
                self.call(step_index)
            case Mend(call_id, status, error):
                said = [self.partial(int(call_id.removeprefix("mcl_")), status)] if self.chance(2) else []
                self.append(*said, ModelCallFinished(call_id, status, error=error))
            case Run(call, again):
                assert again == (self.tool_runs[call.tool_call_id] > 0 or self.started_before(call))
                self.append(ToolStarted(call.tool_call_id, call.name))
                self.tool_runs[call.tool_call_id] += 1
                self.append(result(call.tool_call_id))
            case Refuse(call, code, _):
                self.append(ToolRejected(call.tool_call_id, call.name, code), result(call.tool_call_id))
            case Close(calls):
                assert calls
                self.append(*[result(call.tool_call_id) for call in calls])
            case Await(pending):
                assert pending
                self.client([one.tool_call_id for one in pending])
            case Settle(status, error, cut):
                self.append(*([] if cut is None else [Interruption(cut)]), TurnSettled(status, error))

    def started_before(self, call: ToolCall) -> bool:
        return any(e.kind == "tool_started" and ToolStarted.decode(e.payload or "").tool_call_id == call.tool_call_id for e in self.ledger.entries)

    def call(self, number: int) -> None:
        self.append(started(number))
        self.provider_calls += 1
        self.disturb()
        cut = read_life(self.ledger.entries, POLICY).cut
        if cut is not None:  # the reader sees the stop and gives up what it had read
            said = [self.partial(number, cut.status)] if self.chance(2) else []
            self.append(*said, finished(number, cut.status, None, cut.error))
            return
        kind = self.choose(16)
        if kind == 0:
            self.append(finished(number, "failed", None, TurnError("upstream-error", "503", 503)))
        elif kind == 1:
            self.append(self.partial(number, "failed"), finished(number, "failed", None, TurnError("stream-truncated", "cut")))
        elif kind == 2:
            self.append(finished(number, "refused", None, TurnError("context-over-budget", "too large")))
        elif kind == 3:
            self.append(answer(number, *self.parts(0)), finished(number))
        else:
            parts = self.parts(3)
            stop = ("finished", "tool_calls", "tool_calls", "tool_calls", "tool_calls", "tool_calls", "length", "refused")[self.choose(8)]
            self.append(answer(number, *parts, stop_reason=stop), finished(number, stop_reason=stop))

    def parts(self, calls_max: int) -> list[Part]:
        said: list[Part] = [Reasoning("hm")] if self.chance(3) else []
        said += [Text("so")] if self.chance(2) else []
        for _ in range(min(calls_max, self.choose(6))):
            self.tools_made += 1
            said.append(ToolCall(f"t{self.tools_made}", NAMES[self.choose(len(NAMES))], "{}"))
        return said

    def partial(self, number: int, status: str) -> Answer:
        return answer(number, *self.parts(2), status=status, stop_reason=None)

    def client(self, pending: list[str]) -> None:
        """Posts some results, or repeats old ones, or lets the turn wait; the service drops what has a result already."""
        self.handed_out.update(pending)
        posted = [one for one in pending if not self.chance(3)]
        posted += [one for one in sorted(self.handed_out) if self.chance(4)]
        known = {body.tool_call_id for body in self.results()}
        fresh = [one for one in dict.fromkeys(posted) if one not in known]
        if fresh:
            self.append(*[result(one) for one in fresh])
        elif self.moves > MOVES_MAX // 2:
            self.append(*[result(one) for one in pending])

    def results(self) -> list[ToolResult]:
        bodies = [decode(e.kind, e.payload or "") for e in self.ledger.entries if e.kind == "tool_result"]
        return [body for body in bodies if isinstance(body, ToolResult)]

    def answers(self) -> list[Answer]:
        bodies = [decode(e.kind, e.payload or "") for e in self.ledger.entries if e.kind == "assistant_message"]
        return [body for body in bodies if isinstance(body, Answer)]
