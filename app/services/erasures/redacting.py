"""One message or one change of state redacted: its content goes, with everything that was made of it, in its session and in the forks of it."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, FAMILY_SESSIONS_MAX
from app.entries.compactions import Checkpoint, CheckpointSelected
from app.entries.errors import Conflict, Fault, HeadMismatch, Invalid, NotFound
from app.entries.ids import SESSION, format_id
from app.entries.kinds import MESSAGE_KINDS
from app.entries.line import covered
from app.entries.messages import Answer, Body, Entry, NewEntry, ToolResult, decode
from app.entries.redactions import Redaction
from app.entries.settings import PlanChanged, SectionsRecorded, StateChanged
from app.entries.summaries import SUMMARY_MEDIA_TYPE
from app.entries.trace import ApprovalDecided, ModelCallStarted
from app.services.erasures.copies import PlanCopies, StateCopies, handed_on, redaction, shared_state, tells_digests
from app.services.erasures.receipts import KEPT_OF_ENTRY, receipt, remaining
from app.services.session_ids import session_row
from app.storage.erasures import Redact
from app.storage.rows import EntryFilter, SessionRow
from app.storage.store import Store

_DERIVED = (Checkpoint.kind, SectionsRecorded.kind, StateChanged.kind, PlanChanged.kind, ModelCallStarted.kind)

FIGURES = ("/clear", "/compactions", "/redact")
"""Ends of routes whose answers tell ids and figures and no word of an entry. They stay, since what was done for them must not be done again."""


@dataclass(slots=True)
class _Found:
    """What goes with an entry: `emptied` by session and seq, the checkpoints among them by id, and the plans that it set itself. `since` is the
    first that held its content."""

    since: int
    emptied: list[tuple[UUID, int]] = field(default_factory=list)
    checkpoints: set[str] = field(default_factory=set)
    plans: list[PlanChanged] = field(default_factory=list)


class Redactions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def redact(self, tenant: UUID, session_id: str, seq: int, reason: str, expected_head: int | None = None) -> dict[str, Any]:
        """The receipt; of an entry that was redacted before, one that counts nothing.

        Raises `NotFound`, `HeadMismatch`, `Invalid` for another kind than a message or a change of state, `Conflict` where another session holds
        the entry or a value is in force, `SessionBusy`, `ClaimExpired`, `PendingAction` for an entry of a turn that waits, `SessionErased`.
        """
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await session_row(self._store.sessions, tenant, session_id)
            if expected_head not in (None, row.head_seq):
                raise HeadMismatch(row.head_seq)
            entry = await self._entry(tenant, row, seq)
            if entry.payload is None:
                return await self._again(tenant, row, seq)
            try:
                return await self._redact(tenant, row, entry, entry.payload, reason)
            except HeadMismatch:  # something was appended, or forked, since it was looked for
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _entry(self, tenant: UUID, row: SessionRow, seq: int) -> Entry:
        shared = None if seq > (row.parent_seq or 0) else await self._store.ledger.shared(tenant, row.session_id)
        holder = None if shared is None else next((piece.session for piece in shared.whole.pieces if piece.holds(seq)), None)
        if holder is not None:
            held = format_id(SESSION, UUID(holder))
            raise Conflict(f"The entry belongs to session {held}, which this one was forked from: redact it there, and it is redacted here too.")
        entry = await self._store.ledger.entry(tenant, row.session_id, seq)
        if entry is None:
            raise NotFound("There is no such entry.")
        if entry.kind not in (*MESSAGE_KINDS, StateChanged.kind):
            detail = "Only messages and changes of state are redacted: name the entry of one. Summaries and records that hold it go with it."
            raise Invalid([Fault("", "not-redactable", detail)])
        return entry

    async def _again(self, tenant: UUID, row: SessionRow, seq: int) -> dict[str, Any]:
        chosen = EntryFilter(line=None, kinds=(Redaction.kind,), after_seq=seq)
        async for page in self._store.ledger.pages(tenant, row.session_id, chosen):
            for entry in page:
                if entry.payload is not None and Redaction.decode(entry.payload).seq == seq:
                    remains = remaining(await self._store.erasures.remains())
                    return receipt([row.session_id], entry.recorded_at, {}, KEPT_OF_ENTRY, remains)
        raise Conflict("The entry went with another one that was redacted.")

    async def _redact(self, tenant: UUID, row: SessionRow, entry: Entry, payload: str, reason: str) -> dict[str, Any]:
        family = await self._store.erasures.family(tenant, row.session_id, entry.seq, FAMILY_SESSIONS_MAX + 1)
        if len(family) > FAMILY_SESSIONS_MAX:
            raise Conflict(f"More than {FAMILY_SESSIONS_MAX} sessions come from the same one: erase some of the forks first.")
        body = None if entry.kind == StateChanged.kind else decode(entry.kind, payload)
        state = StateCopies(StateChanged.decode(payload)) if body is None else None
        sharing = [one.row for one in family if one.sharing]
        if state is not None:
            await self._refuse_in_force(tenant, sharing, entry, state)
        found = _Found(entry.seq, [(row.session_id, entry.seq)])
        told = [redaction(entry.seq, entry.kind, reason, body)]
        turn = [] if entry.turn is None else await self._store.ledger.turn_entries(tenant, row.session_id, entry.turn)
        if isinstance(body, ToolResult):
            found.emptied += [(row.session_id, seq) for seq in _decided(body, turn)]
        if isinstance(body, Answer):
            told += [redaction(one.seq, one.kind, reason, copy) for one, copy in handed_on(entry, body, turn)]
            found.emptied += [(row.session_id, one.seq) for one in told[1:]]
        for one in sorted(sharing, key=lambda one: one.session_id != row.session_id):  # who holds it first: it has the first copies
            await self._derived(tenant, one, row, entry, body, state, found)
        if found.since < entry.seq:
            await self._refuse_shared_before(tenant, row, found.since, sharing)
        # In each of them, so that its head moves: who has read it asks again, and who follows it hears of it.
        telling = [(one.session_id, NewEntry(each.kind, each.encode())) for one in sharing for each in told]
        appended = [*telling, *_deselected(sharing, found.checkpoints)]
        redact = Redact(entry.seq, found.since, [f"%{end}" for end in FIGURES], family, found.emptied, appended, SUMMARY_MEDIA_TYPE)
        done = await self._store.erasures.redact(tenant, row.session_id, redact)
        remains = remaining(await self._store.erasures.remains())
        if state is not None and state.shared:
            where = {"where": "sessions_of_user", "until": "they are redacted or erased too", "detail": "They may have recorded the shared value."}
            remains.append(where)
        erased = {**done.counts, "summaries": len(found.checkpoints)}
        return receipt([one.session_id for one in sharing], done.erased_at, erased, KEPT_OF_ENTRY, remains)

    async def _refuse_in_force(self, tenant: UUID, sharing: Sequence[SessionRow], entry: Entry, state: StateCopies) -> None:
        """Raises `Conflict` while the entry, or one with a value of it, is the newest state of a session, or the user's sessions share a value."""
        for row in sharing:
            now = await self._store.states.read(tenant, row.session_id, StateChanged.kind)
            if now is None:
                continue
            if now.shared.state is not None and state.held_by(shared_state(now.shared.state)):
                raise Conflict("The user's sessions share the value still: PATCH the state of one of them, then redact what held it.")
            if now.seq == entry.seq or (now.payload is not None and state.held_by(StateChanged.decode(now.payload).state)):
                held = format_id(SESSION, row.session_id)
                raise Conflict(f"Session {held} has the value in force: PATCH its state first, then redact what held it.")

    async def _refuse_shared_before(self, tenant: UUID, row: SessionRow, since: int, sharing: Sequence[SessionRow]) -> None:
        """Raises `Conflict` where a fork shares the first copy of a value and not the entry: it may have that one in force."""
        before = await self._store.erasures.family(tenant, row.session_id, since, FAMILY_SESSIONS_MAX)
        if sum(one.sharing for one in before) > len(sharing):
            raise Conflict(f"Entry {since} holds the value too, and forks from before this one share it: redact that one, and this one goes with it.")

    async def _derived(
        self, tenant: UUID, row: SessionRow, holder: SessionRow, entry: Entry, body: Body | None, state: StateCopies | None, found: _Found
    ) -> None:
        """Adds what stands of the holder's entry in the entries of a session that shares it: all behind it, of a fork its own. Copies of a state
        may lie before it."""
        plans: list[tuple[int, PlanChanged]] = []
        before = entry.seq - 1 if state is None else 0
        after = before if row.session_id == holder.session_id else row.parent_seq or 0
        async for one, payload in self._made(tenant, row, after):
            match one.kind:
                case Checkpoint.kind if one.seq > entry.seq:
                    checkpoint = Checkpoint.decode(payload)
                    line = await self._store.ledger.line_at(tenant, row.session_id, one.seq)
                    if checkpoint.covers_through_seq >= entry.seq and line.holds(entry.seq):
                        found.emptied.append((row.session_id, one.seq))
                        found.checkpoints.add(checkpoint.checkpoint_id)
                case SectionsRecorded.kind if one.seq > found.since:
                    found.emptied.append((row.session_id, one.seq))
                case ModelCallStarted.kind if one.seq > found.since and tells_digests(ModelCallStarted.decode(payload)):
                    found.emptied.append((row.session_id, one.seq))
                case PlanChanged.kind:
                    plans.append((one.seq, PlanChanged.decode(payload)))
                case StateChanged.kind if state is not None and state.held_by(StateChanged.decode(payload).state):
                    if one.seq <= (holder.parent_seq or 0):
                        held = f"Entry {one.seq}, of a session that this one was forked from, holds the value too"
                        raise Conflict(f"{held}: redact that one, and this one goes with it.")
                    found.since = min(found.since, one.seq)
                    found.emptied.append((row.session_id, one.seq))
        if isinstance(body, Answer):
            found.plans += [change for _, change in plans if change.call_id == body.call_id]
            copies = PlanCopies(found.plans)
            gone = [seq for seq, change in plans if change.call_id == body.call_id or copies.held_by(change)]
            found.emptied += [(row.session_id, seq) for seq in gone]

    async def _made(self, tenant: UUID, row: SessionRow, after_seq: int) -> AsyncIterator[tuple[Entry, str]]:
        """The entries that the service derives from others, of one session, oldest first."""
        chosen = EntryFilter(line=None, kinds=_DERIVED, after_seq=after_seq, at_seq=row.head_seq)
        async for page in self._store.ledger.pages(tenant, row.session_id, chosen):
            for one in page:
                if one.payload is not None:
                    yield one, one.payload


def _decided(result: ToolResult, turn: Sequence[Entry]) -> list[int]:
    """The decisions on the call of a result: the reason of one is what the result tells."""
    decided = [(one.seq, ApprovalDecided.decode(one.payload)) for one in turn if one.kind == ApprovalDecided.kind and one.payload is not None]
    return [seq for seq, one in decided if one.tool_call_id == result.tool_call_id]


def _deselected(sharing: Sequence[SessionRow], checkpoints: set[str]) -> Iterator[tuple[UUID, NewEntry]]:
    """For each session in which one of the checkpoints stands for older messages, the entry after which none does."""
    for row in sharing:
        if row.line.covered is not None and row.line.covered.checkpoint_id in checkpoints:
            line = covered(row.line, None).spelled()  # the plain line too: a null would leave the line as it was
            yield row.session_id, NewEntry(CheckpointSelected.kind, CheckpointSelected(None, redacted=True).encode(), line=line)
