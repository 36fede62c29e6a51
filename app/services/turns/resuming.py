"""A turn that waits goes on: what its client sent is stored, and the loop begins again where nothing is missing any more."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.config.limits import ACCEPT_TRIES_MAX
from app.entries import lossless
from app.entries.errors import ClaimExpired, Conflict, HeadMismatch, SessionBusy
from app.entries.ids import SESSION, TURN, format_id
from app.entries.messages import Entry, decode, encode, with_parts
from app.services.consequences import committed_events, follow, pending_json
from app.services.running import Facts, decode_options
from app.services.streams import Event, TurnKey, encode_events
from app.services.turns.desk import Accepted, Cast, Desk, remembered_turn
from app.services.turns.endings import SETTLED, next_event_base
from app.services.turns.inputs import IdempotencyKey
from app.services.write import Draft, loaded
from app.storage.rows import SessionRow, TurnRow
from app.storage.types import Append, Claim, EventRow, SessionPatch, TurnWrite
from app.turn.life import Life
from app.turn.reading import read_life


@dataclass(frozen=True, slots=True)
class Waiting:
    """A turn as it is found when its client sends something: its own entries with long texts inline, its agents, and its life so far."""

    tenant: UUID
    session: SessionRow
    row: TurnRow
    entries: list[Entry]
    cast: Cast
    life: Life


Fresh = Callable[[Waiting], Awaitable[list[Draft]]]
"""What of a request is not stored yet. Raises `Invalid` and `Conflict`."""


class Resuming:
    """What results and decisions have in common. Everything that follows from them is in the append that stores them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def post(
        self, tenant: UUID, session_id: str, turn_id: str, key: IdempotencyKey | None, expected_head: int | None, fresh: Fresh
    ) -> Accepted:
        """Stores the drafts that `fresh` gives, and goes on. Where it gives none the client is answered by the turn as it stands.

        Raises what `fresh` raises, `HeadMismatch`, `Conflict` for a settled turn, `SessionBusy` for one that runs; nothing is written then.
        """
        desk = self._desk
        for _ in range(ACCEPT_TRIES_MAX):
            session = await desk.views.session(tenant, session_id)
            row = await desk.views.turn(tenant, session.session_id, turn_id)
            again = await desk.replay(tenant, session, key)
            if again is not None:
                return again
            entries = await self._entries(tenant, session.session_id, row.number)
            cast = await desk.cast(tenant, session, entries)
            waiting = Waiting(tenant, session, row, entries, cast, read_life(entries, cast.policy(decode_options(row.options))))
            drafts = await fresh(waiting)
            if not drafts:
                return Accepted(session_id, turn_id, row.number, await self._last_wait(tenant, session.session_id, row))
            self._check(waiting, turn_id, expected_head)
            try:
                return await self._store(waiting, drafts, key)
            except (HeadMismatch, SessionBusy, ClaimExpired):
                continue  # with an expected head, the next look raises
        raise SessionBusy(turn_id)

    def _check(self, waiting: Waiting, turn_id: str, expected_head: int | None) -> None:
        """Raises where the turn does not wait, or not at the head that the client expects."""
        if waiting.row.status in SETTLED:
            raise turn_settled()
        if waiting.row.status != "requires_action":
            raise SessionBusy(turn_id)
        self._desk.check_open()
        if expected_head is not None and expected_head != waiting.session.head_seq:
            raise HeadMismatch(waiting.session.head_seq)

    async def _last_wait(self, tenant: UUID, session: UUID, row: TurnRow) -> int:
        """The cursor before the event that says what a waiting turn waits for; the start of the events of any other."""
        bounds = await self._desk.store.deltas.bounds(tenant, session, row.number) if row.status == "requires_action" else None
        return 0 if bounds is None else bounds[1] - 1

    async def _store(self, waiting: Waiting, drafts: list[Draft], key: IdempotencyKey | None) -> Accepted:
        desk = self._desk
        tenant, session, row, entries, cast = waiting.tenant, waiting.session, waiting.row, waiting.entries, waiting.cast
        options = decode_options(row.options)
        found = follow(entries, drafts, cast.policy(options), turn=row.number, head_seq=session.head_seq, input_seq=row.input_seq)
        base = next_event_base(row)
        drafts = found.drafts if found.awaited is not None else drafts
        events = [Event(base + 1 + at, name, data, seq) for at, (name, data, seq) in enumerate(committed_events(drafts, session.head_seq + 1))]
        append = Append(expected_head=session.head_seq, idempotency=remembered_turn(key, session.session_id, row.number, base))
        if found.awaited is not None:
            return await self._keep_waiting(tenant, session, row, drafts, pending_json(found.awaited.pending), append, events)
        facts = Facts(
            TurnKey(tenant, session.session_id, row.number),
            format_id(SESSION, session.session_id),
            row.turn_id,
            row.follows,
            row.retry_of,
            row.input_seq,
            options,
        )
        append = replace(
            append,
            claim=Claim(row.number, desk.holder, desk.lease_seconds),
            turn=TurnWrite(number=row.number, status="running", pending="[]"),
            session=SessionPatch(clear_pending=True),
            events=(EventRow(events[-1].id, encode_events(events)),) if events else (),
        )
        stored, blobs = await desk.writer.prepare(drafts)
        appended = await desk.claim(tenant, session, replace(append, entries=stored, blobs=blobs))
        if not appended.replayed:
            desk.begin(facts, cast, appended, stored, drafts, events, before=entries, last_event_id=base)
        cancels = options.cancels and not appended.replayed
        return Accepted(facts.session_id, format_id(TURN, row.turn_id), row.number, base, appended.replayed, cancels)

    async def _keep_waiting(
        self,
        tenant: UUID,
        session: SessionRow,
        row: TurnRow,
        drafts: list[Draft],
        pending: list[dict[str, Any]],
        append: Append,
        events: list[Event],
    ) -> Accepted:
        views, session_id = self._desk.views, session.session_id
        view = await views.view(tenant, session_id, row.number)
        coming = range(session.head_seq + 1, session.head_seq + 1 + len(drafts))
        shown = {"type": "turn.requires_action", "turn": {**view, "pending": pending, "entry_seqs": [*view["entry_seqs"], *coming]}}
        base = next_event_base(row)
        events = [*events, Event(base + len(events) + 1, "turn.requires_action", lossless.dumps(shown))]
        # The claim is taken and given back at once: it makes the ids of these events nobody else's, also after a purge.
        append = replace(
            append,
            claim=Claim(row.number, self._desk.holder, self._desk.lease_seconds),
            release=True,
            turn=TurnWrite(number=row.number, status="requires_action", pending=lossless.dumps(pending)),
            events=(EventRow(events[-1].id, encode_events(events)),),
        )
        appended = await self._desk.writer.append(tenant, session_id, drafts, append)
        return Accepted(format_id(SESSION, session_id), format_id(TURN, row.turn_id), row.number, base, appended.replayed)

    async def _entries(self, tenant: UUID, session: UUID, turn: int) -> list[Entry]:
        """The turn's entries with long texts put back inline, as the loop keeps them."""
        found = await self._desk.store.ledger.turn_entries(tenant, session, turn)
        digests = [digest for entry in found if entry.message_index is not None for digest in entry.blobs]
        texts = await self._desk.store.blobs.load(tenant, session, digests) if digests else {}
        return [_inline(entry, texts) if entry.blobs else entry for entry in found]


def turn_settled() -> Conflict:
    return Conflict("The turn is settled; its calls have their results.", "turn-settled")


def _inline(entry: Entry, texts: Mapping[str, tuple[str, bytes]]) -> Entry:
    if entry.payload is None or entry.message_index is None:  # a checkpoint names its artifact, and holds the summary itself
        return entry
    body = decode(entry.kind, entry.payload)
    return entry._replace(payload=encode(with_parts(body, tuple(loaded(part, texts) for part in body.parts))), blobs=())
