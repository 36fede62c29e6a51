"""Resources of what a model sees: a compiled input, a call, and the verdict on one that was derived again."""

from collections.abc import Mapping
from typing import Any, Literal

from app.context.compile import compiler_version
from app.context.neutral import NeutralMessage
from app.context.report import exceptions, manifest, prefix_digest, source_map
from app.entries import lossless
from app.entries.ids import CALL, format_id
from app.entries.parts import part_to_json
from app.entries.wire import timestamp
from app.formats.protocols import Violation, WireLoss
from app.services.call_records import key_mark
from app.services.inputs import Prepared
from app.storage.rows import CallRow

Include = Literal["body", "manifest", "source_map", "budget", "cache"]
EVERYTHING: frozenset[Include] = frozenset({"body", "manifest", "source_map", "budget"})
"""What is shown unless something else is asked for; `cache` costs a second compile and is shown when it is."""


def shown(prepared: Prepared, include: frozenset[Include]) -> dict[str, Any]:
    """The model-input resource of a compiled input."""
    sources, compiled, written = prepared.sources, prepared.compiled, prepared.written
    found: dict[str, Any] = {
        "object": "model_input",
        "session_id": sources.session_id,
        "head_seq": sources.head_seq,
        "awaiting": compiled.awaiting,
        "agent": {"name": sources.agent.name, "revision": sources.agent.revision},
        "dialect": prepared.target.dialect,
        "model": prepared.target.model.name,
        "compiler_version": compiler_version(sources.agent),
        "target_digest": prepared.target.digest,
        "digest": prepared.digest,
        "message_count": compiled.message_count,
        "losses": losses_of(prepared),
        "violations": [violation_json(violation) for violation in prepared.violations],
    }
    if "body" in include:
        found["body"] = lossless.loads(written.body, 1_000)
    if "source_map" in include:
        found["source_map"] = source_map(compiled, written.pointers)
    if "manifest" in include:
        found["manifest"] = manifest_of(prepared)
    if "budget" in include:
        found["budget"] = prepared.budget.to_json()
    return found


def manifest_of(prepared: Prepared) -> dict[str, Any]:
    """The manifest of a compiled input, each row with the place of what was sent: messages, system sections, tools."""
    written = prepared.written
    return manifest(prepared.compiled, written.pointers, written.sections, written.tools)


def verdict(record: Mapping[str, Any], prepared: Prepared) -> dict[str, Any]:
    """`verified`: true, false with the source that differs, or `unverifiable` with the reason.

    Sources: `target`, `prefix` (instructions and declared tools), `entries` (the messages), `body` (how they are written).
    """
    if record["digest"] is None:
        return {"verified": "unverifiable", "reason": "erased"}
    if record["compiler_version"] != compiler_version(prepared.sources.agent):
        return {"verified": "unverifiable", "reason": "compiler_version"}
    if record["target_digest"] != prepared.target.digest:
        return {"verified": False, "mismatch": {"source": "target"}}
    if record["digest"] == prepared.digest:
        return {"verified": True}
    if record["ephemeral"] and _differing(record, prepared) == "body":  # whose words are not kept; all else is as it was (T-11)
        return {"verified": "unverifiable", "reason": "ephemeral"}
    window = prepared.window
    rebound = record.get("binding", key_mark("")) != key_mark(prepared.sources.prefix_key)
    if rebound or any(entry.payload is None for entry in (*window.messages, *window.folds, *window.settings.values())):
        return {"verified": "unverifiable", "reason": "erased"}
    return {"verified": False, "mismatch": {"source": _differing(record, prepared)}}


def _differing(record: Mapping[str, Any], prepared: Prepared) -> str:
    """As far as the record tells it: of the messages it keeps how many there were and what became of them."""
    if record["prefix_digest"] != prefix_digest(prepared.compiled.request):
        return "prefix"
    now = (prepared.compiled.message_count, prepared.sources.history_message_count, lossless.dumps(exceptions(prepared.compiled)))
    then = (record["message_count"], record["history_message_count"], lossless.dumps(record["exceptions"]))
    return "body" if now == then else "entries"


