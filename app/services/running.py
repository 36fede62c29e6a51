"""A turn that runs in this process: what is known of it, and the one way in which it writes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from app.config.limits import ACCEPT_TRIES_MAX, COMMIT_RETRY_SECONDS_MAX
from app.context.sources import AgentRevision, Ephemeral
from app.entries import lossless
from app.entries.errors import FenceLost, HeadMismatch, Unavailable
from app.entries.messages import Entry, encode
from app.entries.wire import entry_json
from app.services.consequences import committed_events
from app.services.streams import Event, TurnKey, TurnStream
from app.services.write import Draft, Writer
from app.storage.types import Append, CallWrite, SessionPatch, TurnWrite, committed
from app.turn.policy import Policy, ToolPolicy


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

    def encode(self) -> str:
        return lossless.dumps({name: getattr(self, name) for name in self.__dataclass_fields__})


def decode_options(text: str | None) -> Options:
    """The options that `encode` wrote; the defaults where nothing was written."""
    value = {} if text is None else lossless.loads(text, 80)
    known = {name: value[name] for name in Options.__dataclass_fields__ if name in value}
    return Options(**{**known, "masked_tools": tuple(value.get("masked_tools", ()))})


def policy_of(agent: AgentRevision, options: Options) -> Policy:
    """What the turn may do: the agent's tools and steps, less what the turn masks."""
    masked = frozenset(options.masked_tools)
    tools = {
        tool.name: ToolPolicy(executor=tool.executor["kind"], declared=tool.enabled and tool.name not in masked, repeatable=tool.repeatable)
        for tool in agent.tools
    }
    return Policy(agent.turn_max_steps, tools)


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
    """A turn under this process's claim. `entries` are its own, long texts inline; `head_seq` is the head as last seen."""

    facts: Facts
    policy: Policy
    agent: AgentRevision
    fence: int
    head_seq: int
    stream: TurnStream
    writer: Writer
    entries: list[Entry] = field(default_factory=list)
    ephemeral: tuple[Ephemeral, ...] = ()
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False
    draining: bool = False
    releasing: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def number(self) -> int:
        return self.facts.key.turn

    def lose(self) -> None:
        """Another writer has the session: nothing more is written from here."""
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
        strict_head: bool = False,
        before: Sequence[tuple[str, str]] = (),
        after: Sequence[tuple[str, str]] = (),
    ) -> list[Entry]:
        """Appends drafts under the fence, with every event that is not logged yet, and tells the listeners.

        `before` and `after` are events (name, JSON text) around those that tell of the entries. Entries that others appended
        beside the claim only move the head, unless `strict_head`: then `HeadMismatch` is raised. While the database is
        away the append is tried again for a while; what was written without our hearing of it is found by its head.
        """
        base = Append(fence=self.fence, turn=turn, call=call, session=session, release=release)
        deadline = asyncio.get_running_loop().time() + COMMIT_RETRY_SECONDS_MAX
        tries, unheard, self.releasing = 0, False, release
        while True:
            await self.stream.flushed()
            first_seq = self.head_seq + 1
            saved_id, saved = self.stream.last_id, list(self.stream.pending)
            events = [self.stream.event(name, data) for name, data in before]
            events += [self.stream.event(name, data, seq) for name, data, seq in committed_events(drafts, first_seq)]
            events += [self.stream.event(name, data) for name, data in after]
            append = replace(base, expected_head=self.head_seq, events=self.stream.take_rows(events))
            try:
                return await self._append(drafts, append, events)
            except (HeadMismatch, Unavailable) as error:
                tries += 1
                if isinstance(error, HeadMismatch):
                    if unheard and (written := await self._written(first_seq)):
                        return self._adopt(written, error.head_seq, events)
                    if strict_head or tries > ACCEPT_TRIES_MAX:
                        raise
                    self.head_seq = error.head_seq
                elif asyncio.get_running_loop().time() > deadline:
                    raise
                else:
                    unheard = True
                    await asyncio.sleep(min(0.1 * 2**tries, 2))
                self.stream.last_id = saved_id
                self.stream.pending = sorted([*saved, *self.stream.pending], key=lambda event: event.id)

    async def _written(self, first_seq: int) -> list[Entry]:
        """Entries of this turn that an append wrote without our hearing of it; nobody else writes any but requests to stop."""
        key = self.facts.key
        found = await self.writer.ledger.turn_entries(key.tenant, key.session, key.turn)
        return [entry for entry in found if entry.seq >= first_seq and entry.kind != "stop_requested"]

    async def _append(self, drafts: Sequence[Draft], append: Append, events: list[Event]) -> list[Entry]:
        if self.lost:
            raise FenceLost
        entries, blobs = await self.writer.prepare(drafts)
        appended = await self.writer.ledger.append(
            self.facts.key.tenant, self.facts.key.session, replace(append, entries=entries, blobs=(*append.blobs, *blobs))
        )
        written = [
            entry if isinstance(draft.body, str) else entry._replace(payload=encode(draft.body), blobs=())
            for entry, draft in zip(committed(entries, appended), drafts, strict=True)
        ]
        return self._adopt(written, appended.last_seq, events)

    def _adopt(self, written: list[Entry], head_seq: int, events: list[Event]) -> list[Entry]:
        self.head_seq = head_seq
        self.entries += written
        by_seq = {entry.seq: entry for entry in written}
        self.stream.show([filled(event, by_seq.get(event.seq)) for event in events])
        return written


def filled(event: Event, entry: Entry | None) -> Event:
    """A `message.committed` event with its entry in it; any other event as it is."""
    if event.data or entry is None:
        return event
    return replace(event, data=f'{{"type":"{event.name}","seq":{entry.seq},"message":{entry_json(entry)}}}')
