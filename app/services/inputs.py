"""The one way out: sources → bytes. Dispatch, GET, what-if and replay all compile through `Inputs.prepare`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

from app.config.agent_limits import PAST_STATES_MAX
from app.config.limits import COMPILE_ON_LOOP_MESSAGES_MAX
from app.config.upstreams import SCRIPTED
from app.context.budget import Budget, budget
from app.context.compaction.in_force import checkpoint_in_force
from app.context.compile import COMPILER_VERSION, Compiled, compile_context
from app.context.pruning import pruned_results
from app.context.renderers import VERSIONS, past_states_needed
from app.context.snapshots import skill_snapshots
from app.context.sources import FIRST_RUN, AgentRevision, Continuation, Ephemeral, Invocation, Overrides, SourceMessage, Sources, decoded
from app.entries import lossless
from app.entries.errors import NotFound
from app.entries.ids import SESSION, blob_digest, format_id, text_digest
from app.entries.line import Line
from app.entries.messages import Entry
from app.entries.settings import AgentAdopted, PlanChanged, SessionOpened, StateChanged, plan_in_force
from app.formats.protocols import Violation, Written
from app.formats.registry import FORMATS
from app.models.resolve import Target
from app.models.tokens import STAND_IN
from app.services.revisions import Revisions
from app.services.stored_contents import StoredContents, done, heavy
from app.services.targets import Targets, form_of, model_in_force, overridden
from app.storage.rows import EntryFilter, Window
from app.storage.store import Store

NOTHING: Mapping[str, bytes] = MappingProxyType({})
States = tuple[tuple[int, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """What to compile. `at_seq` None: the head. `agent` replaces the session's (a what-if), `agent_revision` another revision of it.

    `pinned` is the agent that the running turn began with: one that the session adopts meanwhile is for the next turn.
    `model` lays `{upstream?, name?, params?}` over the model in force, like a turn's override; `dialect` asks for another wire
    format. `repeats_seq` is the input of another turn that the running one answers again. `model_pointer`: where the request names `model`.
    """

    at_seq: int | None = None
    agent: AgentRevision | None = None
    agent_revision: int | None = None
    pinned: AgentRevision | None = None
    model: Mapping[str, Any] | None = None
    model_pointer: str = "/model"
    dialect: str | None = None
    tool_choice: str | None = None
    masked_tools: tuple[str, ...] = ()
    state: Mapping[str, Any] | None = None
    running_turn: int | None = None
    repeats_seq: int | None = None
    ephemeral: tuple[Ephemeral, ...] = ()
    media: Mapping[str, bytes] = field(default_factory=dict)
    continuation: Continuation | None = None
    invocation: Invocation = FIRST_RUN


@dataclass
class Prepared:
    """A compiled input and its bytes, with `digest` `sha256:<hex>` of exactly them. `window` is what was read; reports are made on demand."""

    window: Window
    compiled: Compiled
    written: Written
    digest: str
    budget: Budget
    faults: tuple[Violation, ...] = ()
    """What is wrong with the stored bytes of images and files: such an input is never sent (X-18)."""

    @property
    def sources(self) -> Sources:
        return self.compiled.sources

    @property
    def target(self) -> Target:
        return self.compiled.sources.target

    @cached_property
    def violations(self) -> list[Violation]:
        """What would keep the body from being sent, by the target's own rules.

        Judged by the tree that the body was spelled from, which says the same and need not be read again.
        """
        failures = [Violation("", failure.code, f"The renderer {failure.renderer}: {failure.detail}") for failure in self.compiled.failures]
        return [*failures, *self.faults, *FORMATS[self.target.dialect].validate(self.written.document, self.target.rules)]


class Inputs:
    """Reads a session's sources and compiles them. Writes nothing, calls nobody."""

    def __init__(self, store: Store, revisions: Revisions, targets: Targets) -> None:
        self._store = store
        self._revisions = revisions
        self._targets = targets
        self._contents = StoredContents(store.blobs)

    async def prepare(self, tenant: UUID, session: UUID, ask: Ask, window: Window | None = None) -> Prepared:
        """The input that `ask` describes, of a window of its head that may have been read already. Raises `NotFound`, `Invalid`, `InvalidOrigins`."""
        window = window or await self.window(tenant, session, ask.at_seq)
        agent = await self.agent_for(tenant, window, ask)
        own = agent if ask.agent_revision is None and ask.invocation.index == 0 else await self.agent_of(tenant, window)
        target = self.target_of(agent, window, ask, switched=agent.model == own.model)
        long = len(window.messages) > COMPILE_ON_LOOP_MESSAGES_MAX
        messages = await done(partial(decoded, window.messages), aside=long)
        messages = await self._contents.texts(tenant, session, messages)
        states = await self._states(tenant, session, window) if past_states_needed(agent) else ()

        sources = await done(partial(_sources, session, window, agent, target, ask, messages, states), aside=long)
        return await self.compiled(tenant, session, window, sources, ask.media)

    async def compiled(
        self, tenant: UUID, session: UUID, window: Window, sources: Sources, brought: Mapping[str, bytes] = NOTHING, *, aside: bool = False
    ) -> Prepared:
        """What these sources of that window come to. `brought`: bytes of blobs that are not stored, by digest. Raises `InvalidOrigins`.

        `aside`: compiled beside the event loop, also where the messages are few.
        """
        target = sources.target
        long = aside or len(sources.messages) > COMPILE_ON_LOOP_MESSAGES_MAX
        compiled = await done(partial(compile_context, sources, self._targets.counter(target.estimator).repeated), aside=long)
        stored, faults = await self._contents.media(tenant, session, compiled.request.messages, brought)
        media = {**stored, **brought}
        written, digest = await done(partial(_written, compiled, media), aside=long or heavy(media))
        return Prepared(window, compiled, written, digest, budget(target, sources.agent, compiled.measured), faults)

    async def window(self, tenant: UUID, session: UUID, at_seq: int | None = None, line: Line | None = None) -> Window:
        """The window at a head, along another line where one is given. Raises `NotFound`."""
        window = await self._store.ledger.window(tenant, session, at_seq, line)
        if window is None:
            raise NotFound("There is no such session.")
        return window

    @property
    def configuration(self) -> str:
        """A digest of what a target takes from the operator's configuration."""
        return self._targets.digest

    async def agent(self, tenant: UUID, name: str, revision: int) -> AgentRevision:
        """One revision of an agent. Raises `NotFound`."""
        return await self._revisions.get(tenant, name, revision)

    def count(self, text: str) -> int:
        """The tokens of a text as entries are counted."""
        return self._targets.counter(STAND_IN).count(text)

    async def agent_for(self, tenant: UUID, window: Window, ask: Ask) -> AgentRevision:
        """The agent of a compile: the one that `ask` brings, the one that its run began with, else the one in force."""
        return ask.agent or ask.pinned or await self.agent_of(tenant, window, ask.agent_revision)

    async def agent_of(self, tenant: UUID, window: Window, revision: int | None = None) -> AgentRevision:
        """The agent revision in force at the window's head, or another revision of the same agent."""
        name, adopted = agent_in_force(window.settings)
        return await self._revisions.get(tenant, name, adopted if revision is None else revision)

    def target_of(self, agent: AgentRevision, window: Window, ask: Ask, switched: bool) -> Target:
        """The target of a compile: the model in force with what `ask` lays over it.

        `switched`: whether a switch of the session's model holds: until a revision that names another model, and in no run of such an agent.
        """
        model, limits = model_in_force(agent, window.settings) if switched else (agent.model, agent.limits)
        override = dict(ask.model or {})
        choice, frozen = overridden(model, limits, override)
        if ask.dialect is not None and choice.upstream == SCRIPTED:
            form_of(ask.dialect, "/dialect")
            choice = replace(choice, params={**choice.params, "dialect": ask.dialect})
        target = self._targets.resolve(choice, frozen, ask.model_pointer, ask.model_pointer or "/model")
        return target if ask.dialect in (None, target.dialect) else self._targets.other_dialect(target, ask.dialect)

    async def _states(self, tenant: UUID, session: UUID, window: Window) -> States:
        """The states of the session up to the window's head, oldest first, the newest of them where there are too many."""
        chosen = EntryFilter(line=None, kinds=(StateChanged.kind,), at_seq=window.head_seq, descending=True)
        entries = await self._store.ledger.entries(tenant, session, chosen, PAST_STATES_MAX)
        return tuple([(entry.seq, StateChanged.decode(entry.payload).state) for entry in reversed(entries) if entry.payload is not None])


