"""What the model sees, saw and why: previews, source maps, calls, and calls derived again from the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.context.agents.check import check_document
from app.context.agents.read import read_agent
from app.context.report import source_map
from app.context.sources import AgentRevision, Ephemeral
from app.entries import lossless
from app.entries.errors import Fault, Invalid, NotFound
from app.entries.ids import CALL, format_id, parse_id
from app.entries.parts import Text
from app.entries.settings import StateChanged
from app.services.caching import cache_report
from app.services.call_records import invocation_of, run_of
from app.services.checkpoints import Checkpoints
from app.services.compactions.requests import Asking, SummaryRequests
from app.services.input_views import EVERYTHING, Include, call_json, manifest_of, shown, taps_of, underivable, verdict
from app.services.inputs import Ask, Inputs, Prepared, query_digest
from app.services.mismatches import Mismatches
from app.services.pages import Page
from app.services.running import decode_options
from app.services.states import States, check_state
from app.services.turns.inputs import read_parts, with_known_media
from app.services.turns.views import Views
from app.services.write import spoken
from app.storage.rows import CallRow, SessionRow, TurnRow, Window
from app.storage.store import Store
from app.turn.policy import Policy
from app.turn.reading import read_life


@dataclass(frozen=True, slots=True)
class InputQuery:
    """The query of `GET …/model-input`, validated."""

    upstream: str | None = None
    dialect: str | None = None
    model: str | None = None
    agent_revision: int | None = None
    at_seq: int | None = None
    checkpoint: str | None = None
    include: frozenset[Include] = EVERYTHING


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The body of `POST …/model-input`, validated: another input, other overrides, renderers or state; nothing is written."""

    input: str | Sequence[Mapping[str, Any]] | None = None
    overrides: Mapping[str, Any] | None = None
    context: Sequence[Mapping[str, Any]] | None = None
    state: Mapping[str, Any] | None = None


