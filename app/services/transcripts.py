"""What happened: the ledger as entries, in pages, as a stream of lines, and live. Stored text is joined, not parsed and spelled again."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app.config.limits import BLOBS_LOADED_MAX, FOLLOW_POLL_MS_MAX, POLL_MS, RAW_PAGE_ENTRIES, RESPONSE_BYTES_MAX
from app.entries.errors import NotFound, SessionErased
from app.entries.ids import is_blob_digest
from app.entries.kinds import KINDS, Family
from app.entries.messages import Body, Entry, decode, encode, with_parts
from app.entries.parts import Media
from app.entries.wire import entry_json
from app.services.session_ids import session_row
from app.services.write import loaded
from app.storage.line_pages import line_pages
from app.storage.rows import EntryFilter, SessionRow
from app.storage.store import Store

SHOWN: tuple[str, ...] = tuple(kind.name for kind in KINDS.values() if kind.family is Family.MESSAGE and kind.shown)
"""The kinds of a transcript: messages alone. An interruption shows in the status of the answer that it cut."""


@dataclass(frozen=True, slots=True)
class RawQuery:
    """What to read. `line` None: the current one for a transcript, all of them for the ledger. Bounds but `at_seq` are exclusive."""

    view: Literal["transcript", "ledger"] = "transcript"
    line: Literal["current", "all"] | None = None
    after_seq: int = 0
    before_seq: int | None = None
    at_seq: int | None = None
    kinds: tuple[str, ...] | None = None
    descending: bool = False
    inline: bool = True

    @property
    def on_line(self) -> bool:
        return self.line == "current" or (self.line is None and self.view == "transcript")

    @property
    def chosen_kinds(self) -> tuple[str, ...] | None:
        """The kinds to read; None: all; empty: none of those asked for is in a transcript."""
        if self.view == "ledger":
            return self.kinds
        return SHOWN if self.kinds is None else tuple(kind for kind in self.kinds if kind in SHOWN)


@dataclass(frozen=True, slots=True)
class RawPage:
    """Entries as JSON texts; `next` is the seq to go on after (or before, descending), None at the end."""

    entries: list[str]
    next: int | None


class Transcripts:
    """Reads entries. Nothing here holds a database connection between two pages."""

    def __init__(self, store: Store, *, heartbeat_seconds: float) -> None:
        self._store = store
        self._heartbeat_seconds = heartbeat_seconds
        self._closing = False

    def close(self) -> None:
        """Ends every live reading at its next look, so that a server can stop."""
        self._closing = True

    async def session(self, tenant: UUID, session_id: str) -> SessionRow:
        """The row, whose head a reading is pinned to. Raises `NotFound`."""
        return await session_row(self._store.sessions, tenant, session_id)

    async def page(self, row: SessionRow, query: RawQuery, limit: int) -> RawPage:
        """One page as of the row's head. It ends early where the entries are very large."""
        chosen = await self._filter(row, query)
        if chosen is None:
            return RawPage([], None)
        found = await self._store.ledger.entries(row.tenant, row.session_id, chosen, limit + 1)
        texts: list[str] = []
        size = 0
        for part in _bounded(found[:limit]):
            for text in await self.rendered(row.tenant, row.session_id, part, inline=query.inline):
                if texts and size + len(text) > RESPONSE_BYTES_MAX:
                    return RawPage(texts, found[len(texts) - 1].seq)
                texts.append(text)
                size += len(text)
        return RawPage(texts, found[limit - 1].seq if len(found) > limit else None)

    async def lines(self, row: SessionRow, query: RawQuery, limit: int | None = None) -> AsyncIterator[bytes]:
        """All entries as of the row's head as NDJSON, piece by piece, in memory that does not grow with the session.

        The database spells them, but for runs of entries that name a blob, since a text may have to be put back, and for those in falling order.
        """
        chosen = await self._filter(row, query)
        if chosen is None:
            return
        ledger = self._store.ledger
        if chosen.descending:
            left = sys.maxsize if limit is None else limit
            async for entries in ledger.pages(row.tenant, row.session_id, chosen, RAW_PAGE_ENTRIES):
                async for piece in self._spelled(row, entries[:left], query.inline):
                    yield piece
                left -= len(entries)
                if left <= 0:
                    break
            return
        async with aclosing(line_pages(ledger.lines, row.tenant, row.session_id, chosen, limit)) as pages:
            async for runs in pages:
                for run in runs:
                    if run.has_blobs and query.inline:
                        entries = await ledger.entries(row.tenant, row.session_id, replace(chosen, at_seq=run.last_seq), run.entries)
                        async for piece in self._spelled(row, entries, inline=True):
                            yield piece
                    else:
                        yield run.text.encode()
                    chosen = chosen.behind(run.last_seq)

    async def _spelled(self, row: SessionRow, entries: Sequence[Entry], inline: bool) -> AsyncIterator[bytes]:
        """Lines that are spelled here, in pieces whose blobs may be in memory together."""
        for part in _bounded(entries):
            texts = await self.rendered(row.tenant, row.session_id, part, inline=inline)
            yield ("\n".join(texts) + "\n").encode()

    async def follow(self, row: SessionRow, query: RawQuery) -> AsyncIterator[tuple[int, str] | None]:
        """Entries from `after_seq` on as (seq, JSON), and those to come; None stands for silence. Ends when the service stops, or the
        session is erased.

        A line that is rewound meanwhile goes on: what was seen was seen, what comes is on the new line.
        """
        cursor, quiet_ms, wait_ms = query.after_seq, 0.0, POLL_MS
        current: SessionRow | None = row
        while current is not None and not self._closing:
            head = current.head_seq
            chosen = await self._filter(current, replace(query, after_seq=cursor, descending=False))
            if chosen is not None and head > cursor:
                async for entries in self._store.ledger.pages(row.tenant, row.session_id, chosen, RAW_PAGE_ENTRIES):
                    for part in _bounded(entries):
                        for entry, text in zip(part, await self.rendered(row.tenant, row.session_id, part, inline=query.inline), strict=True):
                            yield entry.seq, text
                            quiet_ms, wait_ms = 0.0, POLL_MS
            cursor = max(cursor, head)
            while current is not None and current.head_seq == head and not self._closing:
                await asyncio.sleep(wait_ms / 1000)
                quiet_ms += wait_ms
                if quiet_ms >= self._heartbeat_seconds * 1000:
                    quiet_ms = 0.0
                    yield None
                wait_ms = min(wait_ms + POLL_MS // 4, FOLLOW_POLL_MS_MAX)
                try:
                    current = await self._store.sessions.get(row.tenant, row.session_id)
                except SessionErased:
                    return

    async def _filter(self, row: SessionRow, query: RawQuery) -> EntryFilter | None:
        """The read that a query means, pinned to the row's head; None where it can only be empty."""
        kinds = query.chosen_kinds
        if kinds == ():
            return None
        at_seq = row.head_seq if query.at_seq is None else min(query.at_seq, row.head_seq)
        line = row.line if at_seq == row.head_seq else await self._store.ledger.line_at(row.tenant, row.session_id, at_seq)
        return EntryFilter(
            line=line if query.on_line else None,
            kinds=kinds,
            after_seq=query.after_seq,
            before_seq=query.before_seq,
            at_seq=at_seq,
            hidden=query.view == "ledger",
            descending=query.descending,
        )

    async def entry(self, tenant: UUID, session: UUID, seq: int) -> str:
        """One entry as JSON. Raises `NotFound`."""
        entry = await self._store.ledger.entry(tenant, session, seq)
        if entry is None:
            raise NotFound("There is no such entry.")
        return (await self.rendered(tenant, session, [entry]))[0]

    async def rendered(self, tenant: UUID, session: UUID, entries: Sequence[Entry], *, inline: bool = True) -> list[str]:
        """The entries as JSON texts. Only an entry whose text lies in a blob is parsed, to put it back; media stay references."""
        if not inline or not any(entry.blobs for entry in entries):
            return [entry_json(entry) for entry in entries]
        bodies = {entry.seq: body for entry in entries if (body := _body_with_text_blobs(entry)) is not None}
        digests = [digest for body in bodies.values() for digest in _text_digests(body)]
        texts = await self._store.blobs.load(tenant, session, digests) if digests else {}
        return [entry_json(entry, _inlined(bodies.get(entry.seq), texts)) for entry in entries]

    async def blob(self, tenant: UUID, session_id: str, digest: str) -> tuple[str, bytes]:
        """Media type and bytes of a blob of the session. Raises `NotFound`, `SessionErased`."""
        row = await self.session(tenant, session_id)
        if is_blob_digest(digest):
            found = await self._store.blobs.load(tenant, row.session_id, [digest])
            if digest in found:
                return found[digest]
        raise NotFound("The session holds no such blob.")


def _text_digests(body: Body) -> list[str]:
    """The blobs that hold text; those of images and files are not among them."""
    return [part.blob.digest for part in body.parts if not isinstance(part, Media) and part.blob is not None]


def _body_with_text_blobs(entry: Entry) -> Body | None:
    """The body of a message that keeps a text in a blob; None for every other entry, which is sent as stored."""
    if not entry.blobs or entry.payload is None or entry.message_index is None:
        return None
    body = decode(entry.kind, entry.payload)
    return body if _text_digests(body) else None


def _inlined(body: Body | None, texts: dict[str, tuple[str, bytes]]) -> str | None:
    if body is None:
        return None
    parts = tuple(
        part if isinstance(part, Media) or part.blob is None or part.blob.digest not in texts else loaded(part, texts) for part in body.parts
    )
    return encode(with_parts(body, parts))


def _bounded(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """The entries in runs whose blobs may be loaded together, so that a page of long texts is never in memory at once."""
    runs: list[Sequence[Entry]] = []
    start, weight = 0, 0
    for at, entry in enumerate(entries):
        if weight and weight + len(entry.blobs) > BLOBS_LOADED_MAX:
            runs.append(entries[start:at])
            start, weight = at, 0
        weight += len(entry.blobs)
    runs.append(entries[start:])
    return runs
