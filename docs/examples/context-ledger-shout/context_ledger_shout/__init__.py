"""`shout`: the newest user message in capitals, with a mark behind it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import Count, Draft, Reason
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.sources import RendererSpec
from app.entries.parts import Text


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Replaces the message; its origin stays, and the manifest says `text_transformed`."""
    for item in reversed(draft.placed):
        message = item.message
        if message is None or message.role != "user":
            continue
        parts = tuple([Text(part.text.upper() + spec.options["mark"]) if isinstance(part, Text) else part for part in message.parts])
        tokens = sum(count(part.text) for part in parts if isinstance(part, Text))
        draft.replace(item, (Reason.TEXT_TRANSFORMED,), spec.renderer, message._replace(parts=parts), tokens)
        return


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    """`mark` is a short text."""
    check.text(spec.get("mark", "!"), f"{pointer}/mark", 8)


KIND = RendererKind(render, ("mark",), check, MappingProxyType({"mark": "!"}))
