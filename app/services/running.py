"""A turn that runs in this process: what is known of it, and the one way in which it writes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

from app.config.limits import DATABASE_AWAY_SECONDS_MAX
from app.context.sources import AgentRevision, Ephemeral
from app.entries import lossless
from app.entries.errors import FenceLost, HeadMismatch, Unavailable
from app.entries.messages import Entry, NewEntry, encode
from app.entries.trace import CutReason
from app.entries.wire import entry_json
from app.services.consequences import committed_events
from app.services.streams import Event, TurnKey, TurnStream
from app.services.write import Draft, Writer
from app.storage.rows import EntryFilter
from app.storage.types import Append, CallWrite, SessionPatch, TurnWrite, committed
from app.turn.life import Life, RunLife
from app.turn.policy import AgentPolicy, Policy, ToolPolicy
from app.turn.reading import read_life

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What a turn keeps of its request for all of its calls, and for those that repeat it. Stored as JSON."""

    model: dict[str, Any] | None = None
    tool_choice: str | None = None
    masked_tools: tuple[str, ...] = ()
    on_disconnect: Literal["continue", "cancel"] = "continue"
    persist: bool = True
    include_in_context: bool = True
    hidden: bool = False

    @property
    def cancels(self) -> bool:
        """Whether a client that leaves ends the turn."""
        return self.on_disconnect == "cancel"

    def encode(self) -> str:
        return lossless.dumps({name: getattr(self, name) for name in self.__dataclass_fields__})


def decode_options(text: str | None) -> Options:
    """The options that `encode` wrote; the defaults where nothing was written."""
    value = {} if text is None else lossless.loads(text, 80)
    known = {name: value[name] for name in Options.__dataclass_fields__ if name in value}
    return Options(**{**known, "masked_tools": tuple(value.get("masked_tools", ()))})


def policy_of(agent: AgentRevision, options: Options, others: Iterable[AgentRevision] = ()) -> Policy:
    """What the turn may do: its agent's tools and steps, and the tools of the agents that it was handed to or called, less what it masks."""
    own = _agent_policy(agent, options, agent)
    return Policy(agent.turn_max_steps, own, {(one.name, one.revision): _agent_policy(one, options, agent) for one in others})


def _agent_policy(agent: AgentRevision, options: Options, first: AgentRevision) -> AgentPolicy:
    masked = frozenset(options.masked_tools)
    tools = {
        tool.name: ToolPolicy(
            executor=tool.executor["kind"],
            declared=tool.enabled and tool.name not in masked,
            repeatable=tool.repeatable,
            mode=tool.executor.get("mode"),
        )
        for tool in agent.tools
    }
    return AgentPolicy(tools, agent.plan_enabled, agent.model == first.model, agent.name)


@dataclass(frozen=True, slots=True)
class Facts:
    """What never changes in the life of a turn."""

    key: TurnKey
    session_id: str
    turn_id: UUID
    follows: int
    retry_of: int | None
    input_seq: int | None
    options: Options
    created_at: datetime | None = None


