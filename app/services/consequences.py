"""What follows from a turn's entries without any work outside: refusals, closed calls, the wait for a client, the end.

Pure. The live loop, a cancel of a waiting turn and the recovery of a lost one all take their last entries from here, so that
each of them commits in one append.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from app.config.limits import ENTRIES_PER_APPEND_MAX
from app.entries import lossless
from app.entries.messages import Entry, ToolResult, encode
from app.entries.parts import Text, ToolCall
from app.entries.settings import AgentAdopted, PlanChanged
from app.entries.trace import CutReason, Interruption, ToolRejected, TurnSettled
from app.services.targets import switched_model
from app.services.write import Draft
from app.storage.types import SessionPatch
from app.turn.decide import next_move
from app.turn.life import Life, RunLife
from app.turn.moves import Await, Close, Done, GiveUp, Mend, Move, Pending, Refuse, Return, Settle
from app.turn.policy import AgentPolicy, Policy
from app.turn.reading import go_on, read_life

_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
Mending = Callable[[Mend | GiveUp], list[Draft]]
NO_SETTINGS: Mapping[str, Entry] = MappingProxyType({})


@dataclass(slots=True)
class Consequences:
    """Drafts to append, and the move that needs somebody else: a call, a run, the client, or nobody any more."""

    drafts: list[Draft] = field(default_factory=list)
    move: Move | None = None
    adopted: AgentAdopted | None = None
    """The agent that the session goes on with, where the turn was handed to another and ends here."""
    patch: SessionPatch | None = None
    """What that changes of the session."""

    @property
    def settled(self) -> Settle | None:
        return self.move if isinstance(self.move, Settle) else None

    @property
    def awaited(self) -> Await | None:
        return self.move if isinstance(self.move, Await) else None


def provisional(draft: Draft, seq: int) -> Entry:
    """The entry that a draft will become, as far as a turn's life depends on it: its long texts are inline."""
    payload = draft.body if isinstance(draft.body, str) else encode(draft.body)
    return Entry(
        seq, draft.kind, 1, draft.turn, None, draft.agent, draft.invocation, 0, draft.hidden, draft.include_in_context,
        draft.attributes, payload, b"", b"", draft.at, _UNKNOWN,
    )  # fmt: skip


def follow(
    entries: Sequence[Entry],
    drafts: Sequence[Draft],
    policy: Policy,
    *,
    turn: int,
    head_seq: int,
    input_seq: int | None = None,
    cut: CutReason | None = None,
    settings: Mapping[str, Entry] = NO_SETTINGS,
    compactable: bool = True,
    mend: Mending | None = None,
) -> Consequences:
    """Everything that the turn's entries and the new drafts settle by themselves, in the order in which it is appended.

    `cut` and `compactable` are what no entry of the turn tells (`read_life`), and so are the session's `settings` at the head, the latest entry
    of each kind, which are asked for where the turn was handed over. `mend` gives the drafts of a call, or of a summary, that was begun and
    never ended.
    Ends: each round adds the result of a call, the end of a call, or the end of the turn. Where an append has no more room, it ends before
    what is left, without a move.
    """
    found = Consequences(list(drafts))
    known = [*entries, *(provisional(draft, head_seq + 1 + at) for at, draft in enumerate(drafts))]
    adopted = settings.get(AgentAdopted.kind)
    life = read_life(known, policy, input_seq=input_seq, cut=cut, adopted_seq=0 if adopted is None else adopted.seq, compactable=compactable)
    while True:
        move = next_move(life)
        if isinstance(move, Settle) and move.adopts is not None:
            found.adopted, found.patch = _adopted(*move.adopts, policy, settings)
        added = _drafts(move, life, turn, mend, found.adopted)
        if len(found.drafts) + len(added) > ENTRIES_PER_APPEND_MAX:
            return found
        go_on(life, [provisional(draft, head_seq + 1 + len(found.drafts) + at) for at, draft in enumerate(added)])
        found.drafts += added
        if not added or isinstance(move, Settle):
            found.move = move
            return found


