"""Import: sessions of a file become sessions of the ledger, and the report says of each what was kept, changed and lost."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.config.limits import ATTRIBUTES_BYTES_MAX, ENTRIES_PER_APPEND_MAX, IDENTIFIER_CHARS_MAX, IMPORT_SESSIONS_MAX, TITLE_CHARS_MAX
from app.entries.errors import Conflict, Fault, HeadMismatch, Invalid, NotFound
from app.entries.ids import SESSION, format_id
from app.entries.messages import NewEntry
from app.entries.settings import SessionOpened
from app.formats.protocols import ImportedSession, Note, UnreadableImport
from app.formats.registry import IMPORTERS
from app.services.agents import Agents
from app.services.minting import new_uuid
from app.services.write import Draft, Writer
from app.storage.rows import AgentRow, EntryFilter, SessionRow
from app.storage.store import Store
from app.storage.types import Append, NewBlob, OpenSession

IMPORT_FORMATS: tuple[str, ...] = tuple(IMPORTERS)
DEFAULT_AGENT = "imported"
DEFAULT_DOCUMENT: dict[str, Any] = {
    "model": {"upstream": "scripted", "name": "scripted"},
    "limits": {"context_window": 200_000, "max_output_tokens": 8_192},
}
"""What imported sessions follow where nobody names an agent: the built-in upstream, until a document is put under the name."""

BATCH_BYTES_MAX = 8 * 2**20
"""Payloads and blobs of one append, unless a single entry is larger."""
OPENINGS_MAX = 3
"""Looks at a session that another import opens at the same time."""

Progress = Callable[[int], None]


@dataclass(slots=True)
class _Prepared:
    """One session of the file as it will be stored, and its row of the report."""

    external_id: str
    entries: tuple[NewEntry, ...]
    blobs: dict[str, NewBlob]
    title: str | None
    report: dict[str, Any]


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
    ) -> dict[str, Any]:
        """Imports a file, given as pieces of bytes; returns `{"sessions": […]}` of http-api 8.

        Each session of the report also says how many of its messages were `already_stored`. A `dry_run` reads and compares
        and writes nothing; new sessions then have no id. `progress` hears of entries as they are stored.
        Raises `Invalid` for an unreadable file or an unknown format, `NotFound` for an agent, `Conflict("import-conflict")`.
        """
        importer = IMPORTERS.get(format)
        if importer is None:
            raise Invalid([Fault("/format", "not-allowed", f"Import formats are {', '.join(IMPORT_FORMATS)}.")])
        row = await self._agent(tenant, agent, dry_run)
        found: list[dict[str, Any]] = []
        sessions = importer(data)
        while (session := await asyncio.to_thread(_next, sessions)) is not None:
            if len(found) == IMPORT_SESSIONS_MAX:
                raise Invalid([Fault("", "too-many", f"One import may hold {IMPORT_SESSIONS_MAX} sessions; the first ones are stored.")])
            prepared = await self._prepare(format, session)
            await self._store_session(tenant, row, prepared, dry_run, progress or _unheard)
            found.append(prepared.report)
        return {"sessions": found}

    async def _agent(self, tenant: UUID, name: str | None, dry_run: bool) -> AgentRow | None:
        row = await self._store.agents.get(tenant, name or DEFAULT_AGENT)
        if row is None and name is not None:
            raise NotFound(f"There is no agent {name}; put its document first.")
        if row is None and not dry_run:
            await self._agents.put(tenant, DEFAULT_AGENT, DEFAULT_DOCUMENT)
            row = await self._store.agents.get(tenant, DEFAULT_AGENT)
        return row

    async def _prepare(self, format: str, session: ImportedSession) -> _Prepared:
        lost, changed = list(session.lost), list(session.changed)
        drafts = [_draft(number, session, lost) for number in range(len(session.entries))]
        entries, blobs = await self._writer.prepare(drafts)
        title = session.title
        if title is not None and len(title) > TITLE_CHARS_MAX:
            title = title[:TITLE_CHARS_MAX]
            changed.append(Note("title", "length", f"cut to {TITLE_CHARS_MAX} characters"))
        report = {
            "id": None,
            "title": title,
            "messages": len(entries),
            "kept": session.kept,
            "already_stored": 0,
            "changed": [_note(note) for note in changed],
            "lost": [_note(note) for note in lost],
        }
        return _Prepared(_external_id(format, session, entries), entries, {blob.digest: blob for blob in blobs}, title, report)

    async def _store_session(self, tenant: UUID, agent: AgentRow | None, prepared: _Prepared, dry_run: bool, progress: Progress) -> None:
        for _ in range(OPENINGS_MAX):
            existing = await self._store.sessions.find_external(tenant, None, prepared.external_id)
            stored = 0 if existing is None else await self._stored(tenant, existing, prepared)
            if existing is not None:
                prepared.report |= {"id": format_id(SESSION, existing.session_id), "already_stored": min(stored, len(prepared.entries))}
            progress(min(stored, len(prepared.entries)))
            if dry_run or stored >= len(prepared.entries) > 0:
                return
            try:
                await self._append(tenant, existing, agent, prepared, stored, progress)
                return
            except (HeadMismatch, Conflict) as error:
                if isinstance(error, Conflict) and error.code != "exists":
                    raise
        raise Conflict("Something else writes to this session; import it again when that has ended.", "import-conflict")

    async def _stored(self, tenant: UUID, row: SessionRow, prepared: _Prepared) -> int:
        """How many messages the session holds already. Raises `Conflict` unless they and the file's begin alike, as far as both go."""
        at = 0
        chosen = EntryFilter(line=None, families=("m",), at_seq=row.head_seq)
        async for page in self._store.ledger.pages(tenant, row.session_id, chosen):
            for entry in page:
                if at < len(prepared.entries) and (entry.kind, entry.payload) != (prepared.entries[at].kind, prepared.entries[at].payload):
                    raise Conflict(
                        f"Message {at} of the file is not what {format_id(SESSION, row.session_id)} holds; that session came from an earlier state "
                        "of this file that was changed, not continued.",
                        "import-conflict",
                    )
                at += 1
        return at

    async def _append(
        self, tenant: UUID, existing: SessionRow | None, agent: AgentRow | None, prepared: _Prepared, stored: int, progress: Progress
    ) -> None:
        session = new_uuid() if existing is None else existing.session_id
        head = 0 if existing is None else existing.head_seq
        if existing is None:
            if agent is None:
                raise NotFound("There is no such agent; put its document first.")
            opened = NewEntry(SessionOpened.kind, SessionOpened(agent.name, agent.revision).encode())
            opening = OpenSession(agent.name, agent.revision, title=prepared.title, external_id=prepared.external_id)
            head = (await self._store.ledger.append(tenant, session, Append(entries=(opened,), open=opening))).last_seq
            prepared.report["id"] = format_id(SESSION, session)
        for batch in _batches(prepared.entries[stored:], prepared.blobs):
            blobs = tuple({digest: prepared.blobs[digest] for entry in batch for digest in entry.blobs if digest in prepared.blobs}.values())
            head = (await self._store.ledger.append(tenant, session, Append(entries=batch, expected_head=head, blobs=blobs))).last_seq
            progress(len(batch))


