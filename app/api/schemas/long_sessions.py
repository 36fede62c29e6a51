"""Checkpoints, and what a session used."""

from typing import get_args

from app.api.schemas.basics import (
    BOOL,
    CALL_ID,
    CHECKPOINT_ID,
    COUNT,
    DIGEST,
    SEQ,
    SESSION_ID,
    TIME,
    answer,
    arr,
    integer,
    listing,
    nullable,
    one_of,
    ref,
    text,
)
from app.entries.compactions import DriverKind, Trigger

CHECKPOINT = answer(
    {
        "id": nullable(CHECKPOINT_ID),
        "object": {"const": "checkpoint"},
        "seq": SEQ,
        "version": integer(1),
        "in_force": BOOL,
        "created_at": TIME,
        "erased": BOOL,
        "covers_through_seq": nullable(SEQ),
        "first_kept_seq": nullable(SEQ),
        "summarized_before": nullable(COUNT),
        "history_message_count": nullable(COUNT),
        "summary": nullable(
            {
                "type": "object",
                "additionalProperties": arr(answer({"text": text(), "cites": arr(SEQ)})),
                "description": "Facts by field, each with the seqs of the entries that it is told from.",
            }
        ),
        "text": nullable({**text(), "description": "The summary as a model is told of it."}),
        "artifact": nullable(DIGEST),
        "driver": nullable(one_of(*get_args(DriverKind))),
        "trigger": nullable(one_of(*get_args(Trigger))),
        "upstream": nullable(text()),
        "model": nullable(text()),
        "call_id": nullable(CALL_ID),
        "usage": nullable(ref("TurnUsage")),
        "tokens_before": nullable(COUNT),
        "tokens_after": nullable(COUNT),
        "replaces": nullable(CHECKPOINT_ID),
    },
    description="What stands for the messages up to `covers_through_seq`; `usage` is of the summary's own call. An erased one has no content.",
)
CHECKPOINT_LIST = listing(ref("Checkpoint"), nullable(SEQ))

_FIGURES = ("calls", "estimated_calls", "input", "cached", "cache_write", "output", "reasoning")
_COST = nullable(
    answer(
        {"currency": text(3, 3), "micros": COUNT},
        description="By the operator's prices, in whole millionths of the currency, half of one rounded up; null where a price is not known.",
    )
)
_USED = {**dict.fromkeys(_FIGURES, COUNT), "cost": _COST}
_SUM = ref("UsageSum")

USAGE_SUM = answer(
    _USED,
    description="`calls`: whose usage is known; `estimated_calls`: of those, what no provider reported. `input` includes `cached` and `cache_write`, "
    "`output` includes `reasoning`. No cost where one of the models has none, or where their currencies differ.",
)
SESSION_USAGE = answer(
    {
        "object": {"const": "usage"},
        "session_id": SESSION_ID,
        "models": arr(answer({"purpose": one_of("main", "compaction"), "upstream": text(), "model": text(), **_USED})),
        "main": _SUM,
        "compaction": _SUM,
        "total": _SUM,
    }
)
