"""A client's results for a turn that waits: stored at once, and the loop goes on when none is missing any more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.config.limits import ACCEPT_TRIES_MAX
from app.entries import lossless
from app.entries.errors import ClaimExpired, Conflict, Fault, HeadMismatch, Invalid, SessionBusy
from app.entries.ids import SESSION, TURN, format_id
from app.entries.messages import Answer, Entry, ToolResult, decode, encode, with_parts
from app.entries.parts import Part, Text, ToolCall
from app.services.consequences import committed_events, follow, pending_json
from app.services.running import Facts, decode_options, policy_of
from app.services.streams import Event, TurnKey, encode_events
from app.services.turns.desk import Accepted, Desk, remembered_turn
from app.services.turns.endings import SETTLED, next_event_base
from app.services.turns.inputs import ExtraMessage, IdempotencyKey, Said, read_parts, with_known_media
from app.services.write import Draft, loaded
from app.storage.rows import SessionRow, TurnRow
from app.storage.types import Append, Claim, EventRow, SessionPatch, TurnWrite
from app.turn.moves import Await


@dataclass(frozen=True, slots=True)
class GivenResult:
    """One result of a request; `content` is text or a list of part objects."""

    tool_call_id: str
    content: str | Sequence[Mapping[str, Any]]
    is_error: bool = False


class Results:
    """Takes results; raises `Invalid` for unknown calls, `Conflict` for settled turns and other contents, and writes nothing then."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def post(
        self,
        tenant: UUID,
        session_id: str,
        turn_id: str,
        results: Sequence[GivenResult],
        extra: Sequence[ExtraMessage],
        key: IdempotencyKey | None,
        expected_head: int | None = None,
    ) -> Accepted:
        """Stores the results that are new. The turn goes on where nothing is pending any more, else it keeps waiting."""
        desk = self._desk
        said = [read_parts(result.content, f"/results/{at}/content") for at, result in enumerate(results)]
        for _ in range(ACCEPT_TRIES_MAX):
            session = await desk.views.session(tenant, session_id)
            row = await desk.views.turn(tenant, session.session_id, turn_id)
            again = await desk.replay(tenant, session, key)
            if again is not None:
                return again
            entries = await self._entries(tenant, session.session_id, row.number)
            said = await with_known_media(desk.store.blobs, tenant, session.session_id, said)
            fresh = _fresh(entries, results, said, row)
            if not fresh:
                return Accepted(session_id, turn_id, row.number, await self._last_wait(tenant, session.session_id, row))
            if row.status in SETTLED:
                raise Conflict("The turn is settled; its calls have their results.", "turn-settled")
            if row.status != "requires_action":
                raise SessionBusy(turn_id)
            desk.check_open()
            if expected_head is not None and expected_head != session.head_seq:
                raise HeadMismatch(session.head_seq)
            drafts = fresh + _extra(extra, row.number)
            try:
                return await self._store(tenant, session, row, entries, drafts, key)
            except (HeadMismatch, SessionBusy, ClaimExpired):
                continue  # with an expected head, the next look raises
        raise SessionBusy(turn_id)

    async def _last_wait(self, tenant: UUID, session: UUID, row: TurnRow) -> int:
        """The cursor before the event that says what a waiting turn waits for; the start of the events of any other."""
        bounds = await self._desk.store.deltas.bounds(tenant, session, row.number) if row.status == "requires_action" else None
        return 0 if bounds is None else bounds[1] - 1

    async def _store(
        self, tenant: UUID, session: SessionRow, row: TurnRow, entries: list[Entry], drafts: list[Draft], key: IdempotencyKey | None
    ) -> Accepted:
        desk = self._desk
        agent = await desk.agent_of_turn(tenant, session, entries)
        options = decode_options(row.options)
        policy = policy_of(agent, options)
        found = follow(entries, drafts, policy, turn=row.number, head_seq=session.head_seq, input_seq=row.input_seq)
        base = next_event_base(row)
        events = [Event(base + 1 + at, name, data, seq) for at, (name, data, seq) in enumerate(committed_events(drafts, session.head_seq + 1))]
        append = Append(expected_head=session.head_seq, idempotency=remembered_turn(key, session.session_id, row.number, base))
        if isinstance(found.move, Await):
            waiting = pending_json(found.move.pending)
            return await self._keep_waiting(tenant, session, row, drafts, waiting, append, events)
        facts = Facts(
            TurnKey(tenant, session.session_id, row.number),
            format_id(SESSION, session.session_id),
            row.turn_id,
            row.follows,
            row.retry_of,
            row.input_seq,
            options,
        )
        append = replace(
            append,
            claim=Claim(row.number, desk.holder, desk.lease_seconds),
            turn=TurnWrite(number=row.number, status="running", pending="[]"),
            session=SessionPatch(clear_pending=True),
            events=(EventRow(events[-1].id, encode_events(events)),),
        )
        stored, blobs = await desk.writer.prepare(drafts)
        appended = await desk.claim(tenant, session, replace(append, entries=stored, blobs=blobs))
        if not appended.replayed:
            desk.begin(facts, agent, appended, stored, drafts, events, before=entries)
        cancels = options.cancels and not appended.replayed
        return Accepted(facts.session_id, format_id(TURN, row.turn_id), row.number, base, appended.replayed, cancels)

    async def _keep_waiting(
        self,
        tenant: UUID,
        session: SessionRow,
        row: TurnRow,
        drafts: list[Draft],
        pending: list[dict[str, Any]],
        append: Append,
        events: list[Event],
    ) -> Accepted:
        views, session_id = self._desk.views, session.session_id
        view = await views.view(tenant, session_id, row.number)
        coming = range(session.head_seq + 1, session.head_seq + 1 + len(drafts))
        shown = {"type": "turn.requires_action", "turn": {**view, "pending": pending, "entry_seqs": [*view["entry_seqs"], *coming]}}
        events = [*events, Event(events[-1].id + 1, "turn.requires_action", lossless.dumps(shown))]
        # The claim is taken and given back at once: it makes the ids of these events nobody else's, also after a purge.
        append = replace(
            append,
            claim=Claim(row.number, self._desk.holder, self._desk.lease_seconds),
            release=True,
            turn=TurnWrite(number=row.number, status="requires_action", pending=lossless.dumps(pending)),
            events=(EventRow(events[-1].id, encode_events(events)),),
        )
        appended = await self._desk.writer.append(tenant, session_id, drafts, append)
        return Accepted(format_id(SESSION, session_id), format_id(TURN, row.turn_id), row.number, events[0].id - 1, appended.replayed)

    async def _entries(self, tenant: UUID, session: UUID, turn: int) -> list[Entry]:
        """The turn's entries with long texts put back inline, as the loop keeps them."""
        found = await self._desk.store.ledger.turn_entries(tenant, session, turn)
        digests = [digest for entry in found for digest in entry.blobs]
        texts = await self._desk.store.blobs.load(tenant, session, digests) if digests else {}
        return [_inline(entry, texts) if entry.blobs else entry for entry in found]