def _unheard(_done: int) -> None:
    """Where nobody watches."""


def _next(sessions: Iterator[ImportedSession]) -> ImportedSession | None:
    try:
        return next(sessions, None)
    except UnreadableImport as error:
        raise Invalid([Fault("", "unreadable", str(error))], "The file is not of the format that was named.", "unreadable-import") from None


def _draft(number: int, session: ImportedSession, lost: list[Note]) -> Draft:
    message = session.entries[number]
    attributes = message.attributes
    if attributes is not None and len(attributes.encode()) > ATTRIBUTES_BYTES_MAX:
        lost.append(Note(f"message {number}", "attributes", f"larger than {ATTRIBUTES_BYTES_MAX} bytes"))
        attributes = None
    media = {part.blob.digest: session.blobs[part.blob.digest] for part in message.body.parts if part.blob and part.blob.digest in session.blobs}
    return Draft(message.kind, message.body, None, message.hidden, message.include_in_context, attributes, message.at, media=media)


def _external_id(format: str, session: ImportedSession, entries: Sequence[NewEntry]) -> str:
    """By what the file calls the session, else by its content, so that the same file again finds it."""
    name = session.external_id
    if name is None or len(name) + len(format) >= IDENTIFIER_CHARS_MAX or "\0" in name:
        content = hashlib.sha256()
        for entry in entries:
            content.update(f"{entry.kind}\n{entry.payload}\n".encode())
        name = f"sha256:{content.hexdigest()}"
    return f"{format}:{name}"


def _batches(entries: Sequence[NewEntry], blobs: dict[str, NewBlob]) -> Iterator[tuple[NewEntry, ...]]:
    """Appends that stay within the limits of one."""
    batch: list[NewEntry] = []
    size = 0
    for entry in entries:
        bytes_of = len(entry.payload) + sum(len(blobs[digest].body) for digest in entry.blobs if digest in blobs)
        if batch and (len(batch) == ENTRIES_PER_APPEND_MAX or size + bytes_of > BATCH_BYTES_MAX):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(entry)
        size += bytes_of
    if batch:
        yield tuple(batch)


def _note(note: Note) -> dict[str, str]:
    return {"source": note.source, "what": note.what, "why": note.why}
