"""What a row of the registry of renderers is made of, and the check of names and numbers that several rows share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

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
