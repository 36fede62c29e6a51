"""What the model sees: model input, source maps, calls, validation."""

from app.api.schemas.basics import (
    AGENT_NAME,
    ANY,
    BOOL,
    CALL_ID,
    COUNT,
    DIGEST,
    OBJECT,
    SEQ,
    SESSION_ID,
    TIME,
    TURN_ID,
    answer,
    arr,
    integer,
    listing,
    nullable,
    obj,
    one_of,
    ref,
    text,
)
from app.api.schemas.entries import INPUT
from app.api.schemas.turns import OVERRIDES
from app.context.draft import Disposition, Reason

WHAT_IF = obj({"input": INPUT, "overrides": OVERRIDES, "context": arr(OBJECT, most=64), "state": OBJECT})

SKILLS = arr(answer({"id": text(), "revision": text()}))
EXPANSION = answer({"message_index": COUNT, "snapshot_index": COUNT, "skills": SKILLS})
SOURCE = obj(
    {
        "type": one_of("history", "compaction", "runtime-context", "tool-repair", "rendered", "continuation", "ephemeral"),
        "message_index": COUNT,
        "seq": SEQ,
        "tool_call_id": text(),
        "renderer": text(),
        "reason": text(),
        "receipt_seq": nullable(SEQ),
        "after_seq": SEQ,
        "snapshot_index": COUNT,
        "user_turn": COUNT,
        "skills": SKILLS,
    },
    ["type"],
)
POINTER = obj({"pointer": text(), "source": nullable(COUNT), "seq": nullable(SEQ), "part": nullable(COUNT)}, ["pointer"])

SOURCE_MAP = obj(
    {"history_message_count": COUNT, "sources": arr(SOURCE), "skill_expansions": arr(EXPANSION), "pointers": arr(POINTER)},
    ["history_message_count", "sources", "skill_expansions"],
)
DISPATCHED_MAP = {
    **SOURCE_MAP,
    "properties": {**SOURCE_MAP["properties"], "object": {"const": "source_map"}, "session_id": SESSION_ID, "call_id": CALL_ID, "head_seq": SEQ},
}
REASON = one_of(*sorted(Reason))
DISPOSITION = one_of(*Disposition)
DECISION = obj(
    {
        "id": text(),
        "source": OBJECT,
        "disposition": DISPOSITION,
        "reason": ref("Reason"),
        "also": arr(ref("Reason")),
        "pass": text(),
        "tokens_before": nullable(COUNT),
        "tokens_after": nullable(COUNT),
        "digest": nullable(text()),
        "pointer": nullable(text()),
        "seq": nullable(SEQ),
        "priority": {**integer(0, 2), "description": "0: never gives way; 1: of the running turn; 2: may be pruned or summarised."},
        "sensitivity": one_of("configuration", "private"),
        "trust": {**one_of("model", "operator", "service", "tool", "user"), "description": "Who is behind the words."},
        "version": {**nullable(COUNT), "description": "An entry's schema version, or the agent's revision."},
    },
    ["id", "source", "disposition", "reason"],
)
_LIMITS = ("context_window", "max_output_tokens", "max_input_tokens")
MANIFEST = {
    "type": "object",
    "properties": {
        "compiler_version": text(),
        "estimator": text(),
        "policy_version": text(),
        "head_seq": SEQ,
        "window_from_seq": SEQ,
        "model": obj({"name": text(), **dict.fromkeys(_LIMITS, COUNT), "source": text()}, ["name", "context_window", "max_output_tokens", "source"]),
        "budgets": answer(dict.fromkeys(("input_limit", "output_reserve", "safety", "trigger", "raw_tail"), COUNT)),
        "estimated_input": COUNT,
        "summary_digest": nullable(DIGEST),
        "clear_boundary": SEQ,
        "raw_tail_from_seq": nullable(SEQ),
        "plan_revision": nullable(COUNT),
        "logical_digest": DIGEST,
        "decisions": arr(DECISION),
    },
    "required": ["estimator", "policy_version", "head_seq", "window_from_seq", "decisions"],
}
_FIGURES = ("context_window", "output_reserve", "safety", "input_limit", "system", "tools", "messages", "overhead", "total", "trigger")
BUDGET = answer(
    {
        **dict.fromkeys(_FIGURES, COUNT),
        "remaining": integer(),
        "verdict": one_of("fits", "prune", "compact", "over"),
        "method": one_of("exact", "tokenizer", "heuristic"),
        "error_band": {"type": "number", "minimum": 0},
    }
)
VIOLATION = answer({"pointer": text(), "code": text(), "detail": text()})

