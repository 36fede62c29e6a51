"""What tells inputs apart and what explains an entry: differences of sources, and sentences."""

from app.api.schemas.basics import AGENT_NAME, CALL_ID, COUNT, DIGEST, OBJECT, SEQ, SESSION_ID, answer, arr, integer, nullable, one_of, ref, text
from app.api.schemas.model_input import DISPOSITION
from app.context.draft import Reason
from app.context.reasons import Outside

INPUT = answer(
    {
        "call_id": nullable(CALL_ID),
        "head_seq": SEQ,
        "agent": answer({"name": AGENT_NAME, "revision": integer(1)}),
        "dialect": text(),
        "model": text(),
        "target_digest": DIGEST,
        "digest": DIGEST,
        "logical_digest": DIGEST,
        "tool_choice": nullable(text()),
        "allowed_tools": nullable(arr(text())),
    },
    description="One of the two inputs, and what its request says beside its sources.",
)
SIDE = answer(
    {
        "place": nullable(one_of("system", "tools", "messages")),
        "position": nullable(COUNT),
        "message_index": nullable(COUNT),
        "disposition": DISPOSITION,
        "reason": ref("Reason"),
        "also": arr(ref("Reason")),
        "tokens": COUNT,
        "digest": nullable(DIGEST),
        "pointer": nullable(text()),
    },
    description="A source's row in one input. `position` counts in the list that `place` names; both are null for what is not sent.",
)
CHANGE = answer({"id": text(), "source": OBJECT, "from": nullable(ref("SourceInInput")), "to": nullable(ref("SourceInInput"))})
DIFF = answer(
    {
        "object": {"const": "model_input_diff"},
        "session_id": SESSION_ID,
        "from": ref("ComparedInput"),
        "to": ref("ComparedInput"),
        **dict.fromkeys(("added", "removed", "transformed", "reordered"), arr(ref("SourceChange"))),
    },
    description="What leads from one input to the other; a source that stands in no list is the same in both.",
)

WHY = one_of(*sorted([*Reason, *Outside]))
EXPLANATION = answer(
    {
        "object": {"const": "explanation"},
        "session_id": SESSION_ID,
        "seq": SEQ,
        "kind": text(),
        "call_id": nullable(CALL_ID),
        "head_seq": SEQ,
        "disposition": DISPOSITION,
        "reason": ref("Why"),
        "also": arr(ref("Reason")),
        "steps": arr(answer({"pass": text(), "disposition": DISPOSITION, "reason": ref("Why")})),
        "sentence": text(),
        "source": {**nullable(COUNT), "description": "The position in the source map."},
        "pointers": arr(text()),
        "tokens_before": nullable(COUNT),
        "tokens_after": nullable(COUNT),
        "losses": arr(OBJECT),
    }
)
