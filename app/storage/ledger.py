"""Entries: the one append, the window that a compile reads, raw reads in pages, and the walk along the digest chain."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from app.config.limits import LINES_PAGE_BYTES, LINES_RUN_ENTRIES, LIST_LIMIT_MAX, WINDOW_MESSAGES_MAX, WINDOW_PAGE_ENTRIES
from app.entries.errors import Conflict
from app.entries.kinds import KINDS, SETTINGS_KINDS, Family
from app.entries.line import PLAIN, Line, covered, decode_line
from app.entries.messages import Entry
from app.storage import decode
from app.storage.append_arguments import APPEND, arguments
from app.storage.groups import Groups, is_plain
from app.storage.pool import Pool
from app.storage.rows import EntryFilter, Lines, Problem, Shared, Verified, Window
from app.storage.types import Append, Appended

PROBLEMS_MAX = 100
"""Problems that one verification names; it stops there."""

_RARE_KINDS = frozenset(kind.name for kind in KINDS.values() if kind.family in (Family.SETTINGS, Family.FOLD))
"""Kinds whose entries have an index of their own."""

_WINDOW = "SELECT * FROM ledger.window_v2($1, $2, $3, $4, $5, $6, $7)"
_ENTRIES = "SELECT * FROM ledger.entries_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
_KIND_ENTRIES = "SELECT * FROM ledger.kind_entries_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
_LINES = "SELECT * FROM ledger.entry_lines_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
_SETTINGS = "SELECT * FROM ledger.settings_v1($1, $2, $3, $4)"
_FORK = "SELECT message_count, turn_count, pieces FROM ledger.fork_v1($1, $2)"
_ARCHIVE = "SELECT * FROM ledger.archive_lines_v1($1, $2, $3, $4, $5, $6, $7, $8)"
_LINE = "SELECT ledger.line_v1($1, $2, $3)"
_HEAD = "SELECT head_seq, head_digest, message_count, line FROM ledger.session_head_v1($1, $2)"
_VERIFY = "SELECT * FROM ledger.verify_v1($1, $2, $3, $4, $5, $6, $7)"


class Ledger:
    """A session's entries. Every call is one statement in AUTOCOMMIT (a long read: one a page) and names its tenant."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._groups = Groups(pool)

    async def append(self, tenant: UUID, session: UUID, append: Append) -> Appended:
        """Does all that `append` says, or nothing. `Append` says who may write.

        Raises `NotFound`, `HeadMismatch`, `SessionBusy`, `ClaimExpired`, `FenceLost`, `PendingAction`, `KeyReused`,
        `Conflict("exists")`, `Invalid` for text that Postgres cannot hold, `Unavailable`.
        """
        if is_plain(append):
            return await self._groups.append(tenant, session, append)
        rows = await self._pool.fetch(APPEND, *arguments(tenant, session, append))
        return decode.appended(rows[0])

    async def window(self, tenant: UUID, session: UUID, at_seq: int | None = None, line: Line | None = None) -> Window | None:
        """The window as it stands, or as it stood when `at_seq` was the head, along `line` instead of the session's own where one is
        given; None for an unknown session.

        One statement unless it holds more than `WINDOW_PAGE_ENTRIES` entries. Raises `Conflict("window-too-large")` rather
        than leave anything out.
        """
        along = None if line is None else line.spelled()
        rows = await self._pool.fetch(_WINDOW, tenant, session, at_seq, along, list(SETTINGS_KINDS), WINDOW_PAGE_ENTRIES, None)
        if not rows:
            return None
        head, rest = decode.window_head(rows[0]), rows[1:]
        settings: dict[str, Entry] = {}
        messages: list[Entry] = []
        folds: list[Entry] = []
        checkpoint: Entry | None = None
        while True:
            read = 0
            last = 0
            for row in rest:
                entry, part = decode.entry(row), row["part"]
                if part == "s":
                    settings[entry.kind] = entry
                    continue
                if part == "c":
                    checkpoint = entry
                    continue
                (messages if part == "m" else folds).append(entry)
                read, last = read + 1, entry.seq
            if read < WINDOW_PAGE_ENTRIES:
                break
            if len(messages) > WINDOW_MESSAGES_MAX:
                raise Conflict("The window holds too many messages; compact the session or rewind it.", "window-too-large")
            rest = await self._pool.fetch(_WINDOW, tenant, session, head.head_seq, along, None, WINDOW_PAGE_ENTRIES, last)
        if checkpoint is not None and checkpoint.payload is None:  # redacted since: what its summary stood for is told again
            return await self.window(tenant, session, head.head_seq, covered(head.line, None))
        return replace(head, messages=tuple(messages), folds=tuple(folds), settings=settings, checkpoint=checkpoint)

    async def entries(self, tenant: UUID, session: UUID, chosen: EntryFilter, limit: int) -> list[Entry]:
        """At most `limit` entries that fit, in the filter's order. An unknown session has none."""
        line, families, *bounds = _bounds(chosen)
        if families is None and chosen.kinds is not None and set(chosen.kinds) <= _RARE_KINDS:
            rows = await self._pool.fetch(_KIND_ENTRIES, tenant, session, line, *bounds, chosen.descending, limit)
        else:
            rows = await self._pool.fetch(_ENTRIES, tenant, session, line, families, *bounds, chosen.descending, limit)
        return [decode.entry(row) for row in rows]

    async def lines(self, tenant: UUID, session: UUID, chosen: EntryFilter, limit: int) -> list[Lines]:
        """The first entries that fit, oldest first whatever the filter's order, as the lines of JSON that the contract spells.

        At most `limit` of them, in runs of `LINES_RUN_ENTRIES` that end early where they are large; none at all only at the end.
        """
        rows = await self._pool.fetch(_LINES, tenant, session, *_bounds(chosen), limit, LINES_RUN_ENTRIES, LINES_PAGE_BYTES)
        return [Lines(*row) for row in rows]

    async def archive_lines(self, tenant: UUID, session: UUID, chosen: EntryFilter, limit: int) -> list[Lines]:
        """As `lines`, spelled as our own export has them. Of the filter count `line`, `after_seq` and `at_seq`, which has to be there."""
        bounds = None if chosen.line is None else chosen.line.encode(), chosen.after_seq, chosen.at_seq
        rows = await self._pool.fetch(_ARCHIVE, tenant, session, *bounds, limit, LINES_RUN_ENTRIES, LINES_PAGE_BYTES)
        return [Lines(*row) for row in rows]

    async def pages(self, tenant: UUID, session: UUID, chosen: EntryFilter, page: int = WINDOW_PAGE_ENTRIES) -> AsyncIterator[list[Entry]]:
        """All entries that fit, `page` at a time and no more in memory; no connection is held between two pages.

        The end is the head at the first page unless the filter has `at_seq` or `before_seq`; later entries may show at the end.
        """
        while True:
            found = await self.entries(tenant, session, chosen, page)
            if found:
                yield found
            if len(found) < page:
                return
            chosen = chosen.behind(found[-1].seq)

    async def entry(self, tenant: UUID, session: UUID, seq: int) -> Entry | None:
        """One entry of any line; None where there is none."""
        found = await self.entries(tenant, session, EntryFilter(line=None, after_seq=seq - 1, at_seq=seq), 1)
        return found[0] if found else None

    async def turn_entries(self, tenant: UUID, session: UUID, turn: int) -> list[Entry]:
        """Every entry of a turn, all families and lines, oldest first."""
        rows = await self._pool.fetch("SELECT * FROM ledger.turn_entries_v1($1, $2, $3)", tenant, session, turn)
        return [decode.entry(row) for row in rows]

    async def line_at(self, tenant: UUID, session: UUID, seq: int) -> Line:
        """The line that was current when `seq` was the head. A function of the entries alone; the plain line for an unknown session."""
        rows = await self._pool.fetch(_LINE, tenant, session, seq)
        return decode_line(rows[0][0])

    async def line_again(self, tenant: UUID, session: UUID, seq: int) -> Line:
        """That line as another one begins with it: a checkpoint that was redacted since stands for nothing any more."""
        line = await self.line_at(tenant, session, seq)
        if line.covered is None:
            return line
        holder = session if line.covered.session is None else UUID(line.covered.session)
        entry = await self.entry(tenant, holder, line.covered.seq)
        return covered(line, None) if entry is None or entry.payload is None else line

    async def settings(self, tenant: UUID, session: UUID, seq: int) -> dict[str, Entry]:
        """The latest entry of each settings kind when `seq` was the head, by kind."""
        rows = await self._pool.fetch(_SETTINGS, tenant, session, seq, list(SETTINGS_KINDS))
        return {entry.kind: entry for entry in map(decode.entry, rows)}

    async def shared(self, tenant: UUID, session: UUID) -> Shared | None:
        """What a fork shares with its ancestry; None for any other session."""
        rows = await self._pool.fetch(_FORK, tenant, session)
        return Shared(rows[0][0], rows[0][1], decode_line(rows[0][2])) if rows else None

    async def verify(self, tenant: UUID, session: UUID, progress: Callable[[int], None] | None = None) -> Verified | None:
        """Walks the chain from the first entry to the head of now, a fork's through its ancestry, in pages; None for an unknown session.

        `progress` hears the seq reached after each page. What was erased is no problem: the chain covers
        its digest. The blobs that entries name are digested too.
        """
        rows = await self._pool.fetch(_HEAD, tenant, session)
        if not rows:
            return None
        head_seq, head_digest, head_messages, head_line = rows[0]
        seq, digest, messages = 0, bytes(32), 0
        problems: list[Problem] = []
        shared = await self.shared(tenant, session)
        for piece in (PLAIN if shared is None else shared.whole).pieces:
            holder = session if piece.session is None else UUID(piece.session)
            last = head_seq if piece.through_seq is None else piece.through_seq
            while seq < last and len(problems) < PROBLEMS_MAX:
                page = (await self._pool.fetch(_VERIFY, tenant, holder, seq, last, digest, messages, LIST_LIMIT_MAX))[0]
                problems += [Problem(at, what) for at, what in zip(page["problem_seqs"], page["problems"], strict=True)]
                if page["last_seq"] is None:
                    break
                seq, digest, messages = page["last_seq"], page["last_digest"], page["messages"]
                if progress is not None:
                    progress(seq)
        line = (await self._pool.fetch(_LINE, tenant, session, head_seq))[0][0]
        if not problems and (seq, digest, messages, line) != (head_seq, head_digest, head_messages, head_line):
            problems.append(Problem(head_seq, "head"))
        return Verified(seq, digest, tuple(problems[:PROBLEMS_MAX]))


def _bounds(chosen: EntryFilter) -> tuple[Any, ...]:
    """What the reading functions take of a filter, in their order."""
    return (
        None if chosen.line is None else chosen.line.encode(),
        None if chosen.families is None else list(chosen.families),
        None if chosen.kinds is None else list(chosen.kinds),
        chosen.after_seq,
        chosen.before_seq,
        chosen.at_seq,
        chosen.hidden,
    )
