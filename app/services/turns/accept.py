"""Accepting an input: one append that takes the claim and writes the message, before any provider hears of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.config.limits import ACCEPT_TRIES_MAX
from app.context.sources import AgentRevision, Ephemeral
from app.entries import lossless
from app.entries.errors import ClaimExpired, Conflict, HeadMismatch, PendingAction, SessionBusy
from app.entries.folds import Rewound
from app.entries.ids import SESSION, TURN, format_id
from app.entries.line import Line, rewound
from app.entries.settings import AgentAdopted
from app.services.consequences import committed_events
from app.services.minting import new_uuid
from app.services.observing import observed
from app.services.running import Facts, Options, decode_options
from app.services.streams import Event, TurnKey, encode_events
from app.services.turns.desk import Accepted, Cast, Desk, remembered_turn
from app.services.turns.endings import REFUSING, Endings, Room
from app.services.turns.inputs import Again, Flags, IdempotencyKey, Said, TurnInput, read_parts, with_known_media
from app.services.turns.skills import selected
from app.services.write import THIS_TURN, Draft, spoken
from app.storage.rows import EntryFilter, SessionRow, TurnRow
from app.storage.types import NEW_TURN, Append, Claim, EventRow, SessionPatch, TurnWrite


@dataclass(frozen=True, slots=True)
class Opening:
    """A turn that is about to be accepted: what it says, what it repeats, and where on the line it stands."""

    options: Options
    stored: Sequence[tuple[str, Said, Flags]] = ()
    ephemeral: Sequence[tuple[str, Said, Flags, int]] = ()
    attributes: str | None = None
    follows: str | None = None
    repeats: TurnRow | None = None
    rewinds_to: int | None = None
    expected_head: int | None = None
    skills: Sequence[str] = ()


def opening_of(wanted: TurnInput) -> Opening:
    """What a client's turn opens. `ephemeral` messages remember how many stored ones come before them."""
    stored: list[tuple[str, Said, Flags]] = []
    ephemeral: list[tuple[str, Said, Flags, int]] = []
    messages = [(extra.kind, read_parts(extra.parts, f"/extra_messages/{at}/parts"), extra.flags) for at, extra in enumerate(wanted.extra_messages)]
    messages.append(("user_message", read_parts(wanted.input, "/input"), wanted.flags))
    for kind, said, flags in messages:
        if flags.persist:
            stored.append((kind, said, flags))
        else:
            ephemeral.append((kind, said, flags, len(stored)))
    flags = wanted.flags
    options = with_overrides(
        Options(
            on_disconnect=wanted.on_disconnect,
            persist=flags.persist,
            include_in_context=flags.include_in_context,
            hidden=flags.hidden,
        ),
        wanted.overrides,
    )
    return Opening(options, stored, ephemeral, wanted.attributes, wanted.follows, expected_head=wanted.expected_head, skills=wanted.skills)


def opening_again(row: TurnRow, again: Again, *, sibling: bool) -> Opening:
    """What a turn opens that answers the input of another again, with that one's flags where `again` names none."""
    options = decode_options(row.options)
    if again.overrides is not None:
        options = with_overrides(options, again.overrides)
    if again.on_disconnect is not None:
        options = replace(options, on_disconnect=again.on_disconnect)
    return Opening(options, repeats=row, rewinds_to=row.input_seq if sibling else None, expected_head=again.expected_head)


def with_overrides(options: Options, overrides: Mapping[str, Any]) -> Options:
    """The options with a request's `overrides` in place of their own."""
    return replace(
        options,
        model=dict(overrides["model"]) if overrides.get("model") else None,
        tool_choice=overrides.get("tool_choice"),
        masked_tools=tuple(overrides.get("masked_tools", ())),
    )


def not_retryable() -> Conflict:
    return Conflict("Only the last turn is retried, when it failed, was cancelled or interrupted; regenerate any other.", "not-retryable")