def underivable(call: CallRow, session_id: str, mismatch: Mapping[str, Any]) -> dict[str, Any]:
    """The model-input resource of a call whose sources cannot be read any more: what its record says, and what differs."""
    record = lossless.read(call.record)
    kept = {name: record[name] for name in ("dialect", "model", "compiler_version", "target_digest", "digest", "message_count")}
    found = {"object": "model_input", "session_id": session_id, "head_seq": call.head_seq, **kept}
    if record["digest"] is None:
        return {**found, "verified": "unverifiable", "reason": "erased"}
    return {**found, "verified": False, "mismatch": dict(mismatch)}


def call_json(call: CallRow, turn_id: str | None) -> dict[str, Any]:
    """The call resource, without what is derived. `turn_id`: None for a summary that was asked for beside every turn."""
    record = lossless.read(call.record)
    return {
        "id": format_id(CALL, call.call_id),
        "object": "model_call",
        "turn_id": turn_id,
        "step_index": call.step_index,
        "purpose": call.purpose,
        "agent": record["agent"],
        "invocation": record["invocation"],
        "upstream": record["upstream"],
        "dialect": record["dialect"],
        "model": record["model"],
        "head_seq": call.head_seq,
        "digest": record["digest"],
        "prefix_digest": record["prefix_digest"],
        "target_digest": record["target_digest"],
        "message_count": record["message_count"],
        "tools": record["tools"],
        "budget": record["budget"],
        "continuation": {"reason": record["reason"], "receipt_seq": record["receipt_seq"]},
        "status": call.status,
        "attempts": [] if call.attempts is None else lossless.read(call.attempts),
        "usage": None if call.usage is None else lossless.read(call.usage),
        "created_at": timestamp(call.created_at),
    }


def violation_json(violation: Violation) -> dict[str, str]:
    """A violation as it is listed."""
    return {"pointer": violation.pointer, "code": violation.code, "detail": violation.detail}


def losses_of(prepared: Prepared) -> list[dict[str, Any]]:
    """What the target is not told: of the compile, then of the wire format."""
    return [*(_loss(loss.what, loss.why, loss.seq, loss.part) for loss in prepared.compiled.losses), *_written_losses(prepared)]


def _written_losses(prepared: Prepared) -> list[dict[str, Any]]:
    found = []
    for loss in prepared.written.losses:
        origin = None if loss.source is None else prepared.compiled.request.messages[loss.source].origin
        found.append(_loss(loss.what, loss.why, getattr(origin, "seq", None), _part_of(prepared, loss)))
    return found


def _part_of(prepared: Prepared, loss: WireLoss) -> int | None:
    return loss.part if loss.source is None else prepared.compiled.part_of(loss.source, loss.part)


def _loss(what: str, why: str, seq: int | None, part: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"what": what, "why": why}
    if seq is not None:
        found["seq"] = seq
    return found if part is None else found | {"part": part}


def taps_of(prepared: Prepared) -> list[dict[str, Any]]:
    """What the taps of the agent's list saw, in their order; for what-ifs."""
    return [
        {
            "id": tap.renderer,
            "message_count": tap.message_count,
            "system": [{"renderer": section.renderer, "text": section.text} for section in tap.system],
            "messages": [_tapped(message) for message in tap.messages],
            "tools": {"declared": list(tap.declared), "allowed": None if tap.allowed is None else list(tap.allowed), "choice": tap.choice},
        }
        for tap in prepared.compiled.directives.taps
    ]


def _tapped(message: NeutralMessage) -> dict[str, Any]:
    seq = getattr(message.origin, "seq", None)
    found: dict[str, Any] = {"role": message.role, **({} if seq is None else {"seq": seq}), "parts": [part_to_json(part) for part in message.parts]}
    return found if message.tool_call_id is None else found | {"tool_call_id": message.tool_call_id}
