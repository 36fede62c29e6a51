"""Turns, their results and their events."""

from app.api.schemas.agents import PARAMS
from app.api.schemas.basics import (
    BOOL,
    CALL_ID,
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
from app.api.schemas.entries import CONTENT, EXTRA_MESSAGE, INPUT
from app.config import agent_limits, limits

_EXTRA_MESSAGES = arr(EXTRA_MESSAGE, most=limits.ENTRIES_PER_APPEND_MAX - agent_limits.SKILLS_PER_TURN_MAX - 8)

OVERRIDES = obj(
    {
        "model": obj({"upstream": text(128, 1), "name": text(255, 1), "params": PARAMS}),
        "tool_choice": text(64, 1),
        "masked_tools": arr(text(64, 1), most=limits.TOOLS_MAX),
    }
)

_FLAGS = {
    "overrides": OVERRIDES,
    "on_disconnect": one_of("continue", "cancel"),
    "on_busy": one_of("reject", "interrupt"),
    "on_pending": one_of("reject", "abandon"),
    "background": BOOL,
    "expected_head": SEQ,
}

POST_TURN = obj(
    {
        "input": INPUT,
        "follows": nullable(text(64, 1)),
        "attributes": OBJECT,
        "persist": BOOL,
        "include_in_context": BOOL,
        "hidden": BOOL,
        "extra_messages": _EXTRA_MESSAGES,
        "skills": arr(text(64, 1), most=agent_limits.SKILLS_PER_TURN_MAX),
        **_FLAGS,
    },
    ["input"],
)

AGAIN = obj(_FLAGS, description="The turn is run again with the overrides and flags that it was posted with, but for those named here.")

TOOL_RESULTS = obj(
    {
        "results": arr(
            obj({"tool_call_id": text(512, 1), "content": CONTENT, "is_error": BOOL}, ["tool_call_id", "content"]),
            least=1,
            most=limits.ENTRIES_PER_APPEND_MAX // 2,
        ),
        "extra_messages": arr(EXTRA_MESSAGE, most=limits.ENTRIES_PER_APPEND_MAX // 2 - 8),
        "background": BOOL,
        "expected_head": SEQ,
    },
    ["results"],
)

DECISIONS = obj(
    {
        "decisions": arr(
            obj(
                {"tool_call_id": text(512, 1), "decision": one_of("approve", "deny"), "reason": nullable(text(limits.REASON_CHARS_MAX))},
                ["tool_call_id", "decision"],
            ),
            least=1,
            most=limits.ENTRIES_PER_APPEND_MAX // 2,
        ),
        "background": BOOL,
        "expected_head": SEQ,
    },
    ["decisions"],
)

NOTHING = obj({})

TURN_STATUSES = ("running", "requires_action", "completed", "failed", "cancelled", "interrupted")

TURN_ERROR_CODES = (
    "context-over-budget",
    "upstream-error",
    "upstream-auth",
    "upstream-rate-limited",
    "upstream-overflow",
    "stream-truncated",
    "max-steps",
    "empty-answer",
    "empty-context",
    "control-only",
    "lease-lost",
    "shutdown",
)

_FOLLOWS = {"anyOf": [TURN_ID, {"const": "start"}]}

TURN = answer(
    {
        "id": TURN_ID,
        "object": {"const": "turn"},
        "session_id": SESSION_ID,
        "number": integer(1),
        "status": one_of(*TURN_STATUSES),
        "follows": _FOLLOWS,
        "siblings": arr(TURN_ID),
        "retry_of": nullable(TURN_ID),
        "input_seq": nullable(SEQ),
        "entry_seqs": arr(SEQ),
        "calls": arr(CALL_ID),
        "pending": arr(answer({"tool_call_id": text(), "name": text(), "arguments": text(), "needs": one_of("result", "approval")})),
        "usage": nullable(ref("TurnUsage")),
        "error": nullable(obj({"code": one_of(*TURN_ERROR_CODES), "detail": text(), "attempt_status": {}}, ["code", "detail"])),
        "created_at": TIME,
        "settled_at": nullable(TIME),
    }
)
TURN_LIST = listing(ref("Turn"))
STOPPED = answer({"object": {"const": "stop"}, "session_id": SESSION_ID, "turn": nullable(ref("Turn"))})
EVENTS = (
    "turn.started",
    "call.started",
    "context.compiled",
    "COMPACTION_STARTED",
    "COMPACTION_DELTA",
    "COMPACTION_COMPLETED",
    "COMPACTION_FAILED",
    "attempt.failed",
    "text.delta",
    "reasoning.delta",
    "tool_call.started",
    "tool_call.delta",
    "tool_call.completed",
    "message.committed",
    "tool_result.committed",
    "plan.changed",
    "progress",
    "turn.requires_action",
    "turn.completed",
    "turn.failed",
    "turn.cancelled",
    "turn.interrupted",
)
STREAM_EVENT = answer(
    {"id": text(), "event": one_of(*EVENTS), "data": text()},
    description="`id` is an integer that rises within the turn; `data` is one line of JSON whose `type` is the event's name; a comment every 15 s.",
)
