"""What is kept of a model call: why one is not sent, the record from which it is derived again, its attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.context.account import ephemeral_digest
from app.context.compaction.plan import plan
from app.context.compile import compiler_version
from app.context.origins import InvalidOrigins
from app.context.passes.binding import bound_prefix
from app.context.report import exceptions, prefix_digest
from app.context.sources import AgentRevision, Continuation, Invocation, Sources
from app.entries import lossless
from app.entries.errors import Invalid
from app.entries.ids import CALL, format_id, text_digest
from app.entries.messages import Answer
from app.entries.parts import ToolCall
from app.entries.prunings import Pruned
from app.entries.settings import PlanChanged, SectionsRecorded
from app.entries.trace import ApprovalRequested, ModelCallFinished, ModelCallStarted, TurnError
from app.entries.wire import timestamp
from app.formats.protocols import StreamReader
from app.formats.registry import FORMATS
from app.formats.text_tools import TextCallReader
from app.outbound.exchange import AttemptRecord
from app.services.consequences import of_run
from app.services.inputs import Prepared
from app.services.running import Running
from app.services.write import Draft
from app.turn.life import RunLife
from app.turn.moves import Call

Spoken = Answer | ModelCallStarted | ModelCallFinished | SectionsRecorded | PlanChanged | ApprovalRequested | Pruned


@dataclass(frozen=True, slots=True)
class Step:
    """One main call of a turn on its way: the move that asks for it, the run that it belongs to, and the agent of that run.

    `nonce` is chance, in hex: the entry of the call names its digests under it, the record names both.
    """

    move: Call
    run: RunLife
    agent: AgentRevision
    uuid: UUID
    nonce: str

    @property
    def call_id(self) -> str:
        return format_id(CALL, self.uuid)

    @property
    def invocation(self) -> Invocation:
        """The run as a compile knows it."""
        return invocation_of(self.run)

    def draft(self, running: Running, body: Spoken) -> Draft:
        """An entry of the run that the call belongs to."""
        if isinstance(body, Answer):
            return of_run(Draft("assistant_message", body, running.number, agent=self.agent.name), self.run)
        return of_run(Draft(body.kind, body.encode(), running.number), self.run)


def invocation_of(run: RunLife) -> Invocation:
    """A run as a compile knows it."""
    return Invocation(run.index, tuple(outer.index for outer in run.lineage), run.answers is not None, run.tool_call_id)


def event(name: str, /, **data: Any) -> tuple[str, str]:
    """Name and data of an event of the stream."""
    return name, lossless.dumps({"type": name, **data})


def refused(prepared: Prepared) -> TurnError | None:
    """Why an input is not sent: over the hard limit, nothing in it, or a rule of the wire format broken. None: it may leave."""
    if not prepared.budget.fits:
        return TurnError("context-over-budget", _over_budget(prepared))
    if not prepared.compiled.request.messages and not prepared.compiled.request.system:
        return TurnError("empty-context", "The agent's renderers gave neither instructions nor messages; nothing was sent.")
    if prepared.compiled.failures:
        failed = prepared.compiled.failures[0]
        return TurnError("upstream-error", f"The renderer {failed.renderer} failed ({failed.code}); nothing was sent. {failed.detail}")
    if prepared.violations:
        first = prepared.violations[0]
        return TurnError("upstream-error", f"The input breaks a rule of the wire format ({first.code} at {first.pointer}); nothing was sent.")
    return None


def _over_budget(prepared: Prepared) -> str:
    """How far it is over, and what no compaction makes less: instructions, tools, the newest turn."""
    budget, newest = prepared.budget, plan(prepared.compiled, 0, newest_only=True)
    kept = budget.messages if newest is None else newest.kept_tokens
    least = f"the instructions take {budget.system} of them, the tools {budget.tools}, the newest turn {kept}"
    edge = f"{budget.total} tokens do not fit the input limit of {budget.input_limit}; {least}, and nothing shortens those"
    return f"{edge}. Nothing was sent. Shorten the input, rewind, or use a model with a larger window."


def unprepared(error: Invalid | InvalidOrigins) -> TurnError:
    """Why no input could be made at all: nothing is sent, and there is nothing to keep of it."""
    if isinstance(error, InvalidOrigins):
        return TurnError("upstream-error", f"The session's history contradicts itself ({error.code}): {error.detail} Nothing was sent.")
    return TurnError("upstream-error", "The model of this call is not configured any more; nothing was sent.")


def record(prepared: Prepared, main: Sources | None = None, **more: Any) -> str:
    """What a call's row keeps: the inputs, digests, counts and exceptions from which the rest is derived again. JSON text.

    `main`: the sources of the call that this one makes smaller; a summary's own are made of those and of `more`, which else
    holds the step's nonce.
    """
    target, request, sources = prepared.target, prepared.compiled.request, main or prepared.sources
    invocation, continuation = sources.invocation, sources.continuation
    return lossless.dumps(
        {
            "agent": sources.agent.name,
            "agent_revision": sources.agent.revision,
            "invocation": invocation.index,
            "lineage": list(invocation.lineage),
            "called": invocation.called,
            "tool_call_id": invocation.tool_call_id,
            "upstream": target.model.upstream,
            "dialect": target.dialect,
            "model": target.model.name,
            "digest": prepared.digest,
            "prefix_digest": prefix_digest(request),
            "binding": key_mark(prepared.sources.prefix_key),
            "target_digest": target.digest,
            "compiler_version": compiler_version(prepared.sources.agent),
            "estimator": target.estimator,
            "message_count": prepared.compiled.message_count,
            "history_message_count": prepared.sources.history_message_count,
            "tools": list(prepared.compiled.declared),
            "budget": prepared.budget.to_json(),
            "reason": None if continuation is None else continuation.reason,
            "receipt_seq": None if continuation is None else continuation.receipt_seq,
            "exposure": "ordinary" if continuation is None else continuation.exposure,
            "repairs_left": 0 if continuation is None else continuation.repairs_left,
            "recoveries_left": 0 if continuation is None else continuation.recoveries_left,
            "ephemeral": [
                {"kind": one.kind, "after_seq": one.after_seq, "tokens": one.tokens, "digest": ephemeral_digest(one)} for one in sources.ephemeral
            ],
            "exceptions": exceptions(prepared.compiled),
            **more,
        }
    )


def key_mark(prefix_key: str) -> str:
    """Which key the digests of prefixes were made under; an erasure replaces it, and what is derived later may then differ."""
    return text_digest(prefix_key)[-16:]


def run_of(record: Mapping[str, Any]) -> tuple[Invocation, Continuation | None]:
    """The run and the cause of a call, as its record keeps them; calls of older records were of the turn's own run, without a plan."""
    invocation = Invocation(record["invocation"], tuple(record.get("lineage", ())), record.get("called", False), record.get("tool_call_id"))
    if record["reason"] is None:  # a compaction that no call waited for
        return invocation, None
    left = record.get("repairs_left", 0), record.get("recoveries_left", 0)
    return invocation, Continuation(record["reason"], record["receipt_seq"], record.get("exposure", "ordinary"), *left)


