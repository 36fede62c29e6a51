"""The doors of turns, as the edge uses them."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from app.config.limits import CANCEL_WAIT_SECONDS_MAX
from app.entries import lossless
from app.entries.errors import Conflict, SessionBusy
from app.entries.trace import StopReason
from app.services.pages import Page
from app.services.session_ids import session_uuid
from app.services.streams import TERMINAL, Event, Gone, TurnKey
from app.services.transcripts import Transcripts
from app.services.turns.accept import Acceptance, not_retryable, opening_again, opening_of
from app.services.turns.decisions import Decisions, GivenDecision
from app.services.turns.desk import Accepted, Desk
from app.services.turns.endings import SETTLED, Endings, Room
from app.services.turns.inputs import Again, ExtraMessage, IdempotencyKey, TurnInput
from app.services.turns.results import GivenResult, Results
from app.services.turns.views import turn_uuid
from app.storage.types import NO_TURN

RESTS = SETTLED | {"requires_action"}
RETRIED = frozenset({"failed", "interrupted", "cancelled"})


class TurnService:
    """Opens, shows, follows and ends turns. Ids are TypeIDs; those that do not parse are `NotFound`."""

    def __init__(self, desk: Desk, endings: Endings, transcripts: Transcripts) -> None:
        self._desk = desk
        self._endings = endings
        self._transcripts = transcripts
        self._acceptance = Acceptance(desk, endings)
        self._results = Results(desk)
        self._decisions = Decisions(desk)

    async def accept(self, tenant: UUID, session_id: str, wanted: TurnInput, key: IdempotencyKey | None = None) -> Accepted:
        """Accepts an input: durable when this returns, its loop started."""
        return await self._acceptance.open(tenant, session_id, opening_of(wanted), key, Room(wanted.on_busy, wanted.on_pending))

    async def repeat(
        self, tenant: UUID, session_id: str, turn_id: str, again: Again, *, sibling: bool, key: IdempotencyKey | None = None
    ) -> Accepted:
        """A new turn for the same input: `sibling` on a new line (regenerate), else in place of a last one that failed (retry).

        A turn that is still under way makes the session busy or pending as for any other write, and is ended first where the request says so.
        """
        session = await self._desk.views.session(tenant, session_id)
        replayed = await self._desk.replay(tenant, session, key)
        if replayed is not None:
            return replayed
        row = await self._desk.views.turn(tenant, session.session_id, turn_id)
        if row.input_seq is None:
            raise Conflict("The input of this turn was not stored; post it again.", "input-not-stored")
        room = Room(again.on_busy, again.on_pending)
        if row.status not in SETTLED:
            await self._endings.make_room(tenant, session, room)
            row = await self._desk.views.turn(tenant, session.session_id, turn_id)
            if row.status not in SETTLED:
                raise SessionBusy(turn_id)
        if not sibling and row.status not in RETRIED:
            raise not_retryable()
        opening = opening_again(row, again, sibling=sibling)
        return await self._acceptance.open(tenant, session_id, opening, key, room)

    async def tool_results(
        self,
        tenant: UUID,
        session_id: str,
        turn_id: str,
        results: Sequence[GivenResult],
        extra: Sequence[ExtraMessage] = (),
        key: IdempotencyKey | None = None,
        expected_head: int | None = None,
    ) -> Accepted:
        """Stores results of client tools; the turn goes on when none is missing."""
        return await self._results.post(tenant, session_id, turn_id, results, extra, key, expected_head)

    async def decide(
        self,
        tenant: UUID,
        session_id: str,
        turn_id: str,
        decisions: Sequence[GivenDecision],
        key: IdempotencyKey | None = None,
        expected_head: int | None = None,
    ) -> Accepted:
        """Stores decisions on calls that wait for an approval; the turn goes on when nothing is missing."""
        return await self._decisions.post(tenant, session_id, turn_id, decisions, key, expected_head)

    async def cancel(self, tenant: UUID, session_id: str, turn_id: str, reason: StopReason = "cancel") -> dict[str, Any]:
        """Ends a turn, durably; the Turn as it then stands (still `running` where its holder needs longer)."""
        session = (await self._desk.views.session(tenant, session_id)).session_id
        return await self._cancelled(tenant, session, (await self._desk.views.turn(tenant, session, turn_id)).number, reason)

    async def stop(self, tenant: UUID, session_id: str) -> dict[str, Any] | None:
        """Ends whatever runs or waits in the session; None where no turn does."""
        session = await self._desk.views.session(tenant, session_id)
        if session.running_turn == NO_TURN:
            await self._endings.stop(tenant, session.session_id, NO_TURN, "stop", CANCEL_WAIT_SECONDS_MAX)
            return None
        number = session.running_turn or session.pending_turn
        return None if number is None else await self._cancelled(tenant, session.session_id, number, "stop")

    async def _cancelled(self, tenant: UUID, session: UUID, number: int, reason: StopReason) -> dict[str, Any]:
        await self._endings.end(tenant, session, number, reason, CANCEL_WAIT_SECONDS_MAX)
        return await self._desk.views.view(tenant, session, number)

    async def view(self, tenant: UUID, session_id: str, turn_id: str) -> dict[str, Any]:
        """The Turn as it stands."""
        return await self._desk.views.view(tenant, (await self._desk.views.session(tenant, session_id)).session_id, turn_uuid(turn_id))

    async def page(self, tenant: UUID, session_id: str, after: int, limit: int) -> Page:
        """Turns with numbers above `after`, ascending."""
        session = await self._desk.views.session(tenant, session_id)
        found = await self._desk.views.views(tenant, session.session_id, after, limit + 1)
        return Page(found[:limit], found[limit - 1]["number"] if len(found) > limit else None)

    async def settled(self, tenant: UUID, accepted: Accepted) -> dict[str, Any]:
        """Waits until the turn is settled or waits for an action, wherever it runs, and gives it."""
        key = TurnKey(tenant, session_uuid(accepted.session_id), accepted.number)
        local = self._desk.running.get(key)
        if local is not None:
            await local.done.wait()
        view = await self._desk.views.view(*key)
        if view["status"] not in RESTS:
            async for _ in self._desk.streams.events(key, 0, lambda: self._rests(key)):
                pass
            view = await self._desk.views.view(*key)
        return view

    async def events(self, tenant: UUID, session_id: str, turn_id: str, after: int = 0) -> AsyncIterator[list[Event]] | None:
        """The turn's events beyond `after`, an empty list for silence; None where a settled turn has no more. Raises `Gone`."""
        session = (await self._desk.views.session(tenant, session_id)).session_id
        row = await self._desk.views.turn(tenant, session, turn_id)
        key = TurnKey(tenant, row.session, row.number)
        if row.status != "running" or after == 0:
            bounds = await self._desk.store.deltas.bounds(*key)
            if bounds is None or (after < bounds[0] and await self._lacks(key, after)):
                raise Gone("Events of this turn were purged; read the session's transcript.")
            if row.status in SETTLED and after >= bounds[1]:
                return None
        return self._events(key, after, session)

    async def answer(self, tenant: UUID, accepted: Accepted) -> AsyncIterator[list[Event]] | None:
        """The events that answer an accepted request, like `events`; nobody is asked where they are all in memory."""
        key = TurnKey(tenant, session_uuid(accepted.session_id), accepted.number)
        live = self._desk.streams.live(key)
        if live is not None and live.after(accepted.after) is not None:
            return self._events(key, accepted.after, key.session)
        return await self.events(tenant, accepted.session_id, accepted.turn_id, accepted.after)

    async def _lacks(self, key: TurnKey, after: int) -> bool:
        """Whether events behind the cursor may have been purged: ids rise by one from 1, but for a new holder's."""
        first = (await self._desk.streams.logged(key, 0))[:1]
        return not first or (first[0].id > 1 and after < first[0].id - 1)

    async def _events(self, key: TurnKey, after: int, session: UUID) -> AsyncIterator[list[Event]]:
        """The events of a turn, told as of `session`: the one that holds it, or a fork that shares it."""
        shown = key._replace(session=session)
        async for events in self._desk.streams.events(key, after, lambda: self._rests(key)):
            yield [event if event.data else await self._filled(shown, event) for event in events]

    async def _filled(self, key: TurnKey, event: Event) -> Event:
        """An event that the log keeps by reference: its entry, or the settled Turn."""
        if event.name in TERMINAL:
            view = await self._desk.views.view(*key)
            return event._replace(data=lossless.dumps({"type": event.name, "turn": view}))
        text = await self._transcripts.entry(key.tenant, key.session, event.seq)
        return event._replace(data=f'{{"type":"{event.name}","seq":{event.seq},"message":{text}}}')

    async def _rests(self, key: TurnKey) -> bool:
        row = await self._desk.store.turns.get(key.tenant, key.session, key.turn)
        return row is None or row.status in RESTS
