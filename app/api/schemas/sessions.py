"""Sessions, their state, plan and line, and verification."""

from typing import get_args

from app.api.schemas.agents import MODEL
from app.api.schemas.basics import (
    AGENT_NAME,
    BOOL,
    CALL_ID,
    CHECKPOINT_ID,
    COUNT,
    DIGEST,
    OBJECT,
    SEQ,
    SESSION_ID,
    TIME,
    TURN_ID,
    answer,
    arr,
    column,
    integer,
    listing,
    nullable,
    obj,
    one_of,
    ref,
    text,
)
from app.entries.plans import STEP_STATUSES, PlanStatus

_TITLE = column(500)
_STATE = {
    "type": "object",
    "description": 'State by scope: `{"session": {…}, "user": {…}}`. Keys of `user` go over those that the sessions of this `user` share already.',
}

CREATE = obj(
    {
        "agent": AGENT_NAME,
        "agent_revision": integer(1, 2**31 - 1),
        "state": _STATE,
        "title": nullable(_TITLE),
        "metadata": OBJECT,
        "user": nullable(column(255, 1)),
        "external_id": nullable(column(255, 1)),
        "if_exists": one_of("conflict", "return"),
    },
    ["agent"],
)

PATCH = obj(
    {
        "title": nullable(_TITLE),
        "metadata": OBJECT,
        "agent": AGENT_NAME,
        "agent_revision": {"anyOf": [integer(1, 2**31 - 1), {"const": "latest"}]},
        "model": MODEL,
        "checkpoint": {**text(64, 1), "description": "A checkpoint's id, `latest` (the newest that fits the line) or `none`."},
        "expected_head": SEQ,
    },
)
PUT_LINE = obj({"turn": text(64, 1), "expected_head": SEQ}, ["turn"])
FORK = obj({"at_seq": integer(), "expected_head": SEQ})
CLEAR = obj({"expected_head": SEQ})
PATCH_STATE = {
    "type": "object",
    "description": "A JSON Merge Patch (RFC 7396) of the state by scope. `user` is shared by all sessions of the session's user.",
}

_FIGURES = ("input", "cached", "cache_write", "output", "reasoning")
USAGE = answer({name: nullable(COUNT) for name in _FIGURES}, description="Tokens; null is unknown.")
TURN_USAGE = obj(
    {**{name: nullable(COUNT) for name in _FIGURES}, "source": one_of("reported", "estimated")}, _FIGURES, description="Tokens; null is unknown."
)

SESSION = answer(
    {
        "id": SESSION_ID,
        "object": {"const": "session"},
        "head_seq": SEQ,
        "head_digest": DIGEST,
        "agent": AGENT_NAME,
        "agent_revision": integer(1),
        "follows": BOOL,
        "model": nullable(MODEL),
        "title": nullable(text()),
        "metadata": OBJECT,
        "user": nullable(text()),
        "external_id": nullable(text()),
        "status": one_of("idle", "busy", "pending"),
        "line": arr(answer({"from_seq": SEQ, "through_seq": nullable(SEQ)})),
        "checkpoint": nullable(CHECKPOINT_ID),
        "message_count": COUNT,
        "turn_count": COUNT,
        "usage": ref("Usage"),
        "running_turn": nullable(TURN_ID),
        "pending_turn": nullable(TURN_ID),
        "dispatched_call": nullable(CALL_ID),
        "forked_from": nullable(answer({"session_id": SESSION_ID, "at_seq": SEQ})),
        "created_at": TIME,
        "active_at": TIME,
    }
)
SESSION_LIST = listing(ref("Session"))

_PLAN = answer(
    {
        "revision": integer(1),
        "status": one_of(*get_args(PlanStatus)),
        "objective": text(),
        "steps": arr(answer({"text": text(), "status": one_of(*STEP_STATUSES)})),
        "criteria": arr(text()),
        "notes": arr(text()),
    }
)
PLAN = answer(
    {
        "object": {"const": "plan"},
        "session_id": SESSION_ID,
        "seq": nullable(SEQ),
        "plan": nullable(_PLAN),
        "last_change": nullable(answer({"operation": text(), "accepted": BOOL, "feedback": nullable(text()), "call_id": CALL_ID})),
    },
    description="The last valid plan, active or not, and what the model's last change of it came to, in entry `seq`.",
)

STATE = answer(
    {"object": {"const": "state"}, "session_id": SESSION_ID, "seq": nullable(SEQ), "head_seq": SEQ, "state": OBJECT},
    description="`seq` is the session's entry that last recorded its state; without `at_seq` the scope `user` is shown as its sessions share it now.",
)

SKILL_SNAPSHOT = answer(
    {
        "object": {"const": "skill_snapshot"},
        "seq": SEQ,
        "turn": nullable(COUNT),
        "at": TIME,
        "name": nullable(text()),
        "revision": nullable(text()),
        "text": nullable(text()),
        "placement": nullable(one_of("user")),
        "anchor": nullable(obj({"seq": SEQ, "user_turn": COUNT})),
        "selected_by": nullable(one_of("request", "mention")),
    },
    description="`anchor` names the user message by its seq, or by its ordinal where the snapshot has no placement. An erased one has no content.",
)
SKILL_SNAPSHOT_LIST = listing(SKILL_SNAPSHOT, nullable(SEQ))

VERIFICATION = answer(
    {
        "object": {"const": "verification"},
        "session_id": SESSION_ID,
        "ok": BOOL,
        "entries": COUNT,
        "head_digest": DIGEST,
        "problems": arr(answer({"seq": nullable(SEQ), "code": text(), "detail": text()})),
    }
)
