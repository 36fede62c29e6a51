"""What a redaction takes, and the receipt of every erasure."""

from app.api.schemas.basics import COUNT, SEQ, SESSION_ID, TIME, answer, arr, column, obj, text
from app.config.limits import REDACTION_REASON_CHARS_MAX

REDACT = obj({"reason": column(REDACTION_REASON_CHARS_MAX, 1), "expected_head": SEQ}, ["reason"])

ERASURE_RECEIPT = answer(
    {
        "object": {"const": "erasure_receipt"},
        "session_ids": arr(SESSION_ID),
        "erased_at": TIME,
        "erased": {"type": "object", "additionalProperties": COUNT},
        "kept": arr(text()),
        "remains": arr(answer({"where": text(), "until": text(), "detail": text()})),
    },
    description="`erased` counts what went, by its name. `remains` names what holds the bytes still, and until when.",
)