def attempt_json(attempt: AttemptRecord) -> dict[str, Any]:
    """An attempt as a call's resource lists it."""
    return {
        "n": attempt.n,
        "status": attempt.status,
        "http_status": attempt.http_status,
        "provider_request_id": attempt.provider_request_id,
        "started_at": timestamp(attempt.started_at),
        "first_delta_ms": attempt.first_delta_ms,
        "ended_ms": attempt.ended_ms,
    }


def lost_attempt_json(n: int, status: str, http_status: int | None = None) -> dict[str, Any]:
    """An attempt of which only the stream tells, because the process that made it is gone (X-41)."""
    unknown = ("provider_request_id", "started_at", "first_delta_ms", "ended_ms")
    return {"n": n, "status": status, "http_status": http_status} | dict.fromkeys(unknown)


def reader_of(prepared: Prepared) -> StreamReader:
    """A reader for one attempt's answer, which is told who makes its opaque blocks and may get them back."""
    target = prepared.target
    producer = target.producer._replace(prefix=bound_prefix(prepared.compiled.request, prepared.sources.prefix_key))
    reader = FORMATS[target.dialect].new_reader(str(producer))
    return TextCallReader(reader, prepared.compiled.callable) if target.rules.tools == "text" else reader


def taken_ids(prepared: Prepared) -> set[str]:
    """The tool call ids of the window: a provider that repeats one gets a minted id beside it."""
    return {
        part.tool_call_id
        for message in prepared.sources.messages
        if isinstance(message.body, Answer)
        for part in message.body.parts
        if isinstance(part, ToolCall)
    }
