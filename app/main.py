"""The application: services made once in the lifespan, put behind the edge, drained and closed in order."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import disk_usage

from fastapi import FastAPI

from app.api.app import build_api
from app.api.services import Services
from app.config.limits import DISK_FREE_BYTES_MIN
from app.config.settings import Settings, secrets_of
from app.entries.errors import LedgerError
from app.models.tokens import STAND_IN
from app.outbound.outbound import Outbound
from app.services.agents import Agents
from app.services.calls import ModelCalls
from app.services.checkpoints import Checkpoints
from app.services.clearing import Clearing
from app.services.compactions.attempts import Attempts
from app.services.compactions.choices import Choices
from app.services.compactions.hooks import Hooks, installed_hooks
from app.services.compactions.preflight import Overflows, Preflight
from app.services.compactions.reading import SummaryCalls
from app.services.compactions.requests import SummaryRequests
from app.services.counting import ExactCounts
from app.services.diffs import Diffs
from app.services.entries import Entries
from app.services.erasures import Deletions, Redactions
from app.services.explain import Explain
from app.services.explanations import Explanations
from app.services.forks import Forks
from app.services.inputs import Inputs
from app.services.keys import Keys
from app.services.media import Uploads
from app.services.minting import new_uuid
from app.services.model_list import ModelList
from app.services.plans import Plans
from app.services.prunings import Prunings
from app.services.replays import Replays
from app.services.revisions import Revisions
from app.services.session_changes import SessionChanges
from app.services.sessions import Sessions
from app.services.skill_snapshots import SkillSnapshots
from app.services.states import States
from app.services.streams import Streams
from app.services.targets import Targets
from app.services.tools import ToolRuns
from app.services.transcripts import Transcripts
from app.services.transfers.exports import Exports
from app.services.transfers.imports import Imports
from app.services.turns.compacting import Compactions
from app.services.turns.desk import Desk
from app.services.turns.endings import Endings
from app.services.turns.keeper import Keeper, stop_all
from app.services.turns.loop import Loop
from app.services.turns.service import TurnService
from app.services.turns.starting import Starting
from app.services.turns.views import Views
from app.services.usage import Usage
from app.services.verify import Verifier
from app.services.write import Writer
from app.storage.store import HEAD_REVISION, Store, open_store
from app.telemetry.logs import configure_logs
from app.telemetry.metrics import make_metrics


def create_app(settings: Settings) -> FastAPI:
    """The application of one process. `app.state.drain()` lets running turns end; the lifespan opens and closes everything."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if settings.database_url is None:
            raise RuntimeError("no database; `context-ledger serve` starts one, or set CONTEXT_LEDGER_DATABASE_URL")
        configure_logs(settings.log_level, settings.log_format, secrets_of(settings))
        store = await open_store(settings.database_url.reveal(), pool_size=settings.pool_size)
        outbound = Outbound(connections_max=settings.upstream_connections)
        house = House(settings, store, outbound)
        try:
            await house.open()
            app.state.services = house.services
            app.state.drain = house.drain
            yield
            await house.drain()
        finally:
            await house.close()
            await outbound.aclose()
            await store.close()

    return build_api(None, settings, lifespan)


