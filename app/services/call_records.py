"""What is kept of a model call: why one is not sent, the record from which it is derived again, its attempts."""

from typing import Any

from app.context.compile import compiler_version
from app.context.passes.binding import bound_prefix
from app.context.report import exceptions, prefix_digest
from app.context.section_records import section_record
from app.entries import lossless
from app.entries.messages import Answer
from app.entries.parts import ToolCall
from app.entries.settings import SectionsRecorded
from app.entries.trace import TurnError
from app.entries.wire import timestamp
from app.formats.protocols import StreamReader
from app.formats.registry import FORMATS
from app.formats.text_tools import TextCallReader
from app.outbound.exchange import AttemptRecord
from app.services.inputs import Prepared
from app.services.running import Running
from app.turn.moves import Call


def refused(prepared: Prepared) -> TurnError | None:
    """Why an input is not sent: over the hard limit, nothing in it, or a rule of the wire format broken. None: it may leave."""
    if not prepared.budget.fits:
        edge = f"{prepared.budget.total} tokens do not fit the input limit of {prepared.budget.input_limit}"
        return TurnError("context-over-budget", f"{edge}; nothing was sent. Shorten the input, rewind, or use a model with a larger window.")
    if not prepared.compiled.request.messages and not prepared.compiled.request.system:
        return TurnError("empty-context", "The agent's renderers gave neither instructions nor messages; nothing was sent.")
    if prepared.compiled.failures:
        failed = prepared.compiled.failures[0]
        return TurnError("upstream-error", f"The renderer {failed.renderer} failed ({failed.code}); nothing was sent. {failed.detail}")
    if prepared.violations:
        first = prepared.violations[0]
        return TurnError("upstream-error", f"The input breaks a rule of the wire format ({first.code} at {first.pointer}); nothing was sent.")
    return None


def record(prepared: Prepared, running: Running, move: Call) -> str:
    """What a call's row keeps: the inputs, digests, counts and exceptions from which the rest is derived again. JSON text."""
    target, request = prepared.target, prepared.compiled.request
    return lossless.dumps(
        {
            "agent": running.agent.name,
            "agent_revision": running.agent.revision,
            "invocation": 0,
            "upstream": target.model.upstream,
            "dialect": target.dialect,
            "model": target.model.name,
            "digest": prepared.digest,
            "prefix_digest": prefix_digest(request),
            "target_digest": target.digest,
            "compiler_version": compiler_version(prepared.sources.agent),
            "estimator": target.estimator,
            "message_count": prepared.compiled.message_count,
            "history_message_count": prepared.sources.history_message_count,
            "tools": list(prepared.compiled.declared),
            "budget": prepared.budget.to_json(),
            "reason": move.reason,
            "receipt_seq": move.receipt_seq,
            "ephemeral": [{"kind": one.kind, "after_seq": one.after_seq, "tokens": one.tokens} for one in running.ephemeral],
            "exceptions": exceptions(prepared.compiled),
        }
    )


def sections_of(prepared: Prepared) -> SectionsRecorded | None:
    """The record of the input's system sections, where they are not what the last one says."""
    entry = prepared.window.settings.get(SectionsRecorded.kind)
    latest = None if entry is None or entry.payload is None else SectionsRecorded.decode(entry.payload)
    return section_record(prepared.compiled, latest)


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
    producer = target.producer._replace(prefix=bound_prefix(prepared.compiled.request))
    reader = FORMATS[target.dialect].new_reader(str(producer))
    return TextCallReader(reader, prepared.compiled.declared) if target.rules.tools == "text" else reader


def taken_ids(prepared: Prepared) -> set[str]:
    """The tool call ids of the window: a provider that repeats one gets a minted id beside it."""
    return {
        part.tool_call_id
        for message in prepared.sources.messages
        if isinstance(message.body, Answer)
        for part in message.body.parts
        if isinstance(part, ToolCall)
    }
