"""What follows from a turn's entries without any work outside: refusals, closed calls, the wait for a client, the end.

Pure. The live loop, a cancel of a waiting turn and the recovery of a lost one all take their last entries from here, so that
each of them commits in one append.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.entries import lossless
from app.entries.messages import Entry, ToolResult, encode
from app.entries.parts import Text, ToolCall
from app.entries.trace import CutReason, Interruption, ToolRejected, TurnSettled
from app.services.write import Draft
from app.turn.life import read_life
from app.turn.moves import Await, Close, Done, Mend, Move, Pending, Refuse, Settle, next_move
from app.turn.policy import Policy

_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
Mending = Callable[[Mend], list[Draft]]


@dataclass(slots=True)
class Consequences:
    """Drafts to append, and the move that needs somebody else: a call, a run, the client, or nobody any more."""

    drafts: list[Draft] = field(default_factory=list)
    move: Move | None = None

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
    mend: Mending | None = None,
) -> Consequences:
    """Everything that the turn's entries and the new drafts settle by themselves, in the order in which it is appended.

    `cut` is a reason to end that no entry tells yet; `mend` gives the drafts of a call that started and never finished.
    Ends: each round adds the result of a call, the end of a call, or the end of the turn.
    """
    found = Consequences(list(drafts))
    known = [*entries, *(provisional(draft, head_seq + 1 + at) for at, draft in enumerate(drafts))]
    while True:
        move = next_move(read_life(known, policy, input_seq=input_seq, cut=cut))
        added = _drafts(move, turn, mend)
        known += [provisional(draft, head_seq + 1 + len(found.drafts) + at) for at, draft in enumerate(added)]
        found.drafts += added
        if not added or isinstance(move, Settle):
            found.move = move
            return found


def _drafts(move: Move, turn: int, mend: Mending | None) -> list[Draft]:
    match move:
        case Refuse(tool_call, code, detail):
            rejected = Draft("tool_rejected", ToolRejected(tool_call.tool_call_id, tool_call.name, code).encode(), turn)
            return [rejected, error_result(tool_call, detail, turn)]
        case Close(tool_calls, _, detail):
            return [error_result(call, detail, turn) for call in tool_calls]
        case Mend() if mend is not None:
            return mend(move)
        case Settle(status, error, cut):
            settled = Draft("turn_settled", TurnSettled(status, error).encode(), turn)
            return [settled] if cut is None else [Draft("interruption", Interruption(cut).encode(), turn), settled]
        case _:
            return []


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
        if draft.kind in ("assistant_message", "agent_message"):
            found.append(("message.committed", "", seq))
        elif isinstance(draft.body, ToolResult):
            data = {"type": "tool_result.committed", "seq": seq, "tool_call_id": draft.body.tool_call_id, "is_error": draft.body.is_error}
            found.append(("tool_result.committed", lossless.dumps(data), seq))
    return found


def is_over(move: Move | None) -> bool:
    """Whether nothing more happens in the turn."""
    return isinstance(move, (Settle, Done))
