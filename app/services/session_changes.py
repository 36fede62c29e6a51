"""What changes a session without a message: its title and metadata, its agent, its model, its line, its checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX
from app.context.model_params import params_faults
from app.context.sources import AgentRevision
from app.entries import lossless
from app.entries.compactions import CheckpointSelected
from app.entries.errors import Fault, HeadMismatch, Invalid, NotFound, PendingAction, SessionBusy
from app.entries.folds import Rewound
from app.entries.ids import TURN, parse_id
from app.entries.line import rewound
from app.entries.messages import NewEntry
from app.entries.settings import AgentAdopted, ModelSwitched
from app.models.resolve import Limits, ModelChoice
from app.services.checkpoints import Checkpoints
from app.services.revisions import Revisions
from app.services.session_ids import session_uuid
from app.services.sessions import Sessions, check_metadata
from app.services.targets import Targets
from app.services.turns.endings import REFUSING, Endings
from app.storage.rows import SessionRow
from app.storage.store import Store
from app.storage.types import Append, SessionPatch


@dataclass(frozen=True, slots=True)
class Change:
    """The body of `PATCH /sessions/{id}`, validated; None: not named. `sets_title` tells a title of null from none."""

    title: str | None = None
    sets_title: bool = False
    metadata: Mapping[str, Any] | None = None
    agent: str | None = None
    agent_revision: int | Literal["latest"] | None = None
    model: Mapping[str, Any] | None = None
    checkpoint: str | None = None
    expected_head: int | None = None
    expected_meta: int | None = None


class SessionChanges:
    """Every change is one append, beside a running turn if need be; one that fails changes nothing at all."""

    def __init__(self, store: Store, sessions: Sessions, revisions: Revisions, targets: Targets, endings: Endings, checkpoints: Checkpoints) -> None:
        self._store = store
        self._endings = endings
        self._sessions = sessions
        self._revisions = revisions
        self._targets = targets
        self._checkpoints = checkpoints

    async def patch(self, tenant: UUID, session_id: str, change: Change) -> SessionRow:
        """The row after the change. Raises `NotFound`, `HeadMismatch`, `Invalid` for an agent, a model or a checkpoint that cannot be had.

        What is decided from the row expects its head, and is decided again where the head moved meanwhile. A checkpoint is chosen while the
        session is idle; else that is a `SessionBusy` or `PendingAction`.
        """
        session = session_uuid(session_id)
        return await self._endings.after_the_gone(tenant, session, lambda: self._patch(tenant, session_id, change))

    async def _patch(self, tenant: UUID, session_id: str, change: Change) -> SessionRow:
        idle = change.checkpoint is not None
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await self._sessions.find(tenant, session_id)
            if idle:
                row = await self._endings.make_room(tenant, row, REFUSING)
            _check_expected(row, change)
            entries, patch = await self._decide(tenant, row, change)
            if not entries and patch is None:
                return row
            expected = row.head_seq if entries else change.expected_head
            append = Append(entries=tuple(entries), session=patch, beside=not idle, refuse_pending=idle, expected_head=expected)
            try:
                await self._store.ledger.append(tenant, row.session_id, append)
            except HeadMismatch:
                if change.expected_head is not None or not left:
                    raise
                continue
            return await self._sessions.row(tenant, row.session_id)
        raise AssertionError("the last try returns or raises")

    async def _decide(self, tenant: UUID, row: SessionRow, change: Change) -> tuple[list[NewEntry], SessionPatch | None]:
        entries: list[NewEntry] = []
        patch = SessionPatch(expected_meta=change.expected_meta)
        if change.sets_title:
            patch = replace(patch, title=change.title, clear_title=change.title is None, bump_meta=True)
        if change.metadata is not None:
            patch = replace(patch, metadata=check_metadata(change.metadata), bump_meta=True)
        agent = await self._revisions.get(tenant, row.agent or "", row.agent_revision or 0)
        if change.agent is not None or change.agent_revision is not None:
            adopted = await self._wanted(tenant, row, change)
            follows = change.agent_revision in (None, "latest")
            if (adopted.name, adopted.revision, follows) != (row.agent, row.agent_revision, row.agent_follows):
                same = adopted.model == agent.model
                keeps = same and row.model is not None
                entries.append(NewEntry(AgentAdopted.kind, AgentAdopted(adopted.name, adopted.revision, follows, keeps).encode()))
                patch = replace(patch, agent=adopted.name, agent_revision=adopted.revision, agent_follows=follows)
                if not same:
                    patch = replace(patch, clear_model=True, clear_dispatched=True)
            agent = adopted
        if change.model is not None:
            switched = self._switched(agent, change.model)
            entries.append(NewEntry(ModelSwitched.kind, switched.encode()))
            shown = {"upstream": switched.upstream, "name": switched.name, "params": dict(switched.params)}
            patch = replace(patch, model=lossless.dumps(shown), clear_model=False, clear_dispatched=True)
        if change.checkpoint is not None:
            line = await self._checkpoints.chosen(tenant, row.session_id, row.line, change.checkpoint, row.head_seq)
            if line != row.line:
                chosen = None if line.covered is None else line.covered.checkpoint_id
                entries.append(NewEntry(CheckpointSelected.kind, CheckpointSelected(chosen).encode(), line=line.spelled()))
        return entries, None if patch == SessionPatch(expected_meta=change.expected_meta) else patch

    async def _wanted(self, tenant: UUID, row: SessionRow, change: Change) -> AgentRevision:
        name = change.agent or row.agent or ""
        try:
            if isinstance(change.agent_revision, int):
                return await self._revisions.get(tenant, name, change.agent_revision)
            return await self._revisions.latest(tenant, name)
        except NotFound:
            pointer = "/agent_revision" if isinstance(change.agent_revision, int) else "/agent"
            raise Invalid([Fault(pointer, "unknown-agent", "There is no such agent or revision.")], code="unknown-agent") from None

    def _switched(self, agent: AgentRevision, model: Mapping[str, Any]) -> ModelSwitched:
        """The switch, with the new model's capacity resolved and frozen (T-13). The agent's own limits hold for its own model."""
        choice = ModelChoice(model["upstream"], model["name"], model.get("params", {}))
        if faults := params_faults(choice.params, "/model/params", choice.upstream):
            raise Invalid(faults)
        own = (choice.upstream, choice.name) == (agent.model.upstream, agent.model.name)
        explicit: Limits | None = agent.limits if own else None
        target = self._targets.resolve(choice, explicit, "/model")
        limits = target.limits
        return ModelSwitched(
            choice.upstream,
            choice.name,
            choice.params,
            limits.context_window,
            limits.max_output_tokens,
            target.digest,
            limits.source,
            limits.max_input_tokens,
        )

    async def set_line(self, tenant: UUID, session_id: str, turn_id: str, expected_head: int | None) -> SessionRow:
        """Makes a settled turn the last of the current line again, by an entry that carries the new line.

        Raises `NotFound`, `HeadMismatch`, and `SessionBusy` or `PendingAction` also for a turn that is not settled.
        """
        session = (await self._sessions.find(tenant, session_id)).session_id
        return await self._endings.after_the_gone(tenant, session, lambda: self._set_line(tenant, session_id, turn_id, expected_head))

    async def _set_line(self, tenant: UUID, session_id: str, turn_id: str, expected_head: int | None) -> SessionRow:
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await self._sessions.find(tenant, session_id)
            if expected_head is not None and expected_head != row.head_seq:
                raise HeadMismatch(row.head_seq)
            uuid = parse_id(TURN, turn_id)
            turn = None if uuid is None else await self._store.turns.get(tenant, row.session_id, uuid)
            if turn is None:
                raise NotFound("There is no such turn in this session.")
            through = turn.last_seq
            if through is None:
                await self._refuse_unsettled(tenant, row)
            if row.last_turn == turn.number and through == row.head_seq:
                return row
            before = await self._store.ledger.line_again(tenant, row.session_id, through)
            line = rewound(before, through, row.head_seq + 1)
            entry = NewEntry(Rewound.kind, Rewound(turn.number, through).encode(), line=line.encode())
            patch = SessionPatch(last_turn=turn.number)
            append = Append(entries=(entry,), session=patch, expected_head=row.head_seq, refuse_pending=True)
            try:
                await self._store.ledger.append(tenant, row.session_id, append)
            except HeadMismatch:
                if expected_head is not None or not left:
                    raise
                continue
            return await self._sessions.row(tenant, row.session_id)
        raise AssertionError("the last try returns or raises")

    async def _refuse_unsettled(self, tenant: UUID, row: SessionRow) -> NoReturn:
        """Says why a turn that is not settled cannot be the last one: the session is busy or pending with it."""
        if row.running_turn is not None:
            raise SessionBusy(await self._sessions.views.turn_id(tenant, row.session_id, row.running_turn))
        raise PendingAction(await self._sessions.views.turn_id(tenant, row.session_id, row.pending_turn))


def _check_expected(row: SessionRow, change: Change) -> None:
    if change.expected_head is not None and change.expected_head != row.head_seq:
        raise HeadMismatch(row.head_seq)
    if change.expected_meta is not None and change.expected_meta != row.meta_version:
        raise HeadMismatch(row.head_seq)