class Explain:
    """Reads and compiles; writes nothing and calls no provider."""

    def __init__(self, store: Store, inputs: Inputs, states: States, summaries: SummaryRequests, checkpoints: Checkpoints) -> None:
        self._store = store
        self._summaries = summaries
        self._inputs = inputs
        self._states = states
        self._checkpoints = checkpoints
        self._views = Views(store)
        self._mismatches = Mismatches(store)

    async def session(self, tenant: UUID, session_id: str) -> SessionRow:
        """The session's row. Raises `NotFound`."""
        return await self._views.session(tenant, session_id)

    async def etag(self, tenant: UUID, session_id: str, query: InputQuery) -> str:
        """The entity tag of a model input, known without compiling."""
        row = await self.session(tenant, session_id)
        moved = await self._moved(tenant, row) if query.at_seq is None else None
        return etag_of(row, query, self._inputs.configuration, None if moved is None else moved.encode())

    async def model_input(self, tenant: UUID, session_id: str, query: InputQuery, what_if: WhatIf | None = None) -> dict[str, Any]:
        """What the next call would send. Answers also where that is over budget or cannot be sent; `violations` says why."""
        row = await self.session(tenant, session_id)
        prepared = await self.next_input(tenant, row, query, what_if)
        found = shown(prepared, query.include)
        if what_if is not None and (taps := taps_of(prepared)):
            found["taps"] = taps
        if "cache" in query.include:
            found["cache"] = cache_report(prepared, await self._before(tenant, row, prepared))
        return found

    async def next_input(self, tenant: UUID, row: SessionRow, query: InputQuery, what_if: WhatIf | None = None) -> Prepared:
        """What the next call would send, or would have sent at a head. Raises `Invalid` for a head that the session never had."""
        if query.at_seq is not None and not 1 <= query.at_seq <= row.head_seq:
            raise Invalid([Fault("/at_seq", "out-of-range", "A session's entries are numbered from 1 to its head.")])
        model = {key: value for key, value in (("upstream", query.upstream), ("name", query.model)) if value is not None}
        ask = Ask(at_seq=query.at_seq) if query.at_seq is not None else await self._going_on(tenant, row)
        ask = replace(ask, agent_revision=query.agent_revision, model={**(ask.model or {}), **model} or None, dialect=query.dialect)
        ask = replace(ask, model_pointer="") if model else ask
        if ask.pinned is not None and query.agent_revision is not None:  # another revision of the agent that is at work
            ask = replace(ask, pinned=await self._inputs.agent(tenant, ask.pinned.name, query.agent_revision))
        moved = await self._moved(tenant, row) if query.at_seq is None else None
        ask = ask if moved is None else replace(ask, state=moved.state)
        if query.checkpoint is None and what_if is None:
            return await self._inputs.prepare(tenant, row.session_id, ask)
        window = await self._window(tenant, row, query)
        if what_if is None:
            return await self._inputs.prepare(tenant, row.session_id, ask, window)
        return await self._inputs.prepare(tenant, row.session_id, await self._what_if(tenant, row, window, ask, what_if), window)

    async def _window(self, tenant: UUID, row: SessionRow, query: InputQuery) -> Window:
        """What the query's input is made of, with the checkpoint that it asks for in the place of the one in force."""
        if query.checkpoint is None:
            return await self._inputs.window(tenant, row.session_id, query.at_seq)
        head = row.head_seq if query.at_seq is None else query.at_seq
        line = row.line if head == row.head_seq else await self._store.ledger.line_at(tenant, row.session_id, head)
        chosen = await self._checkpoints.chosen(tenant, row.session_id, line, query.checkpoint, head)
        return await self._inputs.window(tenant, row.session_id, head, chosen)

    async def _moved(self, tenant: UUID, row: SessionRow) -> StateChanged | None:
        """What the next call would record of the shared state before it is compiled; None where nothing moved."""
        if row.agent is None or row.agent_revision is None:
            return None
        return await self._states.observation(tenant, row.session_id, await self._inputs.agent(tenant, row.agent, row.agent_revision))

    async def _before(self, tenant: UUID, row: SessionRow, prepared: Prepared) -> Prepared | None:
        """The input of the newest call that was dispatched up to there, derived again."""
        call = await self.last_dispatched(tenant, row, prepared.sources.head_seq)
        return None if call is None else await self.derived(tenant, row, call)

    async def last_dispatched(self, tenant: UUID, row: SessionRow, head_seq: int) -> CallRow | None:
        """The newest main call that left at that head or before; None where none did."""
        return await self._store.calls.last_dispatched(tenant, row.session_id, head_seq)

    async def _going_on(self, tenant: UUID, row: SessionRow) -> Ask:
        """What the next call of the turn that runs or waits would be made of; without one, what a new turn would start from."""
        number = row.running_turn or row.pending_turn
        if number is None:
            return Ask()
        turn = await self._views.turn_by_number(tenant, row.session_id, number)
        calls = await self._store.calls.list(tenant, row.session_id, turn=number, limit=1)
        ask = await self._of_turn(tenant, turn, lossless.read(calls[0].record) if calls else None)
        if ask.pinned is None or not any(tool.executor["kind"] == "agent" for tool in ask.pinned.tools):
            return ask  # no other agent can have taken part
        # Whose run goes on follows from the entries alone; what it may do does not matter here.
        run = read_life(await self._store.ledger.turn_entries(tenant, row.session_id, number), Policy()).current
        if run.agent is None:
            return ask
        agent = await self._inputs.agent(tenant, *run.agent)
        return replace(ask, pinned=agent, model=None, tool_choice=None, invocation=invocation_of(run))

    async def _of_turn(self, tenant: UUID, turn: TurnRow, record: Mapping[str, Any] | None) -> Ask:
        """What all calls of a turn share: its overrides, its input, and the agent that its calls so far were made under."""
        options = decode_options(turn.options)
        return Ask(
            pinned=None if record is None else await self._inputs.agent(tenant, record["agent"], record["agent_revision"]),
            model=options.model,
            tool_choice=options.tool_choice,
            masked_tools=options.masked_tools,
            running_turn=turn.number,
            repeats_seq=None if turn.retry_of is None else turn.input_seq,
        )

    async def _what_if(self, tenant: UUID, row: SessionRow, window: Window, ask: Ask, what_if: WhatIf) -> Ask:
        overrides = what_if.overrides or {}
        ask = replace(
            ask,
            model={**(ask.model or {}), **overrides.get("model", {})} or None,
            model_pointer="/overrides/model" if "model" in overrides else ask.model_pointer,
            tool_choice=overrides.get("tool_choice", ask.tool_choice),
            masked_tools=tuple(overrides.get("masked_tools", ask.masked_tools)),
        )
        if what_if.state is not None:
            await check_state(what_if.state, await self._inputs.agent_for(tenant, window, ask), "/state")
            ask = replace(ask, state=what_if.state)
        if what_if.context is not None:
            ask = replace(ask, agent=_with_renderers(await self._inputs.agent_for(tenant, window, ask), what_if.context))
        if what_if.input is not None:
            said = read_parts(what_if.input, "/input")
            parts = (await with_known_media(self._store.blobs, tenant, row.session_id, [said]))[0].parts
            tokens = sum(self._inputs.count(text) for text in spoken(parts))
            message = Ephemeral("user_message", parts, tokens=tokens, after_seq=ask.at_seq or row.head_seq)
            ask = replace(ask, ephemeral=(message,), media={digest: content for digest, (_, content) in said.media.items()})
        return ask

    async def source_map(self, tenant: UUID, session_id: str) -> dict[str, Any]:
        """Where the messages of the latest dispatched main call came from. Raises `NotFound` where there is none (any more)."""
        row = await self.session(tenant, session_id)
        if row.dispatched_call is None:
            raise NotFound("No call was dispatched since the last prompt or model switch.", "no-dispatched-call")
        call = await self.call_row(tenant, row.session_id, row.dispatched_call)
        prepared = await self.derived(tenant, row, call)
        found = source_map(prepared.compiled, prepared.written.pointers)
        return {"object": "source_map", "session_id": session_id, "call_id": format_id(CALL, call.call_id), "head_seq": call.head_seq, **found}

    async def calls(self, tenant: UUID, session_id: str, turn_id: str | None, after: str | None, limit: int) -> Page:
        """Calls of a session, or of one of its turns, by time."""
        row = await self.session(tenant, session_id)
        turn = None if turn_id is None else (await self._views.turn(tenant, row.session_id, turn_id)).number
        cursor = None if after is None else parse_id(CALL, after)
        if after is not None and cursor is None:
            raise NotFound("There is no such call to go on after.")
        rows = await self._store.calls.list(tenant, row.session_id, turn=turn, after=cursor, limit=limit + 1)
        turns: dict[int, str] = {}
        for call in rows[:limit]:
            if call.turn and call.turn not in turns:
                turns[call.turn] = await self._views.id_of(tenant, row.session_id, call.turn)
        data = [call_json(call, turns.get(call.turn)) for call in rows[:limit]]
        return Page(data, data[-1]["id"] if len(rows) > limit else None)

    async def call(self, tenant: UUID, session_id: str, call_id: str) -> dict[str, Any]:
        """One call, with its manifest and source map derived again."""
        row = await self.session(tenant, session_id)
        call = await self.call_row(tenant, row.session_id, parse_id(CALL, call_id))
        turn_id = await self._views.id_of(tenant, row.session_id, call.turn) if call.turn else None
        prepared = await self.derived(tenant, row, call)
        return {
            **call_json(call, turn_id),
            "manifest": manifest_of(prepared),
            "source_map": source_map(prepared.compiled, prepared.written.pointers),
        }

    async def call_input(self, tenant: UUID, session_id: str, call_id: str, include: frozenset[Include] = EVERYTHING) -> dict[str, Any]:
        """A call's input derived again, and whether it is what was sent. No provider is asked."""
        row = await self.session(tenant, session_id)
        call = await self.call_row(tenant, row.session_id, parse_id(CALL, call_id))
        try:
            prepared = await self.derived(tenant, row, call)
        except (ValueError, KeyError, TypeError):  # an entry that cannot be read any more
            broken = await self._mismatches.broken(tenant, row.session_id, call.head_seq)
            if not broken:
                raise
            return underivable(call, session_id, {"source": "entries", "seq": broken[0]})
        found = verdict(lossless.read(call.record), prepared)
        if found["verified"] is False:
            found["mismatch"] = await self._mismatches.named(tenant, row.session_id, prepared, found["mismatch"])
        elif found.get("reason") == "ephemeral":  # the digest of the body cannot tell whether the other messages are what they were
            named = await self._mismatches.named(tenant, row.session_id, prepared, {"source": "entries"})
            found = {"verified": False, "mismatch": named} if "seq" in named else found
        return {**shown(prepared, include), **found}

    async def derived(self, tenant: UUID, row: SessionRow, call: CallRow) -> Prepared:
        """The input of a call, compiled from what its record names and the ledger as it stood."""
        record = lossless.read(call.record)
        if call.turn:
            ask = await self._of_turn(tenant, await self._views.turn_by_number(tenant, row.session_id, call.turn), record)
        else:  # a summary that was asked for beside every turn
            ask = Ask(pinned=await self._inputs.agent(tenant, record["agent"], record["agent_revision"]))
        kept = [(item["kind"], item["tokens"], item["after_seq"], item.get("digest")) for item in record["ephemeral"]]
        ephemeral = tuple([Ephemeral(kind, (Text("…"),), True, tokens, after_seq, digest) for kind, tokens, after_seq, digest in kept])
        invocation, continuation = run_of(record)
        ask = replace(ask, at_seq=call.head_seq, ephemeral=ephemeral, invocation=invocation, continuation=continuation)
        ask = ask if invocation.index == 0 else replace(ask, model=None, tool_choice=None)
        prepared = await self._inputs.prepare(tenant, row.session_id, ask)
        if call.purpose == "main":
            return prepared
        return await self._summaries.made(tenant, row.session_id, prepared, Asking.from_json(record["summary"]))

    async def call_row(self, tenant: UUID, session: UUID, call_id: UUID | None) -> CallRow:
        """One call of the session. Raises `NotFound`."""
        row = None if call_id is None else await self._store.calls.get(tenant, session, call_id)
        if row is None:
            raise NotFound("There is no such call in this session.")
        return row


def etag_of(row: SessionRow, query: InputQuery, configuration: str, moved: str | None = None) -> str:
    """The entity tag of what `query` compiles to at the row's head; the same in every process (a set has no order of its own).

    `moved`: the shared state that the session has not recorded yet.
    """
    asked = (replace(query, include=frozenset()), sorted(query.include))
    stands = (row.agent, row.agent_revision, row.model, row.running_turn, row.pending_turn, configuration)
    return f"{row.head_seq}-{query_digest(*asked, *stands, *(() if moved is None else (moved,)))}"


def _with_renderers(agent: AgentRevision, context: Sequence[Mapping[str, Any]]) -> AgentRevision:
    document = {**agent.document, "context": list(context)}
    faults = check_document(document)
    if faults:
        raise Invalid(faults)
    return read_agent(agent.name, agent.revision, document, agent.limits, agent.digest)