def _drafts(move: Move, life: Life, turn: int, mend: Mending | None, adopted: AgentAdopted | None) -> list[Draft]:
    match move:
        case Refuse(tool_call, code, detail, run):
            rejected = Draft("tool_rejected", ToolRejected(tool_call.tool_call_id, tool_call.name, code).encode(), turn)
            return [of_run(rejected, life.runs[run]), of_run(error_result(tool_call, detail, turn), life.runs[run])]
        case Close(closed, _, detail):
            return [of_run(error_result(one.tool_call, detail, turn), life.runs[one.run]) for one in closed]
        case Return(tool_call, parts, is_error, run):
            result = ToolResult(tool_call.tool_call_id, parts, tool_call.name, is_error)
            return [of_run(Draft("tool_result", result, turn), life.runs[run])]
        case Mend() | GiveUp() if mend is not None:
            return mend(move)
        case Settle(status, error, cut):
            drafts = [] if cut is None else [Draft("interruption", Interruption(cut).encode(), turn)]
            drafts += [] if adopted is None else [Draft(adopted.kind, adopted.encode(), turn)]
            return [*drafts, Draft("turn_settled", TurnSettled(status, error).encode(), turn)]
        case _:
            return []


def _adopted(name: str, revision: int, policy: Policy, settings: Mapping[str, Entry]) -> tuple[AgentAdopted, SessionPatch]:
    """A model that was switched to ends with an agent that names another one; one that ended before does not come back."""
    same = policy.others.get((name, revision), AgentPolicy()).same_model
    adopted = AgentAdopted(name, revision, keeps_model=same and switched_model(settings) is not None)
    patch = SessionPatch(agent=name, agent_revision=revision, agent_follows=True, clear_model=not same, clear_dispatched=not same, bump_meta=True)
    return adopted, patch


def of_run(draft: Draft, run: RunLife) -> Draft:
    """The draft as an entry of that run. What is said inside a call of an agent is hidden: people see the call and its result."""
    return replace(draft, agent=run.policy.name, invocation=run.index, hidden=draft.hidden or run.answers is not None)


def error_result(call: ToolCall, detail: str, turn: int) -> Draft:
    """The result of a call that did not run, or whose end nobody saw."""
    return Draft("tool_result", ToolResult(call.tool_call_id, (Text(detail),), call.name, True), turn)


def pending_json(pending: tuple[Pending, ...]) -> list[dict[str, Any]]:
    """The `pending` list of a Turn."""
    return [{"tool_call_id": p.tool_call_id, "name": p.name, "arguments": p.arguments, "needs": p.needs} for p in pending]


def committed_events(drafts: Sequence[Draft], first_seq: int) -> list[tuple[str, str, int]]:
    """Name, data and seq of the stream events that tell of committed entries; `message.committed` is filled in by its reader."""
    found: list[tuple[str, str, int]] = []
    for at, draft in enumerate(drafts):
        seq = first_seq + at
        if draft.kind == PlanChanged.kind and isinstance(draft.body, str):
            found.append(("plan.changed", _plan_event(draft.body, seq), seq))
        elif draft.kind in ("assistant_message", "agent_message"):
            found.append(("message.committed", "", seq))
        elif isinstance(draft.body, ToolResult):
            data = {"type": "tool_result.committed", "seq": seq, "tool_call_id": draft.body.tool_call_id, "is_error": draft.body.is_error}
            found.append(("tool_result.committed", lossless.dumps(data), seq))
    return found


def _plan_event(payload: str, seq: int) -> str:
    change = PlanChanged.decode(payload)
    told = {"operation": change.operation, "accepted": change.accepted, "feedback": change.feedback}
    return lossless.dumps({"type": "plan.changed", "seq": seq, **told, "plan": None if change.plan is None else change.plan.to_json()})


def is_over(move: Move | None) -> bool:
    """Whether nothing more happens in the turn."""
    return isinstance(move, (Settle, Done))
