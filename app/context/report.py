"""What is told of a compile: manifest, source map with pointers, and the exceptions that a call's record keeps.

Derived on demand from the compiled rows and the pointers that the wire format returned with the body. No content, no secret:
positions, counts, reasons and digests alone.
"""

import hashlib
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any, Protocol

from app.context.account import strongest
from app.context.compile import POLICY_VERSION, Compiled
from app.context.draft import History, NeutralRequest, Reason
from app.context.passes.measure import declaration
from app.entries import lossless

EXCEPTION_CHARS_MAX = 600
"""A list of positions in the exceptions is cut after this many characters; what was cut is recompiled, not read."""


class Pointer(Protocol):
    """Where a message or a part of it stands in the body: an RFC 6901 pointer, the position in the neutral list, the part or None."""

    @property
    def pointer(self) -> str: ...
    @property
    def source(self) -> int: ...
    @property
    def part(self) -> int | None: ...


def manifest(compiled: Compiled, pointers: Sequence[Pointer] = ()) -> dict[str, Any]:
    """The manifest of http-api 6: one row for each source, with the pointer of each message that was sent."""
    sources = compiled.sources
    places = _places(compiled, pointers)
    rows = []
    items = chain(compiled.items, compiled.inserted, repeat(None))
    for decision, item in zip(compiled.decisions, items, strict=False):  # messages first; sections, tools and settings have no place
        rows.append(
            {
                "source": decision.source,
                "disposition": decision.disposition.value,
                "reason": decision.reason.value,
                "also": [reason.value for reason in decision.also] if decision.also else [],
                "pass": decision.by,
                "tokens_before": decision.tokens_before,
                "tokens_after": decision.tokens_after,
                "digest": decision.digest,
                "pointer": None if item is None or item.message is None else places.get(id(item.message)),
            }
        )
    return {
        "estimator": sources.target.estimator,
        "policy_version": POLICY_VERSION,
        "head_seq": sources.head_seq,
        "window_from_seq": sources.window_from_seq,
        "decisions": rows,
    }


def _places(compiled: Compiled, pointers: Sequence[Pointer]) -> dict[int, str]:
    """Message (by identity) → pointer of the message itself, where the format gave one, else of its first part."""
    messages = compiled.request.messages
    places: dict[int, str] = {}
    for pointer in pointers:
        key = id(messages[pointer.source])
        if pointer.part is None:
            places[key] = pointer.pointer
        else:
            places.setdefault(key, pointer.pointer)
    return places


def source_map(compiled: Compiled, pointers: Sequence[Pointer] = ()) -> dict[str, Any]:
    """The source map of http-api 6: `sources[i]` is the origin of message i of the neutral list, before any wire folding."""
    messages = compiled.request.messages
    rows = []
    for pointer in pointers:
        origin = messages[pointer.source].origin
        seq = origin.seq if isinstance(origin, History) else None
        rows.append({"pointer": pointer.pointer, "source": pointer.source, "seq": seq, "part": pointer.part})
    return {
        "history_message_count": compiled.sources.history_message_count,
        "sources": [message.origin.to_json() for message in messages],
        "skill_expansions": [],
        "pointers": rows,
    }


def exceptions(compiled: Compiled) -> dict[str, Any]:
    """What was not plainly included, for the call's record: ≤ 3 kB for a window of 200, whatever happened in it.

    Positions are `message_index`es as text: `"3,7-9"`. Tools are counted; their names follow from the revision and the overrides.
    """
    grouped: dict[tuple[str, str], list[int]] = {}
    ephemeral = 0
    for item in (*compiled.items, *compiled.inserted):
        if len(item.steps) == 1 and item.steps[0].reason is Reason.IN_WINDOW:
            continue
        step, _ = strongest(item.steps)
        index = getattr(item.origin, "message_index", None)
        if index is None:
            ephemeral += 1
        else:
            grouped.setdefault((step.disposition.value, step.reason.value), []).append(index)
    left_out: dict[str, int] = {}
    for fate in compiled.tools:
        if fate.reason is not Reason.DECLARED:
            left_out[fate.reason.value] = left_out.get(fate.reason.value, 0) + 1
    return {
        "messages": [
            {"disposition": disposition, "reason": reason, "count": len(indexes), "message_indexes": _ranges(indexes)}
            for (disposition, reason), indexes in grouped.items()
        ],
        "ephemeral": ephemeral,
        "tools": left_out,
    }


def _ranges(indexes: list[int]) -> str:
    """`[3, 7, 8, 9]` as `3,7-9`; what does not fit ends in `…`."""
    pieces: list[str] = []
    start = last = indexes[0]
    for index in (*indexes[1:], -1):
        if index == last + 1 or index == last:
            last = index
            continue
        pieces.append(str(start) if start == last else f"{start}-{last}")
        start = last = index
    text = ",".join(pieces)
    return text if len(text) <= EXCEPTION_CHARS_MAX else text[:EXCEPTION_CHARS_MAX].rpartition(",")[0] + ",…"


def prefix_digest(request: NeutralRequest) -> str:
    """`sha256:<hex>` of the unchanging start of a request: instructions and declared tools in their order (S3-38, T-12)."""
    prefix = {"system": [section.text for section in request.system], "tools": [declaration(tool) for tool in request.tools]}
    return "sha256:" + hashlib.sha256(lossless.dumps(prefix).encode()).hexdigest()

