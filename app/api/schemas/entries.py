"""Parts, entries and what is posted of them."""

from app.api.schemas.basics import (
    AGENT_NAME,
    BOOL,
    COUNT,
    DIGEST,
    OBJECT,
    SEQ,
    TIME,
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
from app.config import limits
from app.entries.kinds import KINDS

# `$` stands as \x24: the fast checker rewrites every `$` of a pattern, also one in brackets.
_MEDIA_TYPE = text(200, 3, "^[A-Za-z0-9!#\\x24&^_.+-]+/[A-Za-z0-9!#\\x24&^_.+-]+(;[ -~]*)?$")
_FILENAME = text(255, 1)

TEXT_PART = obj({"type": {"const": "text"}, "text": text()}, ["type", "text"])
REASONING_PART = obj({"type": {"const": "reasoning"}, "text": text()}, ["type", "text"])
TOOL_CALL_PART = obj(
    {"type": {"const": "tool_call"}, "tool_call_id": text(512, 1), "name": text(512, 1), "arguments": text()},
    ["type", "tool_call_id", "name", "arguments"],
)


def _media(kind: str) -> list[dict[str, object]]:
    return [
        obj({"type": {"const": kind}, "blob": DIGEST, "filename": _FILENAME}, ["type", "blob"]),
        obj({"type": {"const": kind}, "url": text(8192, 8, "^https?://[!-~]+$"), "filename": _FILENAME}, ["type", "url"]),
        obj({"type": {"const": kind}, "data": text(), "media_type": _MEDIA_TYPE, "filename": _FILENAME}, ["type", "data", "media_type"]),
    ]


MEDIA_PARTS = [*_media("image"), *_media("file")]
INPUT_PART = {"anyOf": [TEXT_PART, *MEDIA_PARTS]}
INPUT_PARTS = arr(INPUT_PART, least=1, most=limits.PARTS_PER_MESSAGE_MAX)
INPUT = {"anyOf": [text(), INPUT_PARTS]}
CONTENT = {"anyOf": [text(), arr(INPUT_PART, most=limits.PARTS_PER_MESSAGE_MAX)]}
ANSWER_PARTS = arr({"anyOf": [TEXT_PART, REASONING_PART, TOOL_CALL_PART, *MEDIA_PARTS]}, least=1, most=limits.PARTS_PER_MESSAGE_MAX)

_COMMON = {"attributes": OBJECT, "hidden": BOOL, "include_in_context": BOOL}

POSTED_ENTRY = {
    "anyOf": [
        obj({"kind": {"const": "user_message"}, "parts": INPUT_PARTS, **_COMMON}, ["kind", "parts"]),
        obj({"kind": {"const": "agent_message"}, "parts": INPUT_PARTS, **_COMMON}, ["kind", "parts"]),
        obj(
            {
                "kind": {"const": "assistant_message"},
                "parts": ANSWER_PARTS,
                "status": one_of("completed", "failed", "cancelled", "interrupted"),
                "model": nullable(text(255, 1)),
                "stop_reason": nullable(text(64, 1)),
                **_COMMON,
            },
            ["kind", "parts"],
        ),
        obj(
            {
                "kind": {"const": "tool_result"},
                "tool_call_id": text(512, 1),
                "name": nullable(text(512, 1)),
                "parts": arr(INPUT_PART, most=limits.PARTS_PER_MESSAGE_MAX),
                "is_error": BOOL,
                **_COMMON,
            },
            ["kind", "tool_call_id", "parts"],
        ),
    ]
}

POST_ENTRIES = obj(
    {"entries": arr(POSTED_ENTRY, least=1, most=limits.ENTRIES_PER_APPEND_MAX), "expected_head": SEQ},
    ["entries"],
)

EXTRA_MESSAGE = obj(
    {"kind": one_of("user_message", "agent_message"), "parts": INPUT_PARTS, "persist": BOOL, "include_in_context": BOOL, "hidden": BOOL},
    ["kind", "parts"],
)

BLOB = obj(
    {"digest": DIGEST, "media_type": text(), "byte_length": COUNT, "width": integer(0), "height": integer(0)}, ["digest", "media_type", "byte_length"]
)

PART = obj(
    {
        "type": one_of("text", "reasoning", "tool_call", "image", "file", "opaque"),
        "text": text(),
        "blob": ref("Blob"),
        "url": text(),
        "filename": text(),
        "opaque": text(),
        "producer": text(),
        "tool_call_id": text(),
        "provider_id": text(),
        "name": text(),
        "arguments": text(),
        "format": text(),
        "block": text(),
        "preview": text(),
    },
    ["type"],
)

ENTRY = answer(
    {
        "seq": SEQ,
        "kind": one_of(*KINDS),
        "turn": nullable(COUNT),
        "message_index": nullable(COUNT),
        "agent": nullable(AGENT_NAME),
        "invocation": COUNT,
        "at": TIME,
        "digest": DIGEST,
        "tokens": COUNT,
        "hidden": BOOL,
        "include_in_context": BOOL,
        "attributes": OBJECT,
        "body": nullable({"type": "object", "properties": {"parts": arr(ref("Part"))}}),
    }
)

ENTRY_EVENT = answer({"id": text(), "event": {"const": "entry"}, "data": text()}, description="`id` is the seq, `data` the Entry.")
ENTRY_LIST = listing(ref("Entry"), nullable(SEQ))
ENTRIES_APPENDED = answer({"entries": arr(ref("Entry"))})
