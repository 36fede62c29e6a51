"""Which calls of an answer may run (S0-18, T-05). Decided before any executor and before any hand-off to a client."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.entries.messages import Answer, Status
from app.turn.policy import Policy

# What the model reads as the result of a call that did not run. The text is part of the next body: a change is a new compiler version.
DETAILS: Mapping[str, str] = MappingProxyType(
    {
        "tool-not-declared": "This tool does not exist here. Use one of the declared tools.",
        "tool-masked": "This tool is switched off for this turn. Use one of the declared tools.",
        "tool-not-allowed": "This tool may not be used now. Use one of the allowed tools.",
        "output-truncated": "Not executed: the answer reached its length limit, so the call may be incomplete. Send it again, shorter.",
        "answer-unfinished": "Not executed: the answer was cut off.",
        "answer-refused": "Not executed: the provider withheld the answer.",
        "turn-cancelled": "Not executed: the turn was cancelled.",
        "turn-interrupted": "Not executed: the turn was interrupted.",
        "outcome-unknown": "The tool was started and its outcome is unknown. It may have had effects; check before doing it again.",
    }
)

# Stop reasons of a whole answer whose calls may be acted on. Some servers say `stop` beside calls, so `finished` is one.
_ACTED_ON = frozenset({"finished", "tool_calls", None})
_BARRED: Mapping[str, str] = MappingProxyType({"length": "output-truncated", "refused": "answer-refused"})


@dataclass(frozen=True, slots=True)
class Rejection:
    """`code` is kebab-case; `detail` is the text of the error result, without anything that the model wrote."""

    code: str
    detail: str


def rejection(code: str) -> Rejection:
    """The rejection of that code. Raises `KeyError` for a code without a text."""
    return Rejection(code, DETAILS[code])


def admit(name: str, policy: Policy) -> Rejection | None:
    """None for a tool that may run, else why not."""
    tool = policy.tools.get(name)
    if tool is None:
        return rejection("tool-not-declared")
    if not tool.declared:
        return rejection("tool-masked")
    return None if tool.allowed else rejection("tool-not-allowed")


def acted_on(answer: Answer) -> Rejection | None:
    """None where an answer's calls may be acted on. A truncated or unfinished one executes none of them (X-74)."""
    if answer.status is not Status.COMPLETED:
        return rejection("answer-unfinished")
    if answer.stop_reason in _ACTED_ON:
        return None
    return rejection(_BARRED.get(answer.stop_reason or "", "answer-unfinished"))
