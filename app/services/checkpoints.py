"""Checkpoints: read, and chosen to stand for the older messages of a line.

A checkpoint stands for the entries that were on its line when it was made. It fits every line that holds the same ones up to the last that
it covers, that of another branch or of a fork too.
"""

from typing import Any
from uuid import UUID

from app.context.telling import summary_text
from app.entries.compactions import Checkpoint
from app.entries.errors import Fault, Invalid, NotFound
from app.entries.ids import CHECKPOINT, parse_id
from app.entries.line import Covered, Line, covered, forked, same_until
from app.entries.trace import usage_to_json
from app.entries.wire import timestamp
from app.services.pages import Page
from app.services.session_ids import session_row
from app.storage.checkpoints import CheckpointRow
from app.storage.rows import SessionRow
from app.storage.store import Store

LATEST, NONE = "latest", "none"
_PAGE = 16
"""Checkpoints that are looked at together for one that fits; each may have 64 KiB."""
UNKNOWN_CHECKPOINT = "There is no such checkpoint in this session or in those that it was forked from."

_ERASED = "What this checkpoint covered was erased in part; choose another one, or `none`."
_OTHER_LINE = "This checkpoint covers messages that the line does not hold; make its line current first (`PUT …/line`), or choose another one."


class Checkpoints:
    """Reads alone; that one is chosen is an entry that `SessionChanges` appends."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, tenant: UUID, session_id: str, after: int, limit: int) -> Page:
        """Checkpoints of all lines behind that seq, oldest first. Raises `NotFound`."""
        row = await session_row(self._store.sessions, tenant, session_id)
        rows = await self._store.checkpoints.list(tenant, row.session_id, limit + 1, after_seq=after, at_seq=row.head_seq)
        return Page([_json(one, row) for one in rows[:limit]], rows[limit - 1].entry.seq if len(rows) > limit else None)

    async def one(self, tenant: UUID, session_id: str, checkpoint_id: str) -> dict[str, Any]:
        """One checkpoint of any line. Raises `NotFound`."""
        row = await session_row(self._store.sessions, tenant, session_id)
        return _json(await self._named(tenant, row.session_id, checkpoint_id, None), row)

    async def chosen(self, tenant: UUID, session: UUID, line: Line, asked: str, at_seq: int) -> Line:
        """The line with what `asked` names standing for its oldest messages: a checkpoint's id, `none`, or `latest`, the newest that fits.

        Only checkpoints made up to `at_seq` count. Where none fits, `latest` is `none`. Raises `NotFound` for an id that nobody knows,
        `Invalid` for a checkpoint that does not fit or whose content was erased.
        """
        if asked == NONE:
            return covered(line, None)
        if asked == LATEST:
            return await self._latest(tenant, session, line, at_seq)
        row = await self._named(tenant, session, asked, at_seq)
        if row.entry.payload is None:
            raise Invalid([Fault("/checkpoint", "erased", _ERASED)])
        mark = _mark(row, session)
        if not _fits(row, mark, line):
            raise Invalid([Fault("/checkpoint", "other-line", _OTHER_LINE)])
        return covered(line, mark)

    async def _latest(self, tenant: UUID, session: UUID, line: Line, at_seq: int) -> Line:
        page = 1  # nearly always it is the newest of all
        while True:
            rows = await self._store.checkpoints.list(tenant, session, page, at_seq=at_seq, descending=True)
            for row in rows:
                mark = _mark(row, session)
                if row.entry.payload is not None and _fits(row, mark, line):
                    return covered(line, mark)
            if len(rows) < page:
                return covered(line, None)
            at_seq, page = rows[-1].entry.seq - 1, _PAGE

    async def _named(self, tenant: UUID, session: UUID, checkpoint_id: str, at_seq: int | None) -> CheckpointRow:
        known = parse_id(CHECKPOINT, checkpoint_id) is not None
        row = await self._store.checkpoints.get(tenant, session, checkpoint_id, at_seq) if known else None
        if row is None:
            raise NotFound(UNKNOWN_CHECKPOINT)
        return row


def _mark(row: CheckpointRow, session: UUID) -> Covered | None:
    """What the line of `session` says of a checkpoint in its place, None for one whose entry set no line."""
    mark = row.line.covered
    if mark is None:
        return None
    return Covered(mark.checkpoint_id, mark.seq, mark.through_seq, None if row.session == session else str(row.session))


def _fits(row: CheckpointRow, mark: Covered | None, line: Line) -> bool:
    """Whether `line` holds the entries that the checkpoint was made of."""
    if mark is None:
        return False
    own = row.line if mark.session is None else forked(row.line, mark.through_seq, mark.session)
    return same_until(line, own, mark.through_seq)


def _json(row: CheckpointRow, session: SessionRow) -> dict[str, Any]:
    """A checkpoint as it is shown (X-52); one that was erased keeps its place and what its line says of it."""
    entry, mark, force = row.entry, row.line.covered, session.line.covered
    body = None if entry.payload is None else Checkpoint.decode(entry.payload)
    checkpoint_id = body.checkpoint_id if body is not None else None if mark is None else mark.checkpoint_id
    place = {
        "id": checkpoint_id,
        "object": "checkpoint",
        "seq": entry.seq,
        "version": entry.version,
        "in_force": force is not None and force.checkpoint_id == checkpoint_id,
        "created_at": timestamp(entry.at or entry.recorded_at),
    }
    if body is None:
        return {**place, "erased": True, "covers_through_seq": None if mark is None else mark.through_seq, **dict.fromkeys(_CONTENT)}
    facts = {name: [{"text": fact.text, "cites": list(fact.cites)} for fact in ones] for name, ones in body.summary.facts.items()}
    return {
        **place,
        "erased": False,
        "covers_through_seq": body.covers_through_seq,
        **{name: getattr(body, name) for name in _AS_THEY_ARE},
        "summarized_before": body.first_kept_index,
        "summary": facts,
        "text": summary_text(body.summary),
        "usage": usage_to_json(body.usage, body.usage_source),
    }


_AS_THEY_ARE = (
    "first_kept_seq",
    "history_message_count",
    "artifact",
    "driver",
    "trigger",
    "upstream",
    "model",
    "call_id",
    "replaces",
    "tokens_before",
    "tokens_after",
)
_CONTENT = (*_AS_THEY_ARE, "summarized_before", "summary", "text", "usage")