def _inline(entry: Entry, texts: Mapping[str, tuple[str, bytes]]) -> Entry:
    if entry.payload is None:
        return entry
    body = decode(entry.kind, entry.payload)
    return entry._replace(payload=encode(with_parts(body, tuple(loaded(part, texts) for part in body.parts))), blobs=())


def _fresh(entries: Sequence[Entry], results: Sequence[GivenResult], said: Sequence[Said], row: TurnRow) -> list[Draft]:
    """Drafts of the results that are not stored yet. The same again is ignored; another content is a conflict."""
    calls, known = _calls(entries)
    fresh: dict[str, Draft] = {}
    for at, (result, content) in enumerate(zip(results, said, strict=True)):
        call = calls.get(result.tool_call_id)
        if call is None:
            raise Invalid([Fault(f"/results/{at}/tool_call_id", "unknown-tool-call", "The turn has no call of this id; see its `pending`.")])
        body = ToolResult(result.tool_call_id, content.parts, call.name, result.is_error)
        before = known.get(result.tool_call_id)
        if before is None:
            known[result.tool_call_id] = body
            fresh[result.tool_call_id] = Draft("tool_result", body, row.number, media=content.media)
        elif (_plain(before.parts), before.is_error) != (_plain(body.parts), body.is_error):
            if row.status in SETTLED:
                raise Conflict("The turn is settled; its calls have their results.", "turn-settled")
            raise Conflict("This call has another result already; a stored result never changes.", "tool-result-conflict")
    return list(fresh.values())


def _plain(parts: tuple[Part, ...]) -> tuple[object, ...]:
    return tuple(part.text if isinstance(part, Text) else part for part in parts)


def _calls(entries: Sequence[Entry]) -> tuple[dict[str, ToolCall], dict[str, ToolResult]]:
    calls: dict[str, ToolCall] = {}
    results: dict[str, ToolResult] = {}
    for entry in entries:
        if entry.payload is None or entry.kind not in ("assistant_message", "tool_result"):
            continue
        body = decode(entry.kind, entry.payload)
        if isinstance(body, Answer):
            calls |= {part.tool_call_id: part for part in body.parts if isinstance(part, ToolCall)}
        elif isinstance(body, ToolResult):
            results.setdefault(body.tool_call_id, body)
    return calls, results


def _extra(extra: Sequence[ExtraMessage], turn: int) -> list[Draft]:
    return [read_parts(message.parts, f"/extra_messages/{at}/parts").draft(message.kind, message.flags, turn) for at, message in enumerate(extra)]
