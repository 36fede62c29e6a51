"""What all doors of a turn share: the services they stand on, the turns that run here, and how one is begun."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from app.context.sources import AgentRevision, Ephemeral
from app.entries import lossless
from app.entries.errors import Conflict, FenceLost, LedgerError, NotFound, Unavailable
from app.entries.ids import SESSION, format_id
from app.entries.messages import Entry, NewEntry
from app.entries.parts import Media
from app.entries.trace import ModelCallStarted, ToolStarted
from app.models.resolve import ModelChoice
from app.services.revisions import Revisions
from app.services.running import Facts, Options, Running, filled, policy_of, spelled_out
from app.services.states import States
from app.services.streams import Event, Streams, TurnKey
from app.services.targets import Targets, overridden
from app.services.turns.inputs import Fetch, IdempotencyKey, Said, with_fetched_media
from app.services.turns.loop import Loop
from app.services.turns.views import Views
from app.services.write import Draft, Writer
from app.storage.rows import SessionRow, StoredAnswer
from app.storage.store import Store
from app.storage.types import Append, Appended, IdempotencyWrite, committed
from app.turn.policy import Policy

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn that was accepted. Its events after `after` are the answer to the request; `replayed`: the key was known.

    `cancels`: the client that made the request ends the turn when it leaves.
    """

    session_id: str
    turn_id: str
    number: int
    after: int = 0
    replayed: bool = False
    cancels: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """The agents of a turn: the one that it began with, and those that took part since."""

    agent: AgentRevision
    others: Sequence[AgentRevision] = ()

    def policy(self, options: Options) -> Policy:
        """What they may do."""
        return policy_of(self.agent, options, self.others)


def _model_of(agent: AgentRevision, session: SessionRow) -> ModelChoice:
    """The model that the next call of a session is for, before a turn's own override."""
    if session.model is None:
        return agent.model
    switched = lossless.loads(session.model, 80)
    return ModelChoice(switched["upstream"], switched["name"], switched.get("params", {}))


