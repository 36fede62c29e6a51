"""Import: sessions of a file become sessions of the ledger, and the report says of each what was kept, changed and lost."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from app.config.limits import IMPORT_SESSIONS_MAX
from app.entries.errors import Conflict, Fault, HeadMismatch, Invalid
from app.entries.ids import SESSION, format_id
from app.entries.messages import NewEntry
from app.entries.settings import AgentAdopted
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.registry import IMPORTERS
from app.services.agents import Agents
from app.services.minting import new_uuid
from app.services.transfers.agents import Following
from app.services.transfers.alignment import Alignment, Diverged
from app.services.transfers.plan import BrokenExport, Step, archive_steps, plain_steps
from app.services.transfers.prepare import JSONL, Prepared, prepare
from app.services.write import Writer
from app.storage.rows import AgentRow, EntryFilter, SessionRow
from app.storage.store import Store
from app.storage.types import Append, NewBlob, SessionPatch

IMPORT_FORMATS: tuple[str, ...] = tuple(IMPORTERS)
TRIES_MAX = 3
"""Looks at a session that something else opens or writes at the same time."""

Progress = Callable[[int], None]


class Imports:
    """Reads files by the formats' importers and appends what they say."""

    def __init__(self, store: Store, writer: Writer, agents: Agents) -> None:
        self._store = store
        self._writer = writer
        self._agents = agents

    async def import_bytes(
        self,
        tenant: UUID,
        format: str,
        agent: str | None,
        data: Iterable[bytes],
        dry_run: bool = False,
        progress: Progress | None = None,
        may_put_agents: bool = True,
    ) -> dict[str, Any]:
        """Imports a file, given as pieces of bytes; returns `{"sessions": […]}` of http-api 8.

        Each session of the report also says how many of its messages were `already_stored`: the same file again adds nothing,
        one that has grown adds what is new. A `dry_run` reads and compares and writes nothing; a new session then has no id.
        `progress` hears how many more entries are stored. Sessions before one that fails stay.
        Raises `Invalid` for an unreadable file or an unknown format, `NotFound` for an agent, `Conflict("import-conflict")`
        for a session that holds another story, `Conflict("agent-differs")`, `SessionBusy`, `PendingAction`.
        """
        importer = IMPORTERS.get(format)
        if importer is None:
            raise Invalid([Fault("/format", "not-allowed", f"Import formats are {', '.join(IMPORT_FORMATS)}.")])
        following = Following(self._agents, self._store.agents, may_put_agents)
        named = None if format == JSONL and agent is None else await following.named(tenant, agent, dry_run)
        reports: list[dict[str, Any]] = []
        sessions = importer(data)
        while (session := await asyncio.to_thread(_next, sessions)) is not None:
            if len(reports) == IMPORT_SESSIONS_MAX:
                raise Invalid([Fault("", "too-many", f"One import may hold {IMPORT_SESSIONS_MAX} sessions; the first ones are stored.")])
            prepared = await prepare(self._writer, format, session)
            if format == JSONL and agent is None:
                await following.exported(tenant, prepared.agents, dry_run)
            await self._session(tenant, named, prepared, dry_run, progress or _unheard)
            reports.append(prepared.report())
        return {"sessions": reports}

    async def _session(self, tenant: UUID, agent: AgentRow | None, prepared: Prepared, dry_run: bool, progress: Progress) -> None:
        for _ in range(TRIES_MAX):
            existing = await self._find(tenant, prepared)
            missing = prepared.entries if existing is None else await self._missing(tenant, existing, prepared)
            prepared.missing = missing
            if dry_run or (existing is not None and not missing):
                return
            try:
                await self._append(tenant, existing, agent, prepared, missing, progress)
                return
            except HeadMismatch:
                continue
            except Conflict as error:
                if error.code != "exists":
                    raise
        raise Conflict("Something else writes to this session; import it again when that has ended.", "import-conflict")

    async def _find(self, tenant: UUID, prepared: Prepared) -> SessionRow | None:
        """The session that the file's session became before: an export's by its id, any other by its external id."""
        if prepared.session is not None:
            row = await self._store.sessions.get(tenant, prepared.session)
        else:
            row = await self._store.sessions.find_external(tenant, None, prepared.opening.external_id or "")
        prepared.found = None if row is None else format_id(SESSION, row.session_id)
        return row

    async def _missing(self, tenant: UUID, row: SessionRow, prepared: Prepared) -> tuple[NewEntry, ...]:
        """What the session lacks of the file. Raises `Conflict` where they tell two stories."""
        alignment = Alignment(prepared.entries)
        families = None if prepared.archive else ("m",)
        try:
            async for page in self._store.ledger.pages(tenant, row.session_id, EntryFilter(line=None, families=families, at_seq=row.head_seq)):
                for entry in page:
                    if not alignment.meet(entry):
                        return alignment.missing()
        except Diverged as error:
            raise Conflict(
                f"Entry {error.index} of the file is not what {prepared.found} holds: the file was changed since it was imported, not continued, "
                "or the session went on by itself.",
                "import-conflict",
            ) from None
        missing = alignment.missing()
        prepared.grown(alignment.grown)
        return missing

    async def _append(
        self, tenant: UUID, existing: SessionRow | None, agent: AgentRow | None, prepared: Prepared, missing: tuple[NewEntry, ...], progress: Progress
    ) -> None:
        session = existing.session_id if existing is not None else prepared.session or new_uuid()
        head = 0 if existing is None else existing.head_seq
        opening = None
        if existing is None:
            opening = prepared.opened_for(agent)
        for step in _steps(prepared, missing, existing):
            append = Append(
                entries=step.entries,
                expected_head=head,
                open=opening,
                turn=step.turn,
                session=None if step.last_turn is None else SessionPatch(last_turn=step.last_turn),
                blobs=_blobs(step.entries, prepared.blobs),
                refuse_pending=True,
            )
            head = (await self._store.ledger.append(tenant, session, append)).last_seq
            opening = None
            prepared.found = format_id(SESSION, session)
            progress(len(step.entries))
        if prepared.archive and agent is not None:
            adopted = NewEntry(AgentAdopted.kind, AgentAdopted(agent.name, agent.revision).encode())
            patch = SessionPatch(agent=agent.name, agent_revision=agent.revision, agent_follows=True, clear_model=True)
            await self._store.ledger.append(tenant, session, Append(entries=(adopted,), expected_head=head, session=patch))


def _steps(prepared: Prepared, missing: tuple[NewEntry, ...], existing: SessionRow | None) -> Iterator[Step]:
    try:
        if prepared.archive:
            opened = 0 if existing is None else existing.turn_count
            yield from archive_steps(prepared.entries, prepared.blobs, len(prepared.entries) - len(missing), opened)
        else:
            first = () if existing is not None else prepared.first
            yield from plain_steps((*first, *missing), prepared.blobs)
    except BrokenExport as error:
        raise Invalid([Fault("", "unreadable", str(error))], str(error), "unreadable-import") from None


def _blobs(entries: tuple[NewEntry, ...], blobs: dict[str, NewBlob]) -> tuple[NewBlob, ...]:
    return tuple({digest: blobs[digest] for entry in entries for digest in entry.blobs if digest in blobs}.values())


def _unheard(_done: int) -> None:
    """Where nobody watches."""


def _next(sessions: Iterator[ImportedSession]) -> ImportedSession | None:
    try:
        return next(sessions, None)
    except UnreadableImport as error:
        raise Invalid([Fault("", "unreadable", str(error))], str(error), "unreadable-import") from None