def agent_in_force(settings: Mapping[str, Entry]) -> tuple[str, int]:
    """Name and revision that hold at the head that `settings` was read at."""
    adopted, opened = settings.get("agent_adopted"), settings.get("session_opened")
    if adopted is not None and adopted.payload is not None:
        body = AgentAdopted.decode(adopted.payload)
        return body.agent, body.revision
    if opened is None or opened.payload is None:
        raise NotFound("The session has no agent at that point.")
    first = SessionOpened.decode(opened.payload)
    return first.agent, first.revision


def state_in_force(settings: Mapping[str, Entry]) -> tuple[Mapping[str, Any], int | None]:
    """The state by scope and the entry that set it; empty and None where none did."""
    changed = settings.get("state_changed")
    if changed is None or changed.payload is None:
        return {}, None
    return StateChanged.decode(changed.payload).state, changed.seq


def _sources(session: UUID, window: Window, agent: AgentRevision, target: Target, ask: Ask, messages: list[SourceMessage], states: States) -> Sources:
    state, state_seq = state_in_force(window.settings)
    change, plan_seq = plan_in_force(window.settings.get(PlanChanged.kind), window.line)
    checkpoint = checkpoint_in_force(window.checkpoint)
    if checkpoint is not None:  # the window begins with the skills of the first message that is kept, and may hold what is covered
        messages = [message for message in messages if message.entry.seq > checkpoint.body.covers_through_seq]
    return Sources(
        session_id=format_id(SESSION, session),
        head_seq=window.head_seq,
        history_message_count=window.history_message_count,
        window_from_seq=window.line.window[0].from_seq,
        line_from_seq=window.line.first_seq,
        checkpoint=checkpoint,
        agent=agent,
        target=target,
        messages=tuple(_of_running_turn(messages, ask)),
        state=state if ask.state is None else ask.state,
        state_seq=state_seq,
        running_turn=ask.running_turn,
        ephemeral=ask.ephemeral,
        overrides=Overrides(ask.model, ask.tool_choice, ask.masked_tools),
        continuation=ask.continuation,
        invocation=ask.invocation,
        plan_change=change,
        plan_seq=plan_seq,
        skill_snapshots=skill_snapshots(window.folds),
        states=states,
        pruned=pruned_results(window.folds),
        prefix_key=window.session.prefix_key,
    )


def _of_running_turn(messages: list[SourceMessage], ask: Ask) -> list[SourceMessage]:
    """A turn that repeats another answers the same input: the messages of that input count as its own."""
    turn = next((message.entry.turn for message in messages if message.entry.seq == ask.repeats_seq), None)
    if turn is None or ask.repeats_seq is None:
        return messages
    return [
        SourceMessage(message.entry._replace(turn=ask.running_turn), message.body)
        if message.entry.turn == turn and message.entry.seq <= ask.repeats_seq
        else message
        for message in messages
    ]


def query_digest(*facts: object) -> str:
    """16 hex digits that name a query, a revision, a target and the compiler: the second half of a model input's ETag."""
    text = lossless.dumps([COMPILER_VERSION, *VERSIONS.values(), *(str(fact) for fact in facts)])
    return text_digest(text).removeprefix("sha256:")[:16]


def _written(compiled: Compiled, media: Mapping[str, bytes]) -> tuple[Written, str]:
    written = FORMATS[compiled.request.target.dialect].write_request(compiled.request, media)
    return written, blob_digest(written.body)
