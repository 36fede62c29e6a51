"""What keeps the entries of a file within the size of an entry: other programs know no such bound.

Texts move to blobs by themselves (`services/write.py`). What a provider put beside a part does not, so where that is too much it becomes
an opaque part of its own, which does. What is too large even so is lost, and said so.
"""

from collections.abc import Sequence

from app.config.limits import PAYLOAD_INLINE_BYTES_MAX
from app.entries import lossless
from app.entries.messages import Body, NewEntry, with_parts
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall, with_block
from app.formats.protocols import Note

BESIDE_BYTES_MAX = PAYLOAD_INLINE_BYTES_MAX * 3 // 2
"""All that stands beside the parts of one entry, spelled as JSON."""
ENTRY_BYTES_MAX = 2 * PAYLOAD_INLINE_BYTES_MAX
"""A payload with its texts apart; below what the ledger refuses."""


def lightened(body: Body, number: int, changed: list[Note]) -> Body:
    """The body of message `number`, its largest blocks apart from their parts where all of them are too much."""
    sizes = [0 if (block := _beside(part)) is None else len(lossless.dumps(block).encode()) for part in body.parts]
    total = sum(sizes)
    if total <= BESIDE_BYTES_MAX:
        return body
    apart: set[int] = set()
    for index in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        if total <= BESIDE_BYTES_MAX:
            break
        apart.add(index)
        total -= sizes[index]
    changed.append(Note(f"message {number}", "opaque", "what a provider put beside a part is too large for that: it is a part of its own"))
    parts = [piece for index, part in enumerate(body.parts) for piece in (_apart(part) if index in apart else (part,))]
    return with_parts(body, tuple(parts))


def fitted(entries: Sequence[NewEntry], lost: list[Note]) -> tuple[NewEntry, ...]:
    """The entries that the ledger takes; the others are noted as lost."""
    found = []
    for number, entry in enumerate(entries):
        if len(entry.payload) * 4 > ENTRY_BYTES_MAX and len(entry.payload.encode()) > ENTRY_BYTES_MAX:
            lost.append(Note(f"message {number}", entry.kind, f"larger than {ENTRY_BYTES_MAX} bytes even with its texts apart"))
        else:
            found.append(entry)
    return tuple(found)


def _beside(part: Part) -> str | None:
    return part.opaque if isinstance(part, Text | Reasoning | ToolCall) else None


def _apart(part: Part) -> tuple[Part, ...]:
    """The block, and the part without it."""
    block = _beside(part)
    if block is None:
        return (part,)
    producer = getattr(part, "producer", None) or "unknown"
    kept = Opaque(producer.partition("/")[0], producer, block, "beside a part")
    return (kept, with_block(part, None, None))