class Readiness:
    """Whether this process may get requests: the database answers, its schema is ours, the disk has room, nothing is draining."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._data_dir = Path(settings.data_dir)
        self.draining = False

    async def checks(self) -> Mapping[str, bool]:
        """Every check by its name."""
        try:
            revision = await self._store.revision()
        except LedgerError:
            revision = None
        folder = self._data_dir if self._data_dir.is_dir() else Path()
        room = await asyncio.to_thread(disk_usage, folder)
        return {
            "database": revision is not None,
            "migrations": revision == HEAD_REVISION,
            "disk": room.free >= DISK_FREE_BYTES_MIN,
            "serving": not self.draining,
        }


class House:
    """Every service of one process, wired once."""

    def __init__(self, settings: Settings, store: Store, outbound: Outbound) -> None:
        self._settings = settings
        self._store = store
        self._tasks: list[asyncio.Task[None]] = []
        self._outbound = outbound
        self._targets = targets = Targets(settings.upstreams)
        servers = outbound.tool_servers(settings.tool_servers)
        revisions, views = Revisions(store.agents), Views(store)
        inputs = Inputs(store, revisions, targets)
        streams = Streams(store.deltas, flush_ms=settings.flush_ms, heartbeat_seconds=settings.heartbeat_seconds)
        writer = Writer(store.ledger, targets.counter(STAND_IN).count)
        states = States(store, revisions)
        counts, choices = ExactCounts(targets, outbound.count), Choices(targets)
        requests, attempts = _attempts(store, outbound, targets, inputs, counts)
        preflight = Preflight(choices, attempts)
        calls = ModelCalls(inputs, targets, outbound.channel_of, outbound.retry_of, counts, states, (Prunings(targets).relieve, preflight.relieve))
        loop = Loop(calls, views, Starting(ToolRuns(servers), revisions), Overflows(calls, preflight))
        desk = Desk(store, writer, revisions, states, targets, views, streams, loop, new_uuid(), settings.lease_seconds)
        if settings.fetch_media != "off":
            desk.fetch = outbound.media(private=settings.fetch_media == "any").fetch
        endings, deletions = Endings(desk), Deletions(store)
        self._keeper = Keeper(
            desk, endings, deletions, delta_retention_seconds=settings.delta_retention_seconds, idempotency_seconds=settings.idempotency_seconds
        )
        self._readiness = Readiness(store, settings)
        self._transcripts = Transcripts(store, heartbeat_seconds=settings.heartbeat_seconds)
        sessions = Sessions(store, revisions, states)
        checkpoints = Checkpoints(store)
        agents = Agents(store.agents, targets, servers)
        explain = Explain(store, inputs, states, requests, checkpoints)
        self.services = Services(
            agents=agents,
            models=ModelList(targets),
            sessions=sessions,
            forks=Forks(store, sessions),
            changes=SessionChanges(store, sessions, revisions, targets, endings, checkpoints),
            checkpoints=checkpoints,
            clearing=Clearing(store, sessions, endings),
            states=states,
            plans=Plans(store),
            usage=Usage(store, targets.upstreams),
            entries=Entries(store, writer, self._transcripts, endings),
            transcripts=self._transcripts,
            uploads=Uploads(store.blobs),
            verifier=Verifier(store.ledger),
            keys=Keys(store.keys),
            replays=Replays(store),
            skill_snapshots=SkillSnapshots(store),
            turns=TurnService(desk, endings, self._transcripts),
            compactions=Compactions(desk, endings, inputs, counts, choices, attempts),
            inputs=explain,
            diffs=Diffs(explain),
            explanations=Explanations(store, explain),
            imports=Imports(store, writer, agents),
            exports=Exports(store),
            deletions=deletions,
            redactions=Redactions(store),
            readiness=self._readiness,
            metrics=make_metrics() if settings.metrics_enabled else None,
        )

    async def open(self) -> None:
        """Seeds the bootstrap key, asks providers for their models where the operator wants it, and starts what runs beside the turns."""
        await self.services.keys.seed(self._settings.bootstrap_key)
        for upstream, limits in (await self._outbound.listed_limits(self._targets.upstreams.values())).items():
            self._targets.learn(upstream, limits)
        self._tasks = self._keeper.start()

    async def drain(self) -> None:
        """No new turn, time for those that run, then each is settled as interrupted with what it has. Done once."""
        if not self._readiness.draining:
            self._readiness.draining = True
            await self._keeper.drain(self._settings.drain_seconds)
            self._transcripts.close()

    async def close(self) -> None:
        """Stops the background."""
        await stop_all(self._tasks)


def _attempts(store: Store, outbound: Outbound, targets: Targets, inputs: Inputs, counts: ExactCounts) -> tuple[SummaryRequests, Attempts]:
    """Who asks for summaries, and who takes them."""
    requests, calls = SummaryRequests(inputs, targets), SummaryCalls(targets, outbound.channel_of, outbound.retry_of)
    return requests, Attempts(inputs, requests, calls, counts, store.blobs, Hooks(installed_hooks()))