CACHE = answer(
    {
        "stable_prefix_tokens": COUNT,
        "stable_prefix_messages": COUNT,
        "first_change": nullable(answer({"pointer": text(), "reason": text(), "seq": nullable(SEQ)})),
    },
    description="What the provider's prompt cache can reuse from the previous dispatched call, and the first thing that is not what it was.",
)

MISMATCH = answer(
    {"source": one_of("agent", "body", "entries", "prefix", "skills", "state", "target"), "seq": SEQ},
    optional=("seq",),
    description="Which source of the call is not what it was, and the entry that holds it, if one does.",
)
TAP = answer(
    {
        "id": text(),
        "message_count": COUNT,
        "system": arr(answer({"renderer": text(), "text": text()})),
        "messages": arr(
            obj({"role": one_of("user", "assistant", "tool", "agent"), "seq": SEQ, "parts": arr(OBJECT), "tool_call_id": text()}, ["role", "parts"])
        ),
        "tools": answer({"declared": arr(text()), "allowed": nullable(arr(text())), "choice": nullable(text())}),
    },
    description="What a `tap` of the agent's list saw; what-ifs alone show it.",
)

MODEL_INPUT = obj(
    {
        "object": {"const": "model_input"},
        "session_id": SESSION_ID,
        "head_seq": SEQ,
        "awaiting": nullable(one_of("input", "tool_results")),
        "agent": answer({"name": AGENT_NAME, "revision": integer(1)}),
        "dialect": text(),
        "model": text(),
        "compiler_version": text(),
        "target_digest": DIGEST,
        "body": OBJECT,
        "digest": nullable(DIGEST),
        "message_count": COUNT,
        "source_map": SOURCE_MAP,
        "manifest": MANIFEST,
        "budget": ref("Budget"),
        "cache": CACHE,
        "losses": arr(OBJECT),
        "violations": arr(VIOLATION),
        "taps": arr(TAP),
        "verified": {"enum": [True, False, "unverifiable"]},
        "mismatch": MISMATCH,
        "reason": one_of("compiler_version", "ephemeral", "erased"),
    },
    ["object", "session_id", "head_seq", "dialect", "model", "compiler_version", "target_digest", "digest", "message_count"],
)

ATTEMPT = obj(
    {
        "n": integer(1),
        "status": text(),
        "http_status": nullable(integer()),
        "provider_request_id": nullable(text()),
        "started_at": nullable(TIME),
        "first_delta_ms": nullable(COUNT),
        "ended_ms": nullable(COUNT),
        "error": ANY,
    },
    ["n", "status"],
)
CALL = obj(
    {
        "id": CALL_ID,
        "object": {"const": "model_call"},
        "turn_id": nullable(TURN_ID),
        "step_index": COUNT,
        "purpose": one_of("main", "compaction"),
        "agent": AGENT_NAME,
        "invocation": COUNT,
        "upstream": text(),
        "dialect": text(),
        "model": text(),
        "head_seq": SEQ,
        "digest": nullable(text()),
        "prefix_digest": nullable(text()),
        "target_digest": text(),
        "message_count": COUNT,
        "tools": arr(text()),
        "budget": nullable(ref("Budget")),
        "status": text(),
        "attempts": arr(ATTEMPT),
        "usage": nullable(OBJECT),
        "created_at": TIME,
        "manifest": MANIFEST,
        "source_map": SOURCE_MAP,
        "continuation": ANY,
        "error": ANY,
    },
    ["id", "object", "turn_id", "step_index", "purpose", "status", "attempts", "created_at"],
)
CALL_LIST = listing(ref("ModelCall"))

VALIDATE = {"type": "object", "description": "A request body of the dialect."}
VALIDATION = answer({"object": {"const": "validation"}, "dialect": text(), "valid": BOOL, "violations": arr(VIOLATION)})
