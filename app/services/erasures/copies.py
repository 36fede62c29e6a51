"""Where the content of an entry stands again in entries that the service made of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.context.schemas import escaped
from app.entries import lossless
from app.entries.ids import is_commitment
from app.entries.messages import Answer, Body, Entry, ToolResult, decode
from app.entries.parts import ToolCall
from app.entries.plans import Plan
from app.entries.redactions import Redaction
from app.entries.settings import PlanChanged, StateChanged
from app.entries.trace import ModelCallStarted, ToolStarted


def redaction(seq: int, kind: str, reason: str, body: Body | None) -> Redaction:
    """What is told of a redacted entry: ids and names of its calls stay, or those of the call that it answers."""
    match body:
        case Answer(parts=parts):
            return Redaction(seq, reason, kind, tuple([(part.tool_call_id, part.name) for part in parts if isinstance(part, ToolCall)]))
        case ToolResult(tool_call_id=tool_call_id, name=name):
            return Redaction(seq, reason, kind, tool_call_id=tool_call_id, name=name)
        case _:
            return Redaction(seq, reason, kind)


class StateCopies:
    """The values that a change of state set, each at its place, and the other states that hold one of them: each entry holds the whole state.

    An item of a list has the list's place, wherever it stands in it.
    """

    def __init__(self, redacted: StateChanged) -> None:
        places = redacted.changed or ("",)
        self._values = {(at, value) for at, value in _leaves(redacted.state, "") if any(f"{at}/".startswith(f"{place}/") for place in places)}

    @property
    def shared(self) -> bool:
        """Whether one of them is of the scope that a user's sessions share."""
        return any(at.startswith("/user/") or at == "/user" for at, _ in self._values)

    def held_by(self, state: Mapping[str, Any]) -> bool:
        """Whether a state has one of the values at its place."""
        return not self._values.isdisjoint(_leaves(state, ""))


class PlanCopies:
    """The texts of the plan that an answer set by its controls, and the other plans that hold one of them."""

    def __init__(self, redacted: Sequence[PlanChanged]) -> None:
        self._texts = {text for one in redacted if one.plan is not None for text in _said(one.plan)}

    def held_by(self, change: PlanChanged) -> bool:
        return change.plan is not None and not self._texts.isdisjoint(_said(change.plan))


def handed_on(entry: Entry, answer: Answer, turn: Sequence[Entry]) -> list[tuple[Entry, Body]]:
    """The messages that the service made of an answer: what agents that it called were asked, and where it is a called agent's last, the result
    of that call. `turn`: the entries of its turn, oldest first."""
    behind = [(one, one.payload) for one in turn if one.seq > entry.seq and one.payload is not None]
    later = next((one.seq for one, _ in behind if one.kind == entry.kind and one.invocation == entry.invocation), None)
    runs = [(one.seq, ToolStarted.decode(one.payload)) for one in turn if one.kind == ToolStarted.kind and one.payload is not None]
    called = [(seq, started) for seq, started in runs if started.mode == "call"]
    ids = {part.tool_call_id for part in answer.parts if isinstance(part, ToolCall)}
    asked = {one.invocation for seq, one in called if one.tool_call_id in ids and seq > entry.seq and (later is None or seq < later)}
    ended = next((one.tool_call_id for _, one in called if one.invocation == entry.invocation and later is None), None)
    messages = [(one, decode(one.kind, payload)) for one, payload in behind if one.kind in ("agent_message", "tool_result")]
    inputs = {one.invocation: (one, body) for one, body in reversed(messages) if one.kind == "agent_message" and one.invocation in asked}
    results = [(one, body) for one, body in messages if isinstance(body, ToolResult) and body.tool_call_id == ended]
    return [*inputs.values(), *results[:1]]


def tells_digests(started: ModelCallStarted) -> bool:
    """Whether the entry of a call names its input by bare digests, as those of earlier releases do."""
    return any(one is not None and not is_commitment(one) for one in (started.digest, started.prefix_digest))


def _said(plan: Plan) -> set[str]:
    return {plan.objective, *(step.text for step in plan.steps), *plan.criteria, *plan.notes}


def _leaves(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """The scalars of a state, and what is empty, as JSON text, each with the place that it has."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}/{escaped(key)}")
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _leaves(inner, at)
    else:
        yield at, lossless.dumps(value)


def shared_state(text: str) -> Mapping[str, Any]:
    """The state that a user's sessions share, as a scope of a state."""
    return {"user": lossless.loads(text, 80)}
