"""Ending turns from outside their loop: a cancel or a stop, a newer input, a waiting turn that is abandoned, a holder that is gone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar
from uuid import UUID

from app.config.limits import ACCEPT_TRIES_MAX, RECOVERIES_PER_SWEEP_MAX, STOP_WAIT_SECONDS_MAX
from app.entries.compactions import Checkpoint, CompactionFailed, CompactionRequested
from app.entries.errors import ClaimExpired, FenceLost, HeadMismatch, PendingAction, SessionBusy
from app.entries.messages import Entry, NewEntry
from app.entries.trace import CutReason, StopReason, StopRequested
from app.services.compactions.given_up import abandoned, given_up
from app.services.consequences import NO_SETTINGS, Consequences, committed_events, follow
from app.services.running import decode_options
from app.services.streams import Event, TurnKey, encode_events
from app.services.turns.desk import Desk
from app.services.turns.loop import error_json, rested, usage_of
from app.services.turns.mending import Mended, read_log
from app.services.write import Draft
from app.storage.rows import EntryFilter, SessionRow, TurnRow
from app.storage.types import EVENT_IDS_PER_CLAIM, NO_TURN, Append, EventRow, SessionPatch, TurnWrite

T = TypeVar("T")
SETTLED = frozenset({"completed", "failed", "cancelled", "interrupted"})


@dataclass(frozen=True, slots=True)
class Room:
    """What a new turn does about one that runs, and about one that waits."""

    on_busy: Literal["reject", "interrupt"] = "reject"
    on_pending: Literal["reject", "abandon"] = "reject"


REFUSING = Room()


class Endings:
    """Every ending is one append, decided by the same rules as the live loop."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def make_room(self, tenant: UUID, session: SessionRow, room: Room) -> SessionRow:
        """The session without a turn that runs or waits. Raises `SessionBusy` or `PendingAction` where the request does not end it."""
        views, running, pending = self._desk.views, session.running_turn, session.pending_turn
        if running is not None and not await self._settled_if_gone(tenant, session, running):
            if room.on_busy == "reject" or not await self.end(tenant, session.session_id, running, "interrupt", STOP_WAIT_SECONDS_MAX):
                raise SessionBusy(None if running == NO_TURN else await views.id_of(tenant, session.session_id, running))
        elif running is None and pending is not None:
            if room.on_pending == "reject":
                raise PendingAction(await views.id_of(tenant, session.session_id, pending))
            await self.end(tenant, session.session_id, pending, "interrupt", STOP_WAIT_SECONDS_MAX)
        elif running is None:
            return session
        return await self._again(tenant, session)

    async def end(self, tenant: UUID, session: UUID, number: int, reason: StopReason, wait_seconds: float) -> bool:
        """Ends a turn in whatever state it is, also one that is just handed to its client or taken back. False where it still runs."""
        if number == NO_TURN:
            return await self.stop(tenant, session, NO_TURN, reason, wait_seconds)
        for _ in range(ACCEPT_TRIES_MAX):
            row = await self._desk.views.turn_by_number(tenant, session, number)
            if row.status in SETTLED:
                return True
            if row.status == "requires_action":
                await self.settle_waiting(tenant, session, row, reason)
            elif not await self.stop(tenant, session, number, reason, wait_seconds):
                return False
        return False

    async def _again(self, tenant: UUID, session: SessionRow) -> SessionRow:
        found = await self._desk.store.sessions.get(tenant, session.session_id)
        return session if found is None else found

    async def _settled_if_gone(self, tenant: UUID, session: SessionRow, turn: int) -> bool:
        """Settles a turn whose holder is gone: the lease ran out, or a request to stop was not heard in time. The database's clock judges."""
        expired = await self._desk.store.claims.expired(RECOVERIES_PER_SWEEP_MAX)
        gone = any((claim.session, claim.fence) == (session.session_id, session.fence) for claim in expired)
        return gone and await self.recover(tenant, session.session_id, turn, session.fence)

    async def stop(self, tenant: UUID, session: UUID, number: int, reason: StopReason, wait_seconds: float) -> bool:
        """Asks the holder of a running turn, or of a session without one, to end it, durably; says whether it rested within the time."""
        desk = self._desk
        key = TurnKey(tenant, session, number)
        entry = NewEntry(StopRequested.kind, StopRequested(reason).encode(), number or None)
        current = await desk.store.sessions.get(tenant, session)
        if current is not None and current.running_turn == number and current.stop_requested_at is None:
            with contextlib.suppress(FenceLost):  # it came to rest meanwhile
                await desk.store.ledger.append(tenant, session, Append(entries=(entry,), beside=True, stop_turn=number))
        local = desk.running.get(key)
        if local is not None:
            local.stop.set()
            return await rested(local, wait_seconds)
        deadline = asyncio.get_running_loop().time() + wait_seconds
        while True:
            current = await desk.store.sessions.get(tenant, session)
            if current is None or current.running_turn != number:
                return True
            if await self._settled_if_gone(tenant, current, number):
                return True
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(0.1)

    async def settle_waiting(self, tenant: UUID, session: UUID, row: TurnRow, reason: StopReason) -> None:
        """Ends a turn that waits for its client: its open calls get error results. Nothing happens where it waits no more."""
        asked = Draft(StopRequested.kind, StopRequested(reason).encode(), row.number)
        for _ in range(ACCEPT_TRIES_MAX):
            current = await self._desk.store.sessions.get(tenant, session)
            if current is None or current.pending_turn != row.number or current.running_turn is not None:
                return
            try:
                await self._end(tenant, current, row, [asked], Append(session=SessionPatch(clear_pending=True)))
                return
            except (HeadMismatch, SessionBusy, ClaimExpired):
                continue
        raise SessionBusy

    async def recover(self, tenant: UUID, session: UUID, turn: int, fence: int) -> bool:
        """Settles a turn whose holder is gone, from its deltas, in the append that takes the claim. False where somebody else did."""
        desk = self._desk
        for _ in range(ACCEPT_TRIES_MAX):
            current = await desk.store.sessions.get(tenant, session)
            if current is None or current.running_turn != turn or current.fence != fence:
                return current is None or current.running_turn is None
            if turn == NO_TURN:
                if await self._released(tenant, current):
                    return True
                continue
            row = await desk.views.turn_by_number(tenant, session, turn)
            mended = await read_log(desk.streams, TurnKey(tenant, session, turn))
            try:
                await self._end(tenant, current, row, [], Append(takeover_fence=fence, release=True), "lease_lost", mended)
                return True
            except HeadMismatch:
                continue
            except (SessionBusy, FenceLost):
                return False
        return False

    async def _released(self, tenant: UUID, session: SessionRow) -> bool:
        """Gives back a session that was held for a compaction alone, with the compaction's end. False where something else happened."""
        desk = self._desk
        kinds = (CompactionRequested.kind, Checkpoint.kind, CompactionFailed.kind)
        own = EntryFilter(kinds=kinds, after_seq=session.parent_seq or 0, descending=True)  # a fork may share one that was under way
        last = await desk.store.ledger.entries(tenant, session.session_id, own, 1)
        requested = last[0] if last and last[0].kind == CompactionRequested.kind and last[0].turn is None else None
        append = Append(
            expected_head=session.head_seq,
            takeover_fence=session.fence,
            release=True,
            call=None if requested is None else abandoned(requested),
        )
        try:
            await desk.writer.append(tenant, session.session_id, [] if requested is None else [given_up(requested)], append)
        except (HeadMismatch, SessionBusy, FenceLost):
            return False
        return True

    async def after_the_gone(self, tenant: UUID, session: UUID, write: Callable[[], Awaitable[T]]) -> T:
        """What a write gives. One that finds the claim of a holder that is gone settles that turn first, and is tried again."""
        try:
            return await write()
        except ClaimExpired:
            current = await self._desk.store.sessions.get(tenant, session)
            if current is not None and current.running_turn is not None:
                await self.recover(tenant, session, current.running_turn, current.fence)
            return await write()

    async def _end(
        self,
        tenant: UUID,
        session: SessionRow,
        row: TurnRow,
        drafts: Sequence[Draft],
        append: Append,
        cut: CutReason | None = None,
        mended: Mended | None = None,
    ) -> None:
        """Appends the drafts and all that follows from them, up to the turn's end, with the events that tell of it."""
        desk = self._desk
        entries = await desk.store.ledger.turn_entries(tenant, session.session_id, row.number)
        cast = await desk.cast(tenant, session, entries)
        mended = mended or Mended()
        found = follow(
            entries,
            drafts,
            cast.policy(decode_options(row.options)),
            turn=row.number,
            head_seq=session.head_seq,
            input_seq=row.input_seq,
            cut=cut,
            settings=await desk.store.ledger.settings(tenant, session.session_id, session.head_seq) if cast.others else NO_SETTINGS,
            mend=lambda move: mended.drafts(move, row.number, entries),
        )
        events = await self._events(tenant, session, row, found)
        await desk.writer.append(
            tenant,
            session.session_id,
            found.drafts,
            Append(
                expected_head=session.head_seq,
                takeover_fence=append.takeover_fence,
                release=append.release,
                turn=_settled(row, found, entries),
                call=mended.write,
                session=_patch(append.session, found),
                events=(EventRow(events[-1].id, encode_events(events), row.number),),
            ),
        )

    async def _events(self, tenant: UUID, session: SessionRow, row: TurnRow, found: Consequences) -> list[Event]:
        base = next_event_base(row)
        status = found.settled.status if found.settled is not None else "interrupted"
        named = [*committed_events(found.drafts, session.head_seq + 1), (f"turn.{status}", "", 0)]
        return [Event(base + 1 + at, name, data, seq) for at, (name, data, seq) in enumerate(named)]


def _patch(asked: SessionPatch | None, found: Consequences) -> SessionPatch | None:
    """What the ending changes of the session, with the agent that it goes on with."""
    adopted = found.patch
    if asked is None or adopted is None:
        return asked or adopted
    return replace(adopted, clear_pending=asked.clear_pending)


def next_event_base(row: TurnRow) -> int:
    """The id behind everything that a client can have seen of a turn that nobody holds, however much of it was purged."""
    return row.claims * EVENT_IDS_PER_CLAIM


def _settled(row: TurnRow, found: Consequences, entries: Sequence[Entry]) -> TurnWrite:
    settled = found.settled
    if settled is None:
        raise RuntimeError("a turn was ended and did not settle")
    return TurnWrite(number=row.number, status=settled.status, error=error_json(settled.error), usage=usage_of(entries, found.drafts), settled=True)
