"""What renderers say of a request beside its messages and sections: which tools may be used, what was observed, what did not run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.context.neutral import NeutralMessage, SystemSection


@dataclass(frozen=True, slots=True)
class Failure:
    """A renderer that could not do its work: its id, a kebab-case code, and a sentence without content."""

    renderer: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Tap:
    """The request in the making as the tap `renderer` saw it. `declared`, `allowed` and `choice` are what held there."""

    renderer: str
    message_count: int
    system: tuple[SystemSection, ...]
    messages: tuple[NeutralMessage, ...]
    declared: tuple[str, ...]
    allowed: tuple[str, ...] | None
    choice: str | None


@dataclass(slots=True)
class Directives:
    """`masked`: tools that are not declared. `allowed`: the names to which the choice is narrowed, None: not narrowed. `choice`: of tools.

    `unmet`: renderers whose condition did not hold, and `blank`: sections that came out blank, as (renderer, id). `values`: of
    the names of templates, once one was evaluated.
    """

    masked: set[str] = field(default_factory=set)
    allowed: tuple[str, ...] | None = None
    choice: str | None = None
    taps: list[Tap] = field(default_factory=list)
    unmet: list[tuple[str, str]] = field(default_factory=list)
    blank: list[tuple[str, str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    values: Mapping[str, Any] | None = None

    @property
    def state_read(self) -> bool:
        """Whether a template or a condition was evaluated over the state."""
        return self.values is not None