class Acceptance:
    """Opens turns, in the one append that also takes the claim."""

    def __init__(self, desk: Desk, endings: Endings) -> None:
        self._desk = desk
        self._endings = endings

    async def open(self, tenant: UUID, session_id: str, opening: Opening, key: IdempotencyKey | None, room: Room = REFUSING) -> Accepted:
        """Accepts a turn and starts it. Raises what the contract's conflicts are, before anything was written."""
        desk = self._desk
        for _ in range(ACCEPT_TRIES_MAX):
            session = await desk.views.session(tenant, session_id)
            again = await desk.replay(tenant, session, key)
            if again is not None:
                return again
            desk.check_open()
            session = await self._endings.make_room(tenant, session, room)
            if opening.expected_head is not None and opening.expected_head != session.head_seq:
                raise HeadMismatch(session.head_seq)
            try:
                return await self._open(tenant, session, opening, key)
            except HeadMismatch:
                if opening.expected_head is not None:
                    raise
            except (SessionBusy, PendingAction, ClaimExpired):
                continue  # somebody was quicker; the next look says who
        raise SessionBusy

    async def _open(self, tenant: UUID, session: SessionRow, opening: Opening, key: IdempotencyKey | None) -> Accepted:
        desk = self._desk
        agent, adoption = await self._agent(tenant, session)
        desk.check_model(agent, session, opening.options.model)
        opening = await self._with_media(tenant, session, opening, agent)
        follows, line = await self._place(tenant, session, opening)
        drafts, patch = _settings(session, adoption, line, follows)
        moved = await desk.states.observation(tenant, session.session_id, agent)
        drafts += [] if moved is None else [observed(moved, THIS_TURN)]
        own_input = opening.stored[-1][1] if opening.stored and opening.options.persist else None
        drafts += selected(agent, opening.skills, own_input, session.head_seq + len(drafts) + len(opening.stored))
        before_seq = session.head_seq + len(drafts)
        drafts += [said.draft(kind, flags, THIS_TURN) for kind, said, flags in opening.stored]
        if opening.stored and opening.options.persist:
            drafts[-1] = replace(drafts[-1], attributes=opening.attributes)
        facts, offset = _facts(tenant, session, opening, follows, len(drafts))
        events = _events(facts, drafts, session.head_seq + 1)
        append = Append(
            expected_head=session.head_seq,
            claim=Claim(NEW_TURN, desk.holder, desk.lease_seconds),
            refuse_pending=True,
            turn=_turn_write(facts, offset),
            session=patch,
            idempotency=remembered_turn(key, session.session_id, NEW_TURN),
            events=(EventRow(events[-1].id, encode_events(events)),),
        )
        entries, blobs = await desk.writer.prepare(drafts)
        appended = await desk.claim(tenant, session, replace(append, entries=entries, blobs=blobs))
        if appended.replayed:
            return await desk.replayed(tenant, session, appended.stored)
        ephemeral = _ephemeral(opening, before_seq, desk.writer.count)
        media = {digest: content for _, said, _, _ in opening.ephemeral for digest, (_, content) in said.media.items()}
        desk.begin(facts, Cast(agent), appended, entries, drafts, events, ephemeral=ephemeral, media=media)
        return Accepted(facts.session_id, format_id(TURN, facts.turn_id), facts.key.turn, cancels=facts.options.cancels)

    async def _with_media(self, tenant: UUID, session: SessionRow, opening: Opening, agent: AgentRevision) -> Opening:
        """The opening with what the session knows of the blobs that its messages name, and with what had to be fetched."""
        messages = [said for _, said, _ in opening.stored] + [said for _, said, _, _ in opening.ephemeral]
        messages = await with_known_media(self._desk.store.blobs, tenant, session.session_id, messages)
        known = iter(await self._desk.fetched(messages, agent, session, opening.options.model))
        stored = [(kind, next(known), flags) for kind, _, flags in opening.stored]
        return replace(opening, stored=stored, ephemeral=[(kind, next(known), flags, before) for kind, _, flags, before in opening.ephemeral])

    async def _agent(self, tenant: UUID, session: SessionRow) -> tuple[AgentRevision, AgentAdopted | None]:
        """The revision for this turn, and its adoption: a session that follows takes a newer one first."""
        current = await self._desk.agent(tenant, session)
        if not session.agent_follows:
            return current, None
        latest = await self._desk.revisions.latest(tenant, current.name)
        if latest.revision == current.revision:
            return current, None
        return latest, AgentAdopted(latest.name, latest.revision, True, session.model is not None and latest.model == current.model)

    async def _place(self, tenant: UUID, session: SessionRow, opening: Opening) -> tuple[int, Line | None]:
        """The turn that this one follows (0: the start), and the new line where it leaves the current one."""
        ledger, next_seq = self._desk.writer.ledger, session.head_seq + 1
        if opening.repeats is not None:
            through = opening.rewinds_to
            if through is None:
                if opening.repeats.number != session.last_turn:
                    raise not_retryable()
                mark = session.line.covered
                if mark is not None and mark.through_seq >= (opening.repeats.input_seq or 0):
                    raise Conflict("A checkpoint stands for the input of this turn; regenerate it, on a line that holds it.", "not-retryable")
                return opening.repeats.follows, None
            return opening.repeats.follows, rewound(await ledger.line_again(tenant, session.session_id, through), through, next_seq)
        if opening.follows is None:
            return session.last_turn, None
        if opening.follows == "start":
            return 0, rewound(session.line, 0, next_seq)
        row = await self._desk.views.turn(tenant, session.session_id, opening.follows)
        if row.last_seq is None or (row.number == session.last_turn and not await self._goes_on(tenant, session, row.last_seq)):
            return row.number, None
        return row.number, rewound(await ledger.line_again(tenant, session.session_id, row.last_seq), row.last_seq, next_seq)

    async def _goes_on(self, tenant: UUID, session: SessionRow, seq: int) -> bool:
        """Whether the line has messages behind that seq: such as a client appended after the last turn."""
        if session.head_seq == seq:
            return False
        behind = EntryFilter(line=session.line, families=("m",), after_seq=seq)
        return bool(await self._desk.writer.ledger.entries(tenant, session.session_id, behind, 1))


