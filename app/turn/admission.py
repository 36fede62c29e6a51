"""Which calls of an answer may run (S0-18, T-05). Decided before any executor and before any hand-off to a client."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.entries.messages import Answer, Status
from app.turn.policy import ToolPolicy

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
        "approval-denied": "Not executed: the call was denied.",
        "already-transferred": "Not executed: the conversation was handed over by another call of this answer.",
        "nested-too-deep": "Not executed: agents that call agents may not be nested any deeper.",
        "too-many-open": "Not executed: too many calls wait for their results. Call the agent again once they have them.",
        "max-steps": "Not executed: the turn reached its limit of model calls.",
        "outcome-unknown-repeatable": "The tool was started and its outcome is unknown. It may be called again.",
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


def denial(reason: str | None) -> Rejection:
    """The rejection of a call that somebody denied, with what they said of it."""
    detail = DETAILS["approval-denied"]
    return Rejection("approval-denied", f"{detail} {reason}" if reason else detail)


def admit(name: str, tools: Mapping[str, ToolPolicy], declared: Collection[str], allowed: Collection[str] | None) -> Rejection | None:
    """None for a tool that may run, else why not. `declared` and `allowed` are what the call that asks for it was shown (T-05)."""
    tool = tools.get(name)
    if tool is None:
        return rejection("tool-not-declared")
    if not tool.declared or name not in declared:
        return rejection("tool-masked")
    return None if allowed is None or name in allowed else rejection("tool-not-allowed")


def acted_on(answer: Answer) -> Rejection | None:
    """None where an answer's calls may be acted on. A truncated or unfinished one executes none of them (X-74)."""
    if answer.status is not Status.COMPLETED:
        return rejection("answer-unfinished")
    if answer.stop_reason in _ACTED_ON:
        return None
    return rejection(_BARRED.get(answer.stop_reason or "", "answer-unfinished"))
