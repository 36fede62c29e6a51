"""A call whose reader is gone: its answer and its attempts, as far as the delta log tells of them; and a summary whose end nobody saw."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import from_event
from app.entries.ids import CALL, parse_id
from app.entries.messages import Entry, Status
from app.entries.trace import ModelCallFinished, ModelCallStarted
from app.services.call_records import lost_attempt_json
from app.services.compactions.given_up import abandoned, given_up
from app.services.streams import Streams, TurnKey
from app.services.write import Draft
from app.storage.types import CallWrite
from app.turn.moves import GiveUp, Mend


@dataclass(slots=True)
class Mended:
    """What is known of a turn's last call. `write` is the change of its row, once `drafts` was asked."""

    call_id: str | None = None
    fold: AnswerFold = field(default_factory=AnswerFold)
    failed: list[dict[str, Any]] = field(default_factory=list)
    write: CallWrite | None = None

    def drafts(self, move: Mend | GiveUp, turn: int, entries: Sequence[Entry]) -> list[Draft]:
        """The partial answer, where anything was said, and the call's end; or the end of a summary. `entries` are the turn's own."""
        if isinstance(move, GiveUp):
            requested = next(entry for entry in entries if entry.seq == move.requested_seq)
            self.write = abandoned(requested)
            return [given_up(requested)]
        known = self if self.call_id == move.call_id else Mended()
        begun = _started(entries, move.call_id)
        started = None if begun is None else ModelCallStarted.decode(begun.payload or "")
        answer = known.fold.answer(Status(move.status), None if started is None else started.model, move.call_id)
        status = "abandoned" if move.status == "interrupted" and not answer.parts else move.status
        attempts = [*known.failed, lost_attempt_json(len(known.failed) + 1, "abandoned")]
        finished = ModelCallFinished(move.call_id, status, error=move.error, attempts=len(attempts))
        uuid = parse_id(CALL, move.call_id)
        if uuid is not None:
            offset = 0 if answer.parts else None
            self.write = CallWrite(uuid, turn=turn, status=status, attempts=lossless.dumps(attempts), answer_offset=offset)
        end = Draft(finished.kind, finished.encode(), turn)
        drafts = [Draft("assistant_message", answer, turn), end] if answer.parts else [end]
        return [replace(draft, agent=begun.agent, invocation=begun.invocation, hidden=begun.hidden) for draft in drafts] if begun else drafts


async def read_log(streams: Streams, key: TurnKey) -> Mended:
    """What was said and tried under the turn's last call, as far as the log holds it."""
    mended, cursor = Mended(), 0
    while events := await streams.logged(key, cursor):
        cursor = events[-1].id
        for event in events:
            if not event.data:
                continue
            if event.name == "call.started":
                mended = Mended(lossless.read(event.data)["call_id"])
            elif event.name == "attempt.failed":
                data = lossless.read(event.data)
                mended.failed.append(lost_attempt_json(data["attempt"], "failed", data["error"].get("attempt_status")))
            elif (delta := from_event(event.name, lossless.read(event.data))) is not None:
                mended.fold.add(delta)
    return mended


def _started(entries: Sequence[Entry], call_id: str) -> Entry | None:
    """The entry that began the call: whose run it was, its end is of too."""
    calls = (entry for entry in reversed(entries) if entry.kind == ModelCallStarted.kind and entry.payload)
    return next((entry for entry in calls if ModelCallStarted.decode(entry.payload or "").call_id == call_id), None)
