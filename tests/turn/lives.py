"""Entries of a turn for tests: a ledger in memory that numbers them as the database would."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.entries.compactions import Checkpoint, CompactionFailed, CompactionRequested, Trigger
from app.entries.messages import Answer, Body, Entry, Message, Status, ToolResult, encode
from app.entries.parts import Part, Text, ToolCall
from app.entries.plans import Exposure
from app.entries.settings import PlanChanged
from app.entries.summaries import Fact, Summary
from app.entries.trace import CallStatus, Interruption, ModelCallFinished, ModelCallStarted, StopRequested, TraceBody, TurnError, TurnSettled
from app.turn.policy import AgentPolicy, Policy, ToolPolicy

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)

TOOLS = {
    "ask": ToolPolicy("client"),
    "look": ToolPolicy("http", repeatable=True),
    "pay": ToolPolicy("http"),
    "masked": ToolPolicy("http", declared=False),
    "narrowed": ToolPolicy("client"),
    "sign": ToolPolicy("http"),
    "consult": ToolPolicy("agent", mode="call"),
    "hand_over": ToolPolicy("agent", mode="transfer"),
}
DECLARED = ("ask", "look", "pay", "narrowed", "sign", "consult", "hand_over")
ALLOWED = ("ask", "look", "pay", "sign", "consult", "hand_over")
NURSE = ("nurse", 3)
"""The other agent: its tools are the same ones."""
POLICY = Policy(4, AgentPolicy(TOOLS), {NURSE: AgentPolicy(TOOLS)})
PLANNING = Policy(6, AgentPolicy(TOOLS, plan=True), {NURSE: AgentPolicy(TOOLS, plan=True)})


Folded = CompactionRequested | Checkpoint | CompactionFailed


@dataclass
class Ledger:
    """`append` takes bodies and adds their entries together."""

    entries: list[Entry] = field(default_factory=list)

    def append(self, *bodies: Body | TraceBody | PlanChanged | Folded, kind: str = "user_message", run: int = 0) -> None:
        for body in bodies:
            match body:
                case Answer():
                    name, payload = "assistant_message", encode(body)
                case ToolResult():
                    name, payload = "tool_result", encode(body)
                case Message():
                    name, payload = kind, encode(body)
                case _:
                    name, payload = body.kind, body.encode()
            seq = len(self.entries) + 1
            self.entries.append(Entry(seq, name, 1, 1, None, None, run, 0, False, True, None, payload, b"", b"", None, NOON))


def started(number: int, exposure: Exposure = "ordinary") -> ModelCallStarted:
    return ModelCallStarted(f"mcl_{number}", number, "scripted", "openai-chat", "m", tools=DECLARED, allowed=ALLOWED, exposure=exposure)


def finished(
    number: int,
    status: CallStatus = "completed",
    stop_reason: str | None = "finished",
    error: TurnError | None = None,
    controls: tuple[str, ...] = (),
) -> ModelCallFinished:
    return ModelCallFinished(f"mcl_{number}", status, stop_reason, error=error, attempts=1, controls=controls)


def requested(number: int, trigger: Trigger = "automatic", attempt: int = 1, *, piece: bool = False) -> CompactionRequested:
    """A summary is asked for before, or because of, the main call of that number."""
    return CompactionRequested(trigger, "model", 3, 4, 300, 9_000, attempt, number, f"mcl_summary_{number}_{attempt}", piece)


def checkpoint(requested_seq: int, trigger: Trigger = "automatic") -> Checkpoint:
    summary = Summary({"summary": (Fact("They talked."),)}, 1, 3)
    return Checkpoint("chk_1", requested_seq, 3, 4, 2, 5, summary, "sha256:00", "model", trigger, 9_000, 700)


def changed(number: int, accepted: bool) -> PlanChanged:
    """What a plan control came to."""
    return PlanChanged(None, "create", accepted, None if accepted else "No.", f"mcl_{number}", "{}")


def answer(number: int, *parts: Part, status: str = "completed", stop_reason: str | None = "finished") -> Answer:
    return Answer(parts, Status(status), "m", stop_reason, f"mcl_{number}")


def tool(name: str, number: int = 0) -> ToolCall:
    return ToolCall(f"t_{name}_{number}", name, "{}")


def result(tool_call_id: str) -> ToolResult:
    return ToolResult(tool_call_id, (Text("42"),))


def answered(*parts: Part, stop_reason: str | None = "finished") -> Ledger:
    """A turn whose first call ended with that answer."""
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)))
    ledger.append(started(0))
    ledger.append(answer(0, *parts, stop_reason=stop_reason), finished(0, stop_reason=stop_reason))
    return ledger


__all__ = ["NOON", "POLICY", "Interruption", "Ledger", "StopRequested", "TurnSettled", "answer", "answered", "finished", "result", "started", "tool"]