def _settings(session: SessionRow, adoption: AgentAdopted | None, line: Line | None, follows: int) -> tuple[list[Draft], SessionPatch]:
    """The entries before the messages: a rewind (where the new line begins) and an adoption."""
    drafts: list[Draft] = []
    if line is not None:
        through = max((piece.through_seq or 0 for piece in line.pieces[:-1]), default=0)
        drafts.append(Draft("rewound", Rewound(follows, through).encode(), THIS_TURN, line=line.encode()))
    patch = SessionPatch(clear_dispatched=True)
    if adoption is not None:
        drafts.append(Draft("agent_adopted", adoption.encode(), THIS_TURN))
        drops_model = session.model is not None and not adoption.keeps_model
        patch = replace(patch, agent_revision=adoption.revision, clear_model=drops_model, bump_meta=True)
    return drafts, patch


def _facts(tenant: UUID, session: SessionRow, opening: Opening, follows: int, drafts: int) -> tuple[Facts, int | None]:
    """The facts of the turn, and where its own stored input stands among the drafts."""
    repeats = opening.repeats
    offset = drafts - 1 if repeats is None and opening.options.persist else None
    input_seq = session.head_seq + drafts if offset is not None else None if repeats is None else repeats.input_seq
    facts = Facts(
        TurnKey(tenant, session.session_id, session.turn_count + 1),
        format_id(SESSION, session.session_id),
        new_uuid(),
        follows,
        None if repeats is None else repeats.number,
        input_seq,
        opening.options,
    )
    return facts, offset


def _turn_write(facts: Facts, input_offset: int | None) -> TurnWrite:
    return TurnWrite(
        new=True,
        turn_id=facts.turn_id,
        status="running",
        follows=facts.follows,
        retry_of=facts.retry_of,
        input_offset=input_offset,
        input_seq=facts.input_seq if input_offset is None else None,
        options=facts.options.encode(),
    )


def _events(facts: Facts, drafts: Sequence[Draft], first_seq: int) -> list[Event]:
    started: dict[str, Any] = {
        "type": "turn.started",
        "turn_id": format_id(TURN, facts.turn_id),
        "number": facts.key.turn,
        "input_seq": facts.input_seq,
    }
    named = [("turn.started", lossless.dumps(started), 0), *committed_events(drafts, first_seq)]
    return [Event(at + 1, name, data, seq) for at, (name, data, seq) in enumerate(named)]


def _ephemeral(opening: Opening, before_seq: int, count: Callable[[str], int]) -> tuple[Ephemeral, ...]:
    """Messages of this request alone; each stands behind the stored ones that came before it."""
    return tuple(
        Ephemeral(
            "agent_message" if kind == "agent_message" else "user_message",
            said.parts,
            flags.include_in_context,
            sum(count(text) for text in spoken(said.parts)),
            before_seq + stored,
        )
        for kind, said, flags, stored in opening.ephemeral
    )
