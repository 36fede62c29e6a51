"""Why an entry was in, changed or out of an input: its row of the account in words, with every step that led there."""

from collections.abc import Sequence
from typing import Any

from app.context.compile import Compiled
from app.context.draft import Disposition, Reason
from app.context.listed import Listed, listed
from app.context.reasons import FAMILIES, SENTENCES, Outside
from app.context.report import Pointer
from app.entries.folds import SkillLoaded
from app.entries.kinds import KINDS
from app.entries.line import PLAIN, Line
from app.entries.messages import Entry


def explained(compiled: Compiled, pointers: Sequence[Pointer], entry: Entry, line: Line = PLAIN) -> dict[str, Any]:
    """Disposition and reason as the manifest has them, the steps in their order, the sentence, and where the entry is sent.

    `source` is the position in the source map, None for what is not sent; `pointers` are all places of the body where something of the
    entry stands, what passes made of it among them (a moved image). A skill stands in the first part of its message. Tokens are None for an
    entry that is no source of the input.
    """
    row = _row(compiled, entry)
    if row is None:
        reason = outside(compiled, entry, line)
        step = {"pass": "window", "disposition": Disposition.EXCLUDED, "reason": reason}
        found = {"disposition": Disposition.EXCLUDED, "reason": reason, "also": [], "steps": [step], "sentence": SENTENCES[reason]}
        return {**found, "source": None, "pointers": [], "tokens_before": None, "tokens_after": None}
    decision, position = row.decision, row.position if row.place == "messages" else None
    places = [place for place, source, _ in pointers if _is_of(compiled, source, entry.seq)]
    if row.item is None and (position := _holder(compiled, entry)) is not None:
        places = [place for place, source, part in pointers if (source, part) == (position, 0)]
    steps = [(decision.by, decision.disposition, decision.reason)]
    if row.item is not None:
        steps = [(step.by, step.disposition, step.reason) for step in row.item.steps]
    return {
        "disposition": decision.disposition,
        "reason": decision.reason,
        "also": list(decision.also),
        "steps": [{"pass": by, "disposition": disposition, "reason": reason} for by, disposition, reason in steps],
        "sentence": SENTENCES[decision.reason],
        "source": position,
        "pointers": places,
        "tokens_before": decision.tokens_before,
        "tokens_after": decision.tokens_after,
    }


def outside(compiled: Compiled, entry: Entry, line: Line = PLAIN) -> Outside | Reason:
    """Why an entry is no source of the input at all. `line`: the one that was current at the input's head."""
    if entry.seq > compiled.sources.head_seq:
        return Outside.AFTER_HEAD
    checkpoint = compiled.sources.checkpoint
    if checkpoint is not None and entry.seq <= checkpoint.body.covers_through_seq and line.holds(entry.seq) and _is_said(entry):
        return Outside.COVERED
    if entry.kind == SkillLoaded.kind:  # it belongs to a line, as a message does, and is a source of its own unless it was erased
        return Outside.OTHER_LINE if entry.payload is not None else Reason.REDACTED
    # Settings and trace are what they are on every line; a message of the current line is always a source.
    return FAMILIES.get(KINDS[entry.kind].family, Outside.OTHER_LINE)


def _is_said(entry: Entry) -> bool:
    """Whether it belongs to a line: a message, or a skill that was read for one, unless its content was erased."""
    return entry.message_index is not None or (entry.kind == SkillLoaded.kind and entry.payload is not None)


def _row(compiled: Compiled, entry: Entry) -> Listed | None:
    """The entry's own row, or that of the source that it set (the state)."""
    message = entry.message_index is not None
    for row in listed(compiled, contents=False):
        source = row.decision.source
        if source.get("seq") == entry.seq and (source["kind"] == "entry" if message else source["kind"] not in ("entry", "rendered")):
            return row
    return None


def _holder(compiled: Compiled, entry: Entry) -> int | None:
    """The position of the message that a snapshot of a skill is part of; None for any other entry, and where it is out."""
    held = next((fate.message for fate in compiled.skills if fate.snapshot.seq == entry.seq), None)
    return None if held is None else next(at for at, message in enumerate(compiled.request.messages) if message is held)


def _is_of(compiled: Compiled, source: int, seq: int) -> bool:
    return getattr(compiled.request.messages[source].origin, "seq", None) == seq