@dataclass(slots=True)
class Running:
    """A turn under this process's claim. `entries` are its own, long texts inline; `head_seq` is the head as last seen.

    `compactable`: False once nothing was found to summarise after a call that was too large.
    """

    facts: Facts
    policy: Policy
    agent: AgentRevision
    fence: int
    head_seq: int
    stream: TurnStream
    writer: Writer
    entries: list[Entry] = field(default_factory=list)
    ephemeral: tuple[Ephemeral, ...] = ()
    media: Mapping[str, bytes] = field(default_factory=dict)
    others: dict[tuple[str, int], AgentRevision] = field(default_factory=dict)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    compactable: bool = True
    lost: bool = False
    draining: bool = False
    releasing: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def number(self) -> int:
        return self.facts.key.turn

    @property
    def life(self) -> Life:
        """The turn as its entries tell it, and whether the process is about to end."""
        return read_life(self.entries, self.policy, input_seq=self.facts.input_seq, cut=self.cut, compactable=self.compactable)

    @property
    def cut(self) -> CutReason | None:
        """A reason to end that no entry tells yet: the process is closing."""
        return "terminated" if self.draining else None

    def agent_of(self, run: RunLife) -> AgentRevision:
        """The revision under which a run goes on."""
        return self.agent if run.agent is None else self.others[run.agent]

    def admit(self, agent: AgentRevision) -> None:
        """Lets another agent take part: the turn was handed to it, or it is called."""
        self.others[agent.name, agent.revision] = agent
        self.policy = policy_of(self.agent, self.facts.options, self.others.values())

    def lose(self) -> None:
        """Another writer has the session: nothing more is written from here. A turn that gives its claim back finds out by itself."""
        if not self.releasing:
            self.lost = True
            self.stop.set()

    async def commit(
        self,
        drafts: Sequence[Draft],
        *,
        turn: TurnWrite | None = None,
        call: CallWrite | None = None,
        session: SessionPatch | None = None,
        release: bool = False,
        before: Sequence[tuple[str, str]] = (),
        after: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Appends drafts under the fence, with every event that is not logged yet, and tells the listeners.

        `before` and `after` are events (name, JSON text) around those that tell of the entries. Raises `HeadMismatch`, with
        `head_seq` at the head, where something was appended beside the claim: it may change what has to be appended. While the
        database is away the append is tried again for a while; what was written without our hearing of it is found again.
        """
        self.releasing = release
        entries, blobs = await self.writer.prepare(drafts)
        base = Append(entries=entries, blobs=blobs, fence=self.fence, turn=turn, call=call, session=session, release=release)
        patience, unheard = Patience(), False
        while True:
            await self.stream.flushed()
            stream, first_seq = self.stream, self.head_seq + 1
            last_id, pending = stream.last_id, stream.pending
            events = [stream.event(name, data) for name, data in before]
            events += [stream.event(name, data, seq) for name, data, seq in committed_events(drafts, first_seq)]
            events += [stream.event(name, data) for name, data in after]
            append = replace(base, expected_head=self.head_seq, events=stream.take_rows(events))
            try:
                written, head_seq = await self._append(append)
            except BaseException as error:
                stream.reset(last_id, pending)
                if isinstance(error, Unavailable):
                    unheard = True
                    await patience.wait(error)
                    continue
                if not isinstance(error, HeadMismatch):
                    raise
                written, head_seq = await self._written(entries, first_seq) if unheard else [], error.head_seq
                if not written:
                    self.head_seq = head_seq
                    raise
            self.head_seq = head_seq
            inline = spelled_out(written, drafts)
            self.entries += inline
            by_seq = {entry.seq: entry for entry in inline}
            stream.told([filled(event, by_seq.get(event.seq)) for event in events])
            return

    async def _append(self, append: Append) -> tuple[list[Entry], int]:
        if self.lost:
            raise FenceLost
        appended = await self.writer.ledger.append(self.facts.key.tenant, self.facts.key.session, append)
        return committed(append.entries, appended), appended.last_seq

    async def _written(self, entries: Sequence[NewEntry], first_seq: int) -> list[Entry]:
        """What an append of ours wrote without our hearing of it. Whoever took the turn over has written other entries there."""
        key, places = self.facts.key, EntryFilter(after_seq=first_seq - 1)  # not the turn's: a session may be held without one
        found = await patiently(lambda: self.writer.ledger.entries(key.tenant, key.session, places, len(entries)))
        return found if [(one.kind, one.payload) for one in found] == [(one.kind, one.payload) for one in entries] else []

    async def read_entries(self) -> list[Entry]:
        """The turn's entries as the ledger has them, long texts in blobs."""
        key = self.facts.key
        return await patiently(lambda: self.writer.ledger.turn_entries(key.tenant, key.session, key.turn))


class Patience:
    """The waits between tries while the database is away, longer each time."""

    def __init__(self) -> None:
        self._deadline = asyncio.get_running_loop().time() + DATABASE_AWAY_SECONDS_MAX
        self._tries = 0

    async def wait(self, error: Unavailable) -> None:
        """Waits before the next try; raises the error once it has taken too long."""
        if asyncio.get_running_loop().time() > self._deadline:
            raise error
        await asyncio.sleep(min(0.1 * 2**self._tries, 2))
        self._tries = min(self._tries + 1, 10)


async def patiently(read: Callable[[], Awaitable[T]]) -> T:
    """What a read gives, tried again while the database is away: a turn that holds an unwritten answer does not give up on it."""
    patience = Patience()
    while True:
        try:
            return await read()
        except Unavailable as error:
            await patience.wait(error)


def spelled_out(entries: Sequence[Entry], drafts: Sequence[Draft]) -> list[Entry]:
    """Entries that were just appended, with the long texts of their drafts inline, as a turn keeps them."""
    return [
        entry if isinstance(draft.body, str) else entry._replace(payload=encode(draft.body), blobs=())
        for entry, draft in zip(entries, drafts, strict=True)
    ]


def filled(event: Event, entry: Entry | None) -> Event:
    """A `message.committed` event with its entry in it; any other event as it is."""
    if event.data or entry is None:
        return event
    return event._replace(data=f'{{"type":"{event.name}","seq":{entry.seq},"message":{entry_json(entry)}}}')