@dataclass(slots=True)
class Desk:
    """One a process. `holder` names the process in its claims. `fetch`: None where nothing may be fetched."""

    store: Store
    writer: Writer
    revisions: Revisions
    states: States
    targets: Targets
    views: Views
    streams: Streams
    loop: Loop
    holder: UUID
    lease_seconds: float
    running: dict[TurnKey, Running] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    fetch: Fetch | None = None
    draining: bool = False
    closing: bool = False

    def check_open(self) -> None:
        """Raises `Unavailable` once the process is about to end: another replica takes the turn."""
        if self.draining:
            raise Unavailable("The service is stopping; send the request again, another replica takes it.", "shutting-down")

    async def replay(self, tenant: UUID, session: SessionRow, key: IdempotencyKey | None) -> Accepted | None:
        """The turn that a key opened before; None for a new key. Raises `KeyReused` for another body."""
        stored = None if key is None else await self.store.idempotency.find(tenant, key.route, key.key, key.digest)
        return None if stored is None else await self.replayed(tenant, session, stored)

    async def replayed(self, tenant: UUID, session: SessionRow, stored: StoredAnswer | None) -> Accepted:
        """The answer that was kept under a key."""
        if stored is None or stored.turn is None:
            raise Conflict("This key was used by a request that opened no turn.")
        turn_id = await self.views.id_of(tenant, session.session_id, stored.turn)
        after = 0 if stored.body is None else int(lossless.read(stored.body)["after"])
        return Accepted(format_id(SESSION, session.session_id), turn_id, stored.turn, after, True)

    async def agent(self, tenant: UUID, session: SessionRow) -> AgentRevision:
        """The revision that the session stands on now."""
        if session.agent is None or session.agent_revision is None:
            raise NotFound("The session has no agent; PATCH one.")
        return await self.revisions.get(tenant, session.agent, session.agent_revision)

    async def agent_of_turn(self, tenant: UUID, session: SessionRow, entries: Sequence[Entry]) -> AgentRevision:
        """The revision that a turn began with: that of its own run's calls. One that the session adopted since is for the next turn."""
        calls = (entry for entry in entries if entry.kind == ModelCallStarted.kind and entry.invocation == 0)
        started = next((entry.payload for entry in calls if entry.payload), None)
        body = None if started is None else ModelCallStarted.decode(started)
        if body is None or body.agent is None or body.agent_revision is None:
            return await self.agent(tenant, session)
        return await self.revisions.get(tenant, body.agent, body.agent_revision)

    async def cast(self, tenant: UUID, session: SessionRow, entries: Sequence[Entry]) -> Cast:
        """All agents of a turn so far: the one that it began with, and those that it was handed to or called."""
        begun = [ToolStarted.decode(entry.payload) for entry in entries if entry.kind == ToolStarted.kind and entry.payload]
        named = dict.fromkeys((one.agent, one.revision) for one in begun if one.agent is not None and one.revision is not None)
        others = [await self.revisions.get(tenant, name or "", revision or 0) for name, revision in named]
        return Cast(await self.agent_of_turn(tenant, session, entries), others)

    def check_model(self, agent: AgentRevision, session: SessionRow, override: Mapping[str, Any] | None) -> None:
        """Raises `Invalid` for a model that is not configured (any more), before anything is stored. `override` is the turn's own."""
        base = _model_of(agent, session)
        if not override:
            self.targets.upstream(base.upstream)  # what else it needs was frozen with the revision or the switch
            return
        choice, limits = overridden(base, agent.limits, override)
        self.targets.resolve(choice, limits, "/overrides/model")

    async def fetched(
        self, said: Sequence[Said], agent: AgentRevision, session: SessionRow, override: Mapping[str, Any] | None = None
    ) -> Sequence[Said]:
        """The messages with the bytes of what they name by URL, where the operator allows it and the model takes no URLs."""
        if self.fetch is None or not any(isinstance(part, Media) and part.url for one in said for part in one.parts):
            return said
        choice, limits = overridden(_model_of(agent, session), agent.limits, dict(override or {}))
        return await with_fetched_media(self.fetch, self.targets.resolve(choice, limits).rules, said)

    async def claim(self, tenant: UUID, session: SessionRow, append: Append) -> Appended:
        """The append that takes the session's claim. Where its answer is lost, a claim that it may have taken is let run out at once."""
        try:
            return await self.writer.ledger.append(tenant, session.session_id, append)
        except Unavailable:
            await self._let_go(session.session_id, session.fence + 1)
            raise

    async def _let_go(self, session: UUID, fence: int) -> None:
        """Ends the lease of a claim that nobody works under, so that the next sweep, or the next writer, settles its turn."""
        with contextlib.suppress(LedgerError):  # it runs out by itself
            await self.store.claims.renew(self.holder, [(session, fence)], 0)

    def begin(
        self,
        facts: Facts,
        cast: Cast,
        appended: Appended,
        entries: Sequence[NewEntry],
        drafts: Sequence[Draft],
        events: Sequence[Event],
        *,
        before: Sequence[Entry] = (),
        ephemeral: tuple[Ephemeral, ...] = (),
        media: Mapping[str, bytes] = MappingProxyType({}),
        last_event_id: int = 0,
    ) -> Running:
        """Starts the loop of a turn whose claim was just taken by an append of these entries and events.

        Where there are no events, the next one comes behind `last_event_id`.
        """
        written = spelled_out(committed(tuple(entries), appended), drafts)
        stream = self.streams.open(facts.key, appended.fence, events[-1].id if events else last_event_id)
        running = Running(
            facts,
            cast.policy(facts.options),
            cast.agent,
            appended.fence,
            appended.last_seq,
            stream,
            self.writer,
            [*before, *written],
            ephemeral,
            media,
            {(one.name, one.revision): one for one in cast.others},
        )
        stream.lost = running.lose
        by_seq = {entry.seq: entry for entry in written}
        stream.show([filled(event, by_seq.get(event.seq)) for event in events])
        self.hold(running, self.loop.run(running))
        return running

    def hold(self, running: Running, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Does work under a claim that was just taken: its lease is renewed until the work is over, and the end of the process ends it."""
        self.running[running.facts.key] = running
        if self.closing:
            running.draining = True
            running.stop.set()
        task = asyncio.create_task(self._run(running, work), name=f"turn {running.facts.session_id}")
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _run(self, running: Running, work: Coroutine[Any, Any, None]) -> None:
        """Works until the turn rests. One that was lost is left to whoever took it; one that fails here is given up."""
        try:
            await work
        except FenceLost:
            log.warning("turn %s of %s was taken over", running.number, running.facts.session_id)
        except Exception:
            log.exception("turn %s of %s stopped; it is settled from what was logged", running.number, running.facts.session_id)
            await self._give_up(running)
        finally:
            self.streams.close(running.stream)
            running.done.set()
            if self.running.get(running.facts.key) is running:
                del self.running[running.facts.key]

    async def _give_up(self, running: Running) -> None:
        """Logs what was said and lets the claim go."""
        running.lost = True
        with contextlib.suppress(LedgerError):
            await self.streams.flush()
        await self._let_go(running.facts.key.session, running.fence)


def remembered_turn(key: IdempotencyKey | None, session: UUID, turn: int, after: int = 0) -> IdempotencyWrite | None:
    """The row that ties a key to a turn and to the place in its events where the answer begins."""
    if key is None:
        return None
    return IdempotencyWrite(key.route, key.key, key.digest, 200, lossless.dumps({"after": after}), turn, session)
