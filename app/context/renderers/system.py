"""`system`: text of the agent at the head of the request, in the order of the list; or behind everything, as user input.

Sections are lifted to the head wherever they stand in the list, so that no filter trims them (S4-31). `placement: tail` is for text that
changes: at the head it would break what a provider's cache rests on (X-31). Reasoning that is bound to its prefix is lost with either: the
answer was made behind the late text, which the next call has elsewhere.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import Count, Draft, SystemSection
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.renderers.texts import KEYS, check_text, text_of
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Adds the section. One that is blank is left out. Raises `RenderFailedError`."""
    text = text_of(draft, spec)
    if text is None:
        return
    place = draft.tail if spec.options.get("placement") == "tail" else draft.system
    place.append((SystemSection(spec.id, text), count(text)))


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    check_text(check, spec, pointer, facts)
    check.word(spec.get("placement", "head"), f"{pointer}/placement", ("head", "tail"))


KIND = RendererKind(render, (*KEYS, "placement"), check, MappingProxyType({"placement": "head"}))
