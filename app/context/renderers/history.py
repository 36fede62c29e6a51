"""`history`: the conversation, in its order, ephemeral messages where they stand."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import Count, Disposition, Draft, Reason, Step
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.sources import RendererSpec

_KEPT = Step(Disposition.INCLUDED, Reason.IN_WINDOW, "history")
_PRESENT = Step(Disposition.INCLUDED, Reason.EPHEMERAL, "history")
_UNBUILT_SCOPES = ("direct", "invocation", "ancestors", "agent")


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Places every message that nobody decided to be out. Scope `session`: whichever agent spoke."""
    if not draft.sources.ephemeral:
        draft.keep([item for item in draft.items if item.message is not None], _KEPT)
        return
    for item in draft.items:
        if item.message is not None:
            draft.keep((item,), _PRESENT if item.source is None else _KEPT)


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    check.word(spec.get("scope", "session"), f"{pointer}/scope", ("session",), _UNBUILT_SCOPES)


KIND = RendererKind(render, ("scope",), check, MappingProxyType({"scope": "session"}), once=True)
