"""What a row of the registry of renderers is made of, and the checks that several rows share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.config.limits import AGENT_NAME_CHARS_MAX, TOOLS_MAX
from app.context.draft import Count, Draft
from app.context.fields import Check
from app.context.sources import RendererSpec

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What the check of a renderer may ask of the rest of its agent's document. `state_schema` is by scope."""

    tool_names: frozenset[str] = frozenset()
    state_schema: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    has_output_schema: bool = False


Render = Callable[[Draft, RendererSpec, Count], None]
SpecCheck = Callable[[Check, Mapping[str, Any], str, DocumentFacts], None]


def no_keys(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    """The check of a renderer that has no keys of its own."""


def check_agents(check: Check, spec: Mapping[str, Any], pointer: str) -> None:
    """The key `agents`: names of agents, which need not be there yet."""
    for position, name in enumerate(check.list(spec["agents"], f"{pointer}/agents", TOOLS_MAX) or ()):
        check.text(name, f"{pointer}/agents/{position}", AGENT_NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True)
class RendererKind:
    """One renderer: what it does to a draft, its keys beside `renderer`, `id` and `when`, their check and defaults. `once`: in a list at
    most once. `render` is pure: same draft, same outcome; it changes the draft through its verbs alone.
    """

    render: Render
    keys: tuple[str, ...]
    check: SpecCheck
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    once: bool = False
