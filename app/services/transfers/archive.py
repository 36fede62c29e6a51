"""Our own export: every entry as it is stored, the blobs that it names, and the agents that it was compiled for."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from app.config.limits import IMPORT_LINE_BYTES_MAX, LIST_LIMIT_MAX
from app.entries import lossless
from app.entries.ids import SESSION, format_id
from app.entries.settings import AgentAdopted, SessionOpened
from app.formats.jsonl.write import write_blob, write_end, write_entry, write_head
from app.services.revisions import document_of
from app.storage.line_pages import line_pages
from app.storage.rows import EntryFilter, SessionRow
from app.storage.store import Store

AGENTS_BYTES_MAX = IMPORT_LINE_BYTES_MAX // 2
"""Documents in the first line; where there are more, an import has to find or name the agents."""


async def archived(store: Store, row: SessionRow) -> AsyncIterator[bytes]:
    """The lines of a session as of its head."""
    yield write_head(
        {
            "id": format_id(SESSION, row.session_id),
            "title": row.title,
            "external_id": row.external_id,
            "user": row.user,
            "metadata": lossless.loads(row.metadata),
            "agent": row.agent,
            "agent_revision": row.agent_revision,
            "agent_follows": row.agent_follows,
            "model": None if row.model is None else lossless.loads(row.model),
            "agents": await _agents(store, row),
        }
    )
    count = 0
    chosen = EntryFilter(line=None, at_seq=row.head_seq)
    async with aclosing(line_pages(store.ledger.archive_lines, row.tenant, row.session_id, chosen)) as pages:
        async for runs in pages:
            for run in runs:
                if run.has_blobs:
                    async for piece in _with_blobs(store, row, replace(chosen, at_seq=run.last_seq), run.entries):
                        yield piece
                else:
                    yield run.text.encode()
                chosen = chosen.behind(run.last_seq)
                count += run.entries
    yield write_end(count)


async def _with_blobs(store: Store, row: SessionRow, chosen: EntryFilter, limit: int) -> AsyncIterator[bytes]:
    """The first entries that fit, each behind the blobs that it names first, with one blob at a time in memory."""
    written: set[str] = set()
    for entry in await store.ledger.entries(row.tenant, row.session_id, chosen, limit):
        for digest in entry.blobs:
            if digest not in written:
                written.add(digest)
                for media_type, content in (await store.blobs.load(row.tenant, row.session_id, [digest])).values():
                    yield write_blob(digest, media_type, content)
        yield write_entry(entry)


async def _agents(store: Store, row: SessionRow) -> dict[str, list[Any]]:
    """Name → the documents of its revisions, from the first to the last one that the session names."""
    wanted: dict[str, int] = {}
    chosen = EntryFilter(line=None, kinds=(SessionOpened.kind, AgentAdopted.kind), at_seq=row.head_seq)
    async for page in store.ledger.pages(row.tenant, row.session_id, chosen, LIST_LIMIT_MAX):
        for entry in page:
            if entry.payload is not None:
                body = (SessionOpened if entry.kind == SessionOpened.kind else AgentAdopted).decode(entry.payload)
                wanted[body.agent] = max(body.revision, wanted.get(body.agent, 0))
    found: dict[str, list[Any]] = {}
    size = 0
    for name, last in wanted.items():
        documents: list[Any] = []
        while len(documents) < last:
            rows = await store.agents.revisions(row.tenant, name, after=len(documents), limit=min(LIST_LIMIT_MAX, last - len(documents)))
            if not rows:
                break
            page_documents = [document_of(one) for one in rows]
            size += sum(len(lossless.dumps(one).encode()) for one in page_documents)
            if size > AGENTS_BYTES_MAX:
                return {}
            documents += page_documents
        found[name] = documents
    return found
