"""Compactions: what is asked for, what came of it, and what one would do."""

from typing import get_args

from app.api.schemas.agents import DRIVER
from app.api.schemas.basics import CHECKPOINT_ID, COUNT, SEQ, SESSION_ID, answer, integer, nullable, obj, one_of, text
from app.config.limits import INSTRUCTIONS_CHARS_MAX
from app.context.model_params import TOKENS_MAX
from app.entries.compactions import Outcome

KEEP_RECENT = integer(1, TOKENS_MAX)
COMPACT = obj({"instructions": text(INSTRUCTIONS_CHARS_MAX, 1), "keep_recent_tokens": KEEP_RECENT, "driver": DRIVER, "expected_head": SEQ})
COMPACTION = answer(
    {
        "outcome": one_of(*get_args(Outcome)),
        "checkpoint_id": nullable(CHECKPOINT_ID),
        "tokens_before": COUNT,
        "tokens_after": nullable(COUNT),
        "covers_through_seq": nullable(SEQ),
    },
    description="Only `compacted` changes what a model is sent; `nothing_to_compact` and `declined_floor` write nothing.",
)
COMPACTION_PLAN = answer(
    {
        "object": {"const": "compaction_plan"},
        "session_id": SESSION_ID,
        "head_seq": SEQ,
        "would": one_of("compacted", "nothing_to_compact", "declined_floor"),
        "keep_recent_tokens": COUNT,
        "tokens_before": COUNT,
        "covers_through_seq": nullable(SEQ),
        "first_kept_seq": nullable(SEQ),
        "turns": COUNT,
        "covered_tokens": COUNT,
        "kept_tokens": nullable(COUNT),
    },
    description="What a compaction would try now. Tokens before it are of the whole request, those covered and kept of its messages.",
)
