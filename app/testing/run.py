"""What a run gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from app.testing.renders import Render


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a turn's stream."""

    turn_id: str
    id: int
    name: str
    data: Mapping[str, Any]


class Matches(Protocol):
    """What `Run.check` takes: `matchers.Matcher`, or one of your own."""

    def fault(self, run: "Run", /) -> str | None:
        """None where the run is as it should be, else what was expected and what was there."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is there after the last step, as the API shows it: all turns, entries (the ledger view) and calls of the session, in order.

    `renders[i]` is the model input of `calls[i]`, derived again. `state` is by scope. `tenant` and `session_id` let a later run see the
    same user's other sessions, or go on in this one.
    """

    tenant: UUID
    session_id: str
    turns: tuple[Mapping[str, Any], ...]
    entries: tuple[Mapping[str, Any], ...]
    calls: tuple[Mapping[str, Any], ...]
    renders: tuple[Render, ...]
    events: tuple[Event, ...]
    state: Mapping[str, Any]

    @property
    def status(self) -> str | None:
        """The last turn's status; None where the script posted none."""
        return str(self.turns[-1]["status"]) if self.turns else None

    @property
    def error(self) -> Mapping[str, Any] | None:
        """Why the last turn failed: `{code, detail}`."""
        return self.turns[-1]["error"] if self.turns else None

    @property
    def pending(self) -> tuple[Mapping[str, Any], ...]:
        """The calls that the last turn waits for: `{tool_call_id, name, arguments, needs}`."""
        return tuple(self.turns[-1]["pending"]) if self.turns else ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the entries."""
        return tuple(entry["kind"] for entry in self.entries)

    @property
    def text(self) -> str:
        """The text of the last answer; empty where there is none."""
        answers = [entry for entry in self.entries if entry["kind"] == "assistant_message"]
        return text_of(answers[-1]["body"]) if answers else ""

    def has(self, matcher: Matches) -> bool:
        """Whether the run is as the matcher wants it."""
        return matcher.fault(self) is None

    def check(self, *matchers: Matches) -> None:
        """Raises `AssertionError` with what was expected and what was there, of every matcher that does not hold."""
        __tracebackhide__ = True
        faults = [fault for matcher in matchers if (fault := matcher.fault(self)) is not None]
        if faults:
            raise AssertionError("\n".join(faults))


def text_of(body: Mapping[str, Any] | None) -> str:
    """The text parts of a message's body, joined; of an erased one nothing."""
    return "".join(part["text"] for part in (body or {}).get("parts", ()) if part["type"] == "text")
