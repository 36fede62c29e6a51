"""`system`: text of the agent at the head of the request, in the order of the list; or behind everything, as user input.

`placement: tail` is for text that changes: at the head it would break what a provider's cache and bound reasoning rest on (X-31).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import Count, Draft, SystemSection
from app.context.fields import TEXT_CHARS_MAX, Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Adds the section. The text is the revision's own; no state enters it."""
    text = str(spec.options["text"])
    place = draft.tail if spec.options.get("placement") == "tail" else draft.system
    place.append((SystemSection(spec.id, text), count(text)))


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    for key in ("template", "when"):
        if key in spec:
            check.unbuilt(f"{pointer}/{key}", "A template")
    if "text" in spec:
        check.text(spec["text"], f"{pointer}/text", TEXT_CHARS_MAX)
    elif "template" not in spec:
        check.fault(f"{pointer}/text", "missing", "This key is required.")
    check.word(spec.get("placement", "head"), f"{pointer}/placement", ("head", "tail"))


KIND = RendererKind(render, ("text", "template", "when", "placement"), check, MappingProxyType({"placement": "head"}))
