"""`prune_addressed`: takes out the user messages placed before it that are aimed at one of `agents` by name (X-30).

A message is aimed at an agent by its attributes, `{"agent": "<name>"}`: application data that a provider never sees (S1-20, S1-21).
"""

from collections.abc import Mapping
from typing import Any

from app.context.draft import Count, Draft, Item, Reason
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind, check_agents
from app.context.sources import RendererSpec
from app.entries import lossless


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    agents = spec.options["agents"]
    for item in draft.placed:
        if item.message is not None and item.message.role == "user" and addressee(item) in agents:
            draft.drop(item, Reason.FOR_OTHER_AGENT, spec.renderer)


def addressee(item: Item) -> str | None:
    """The agent that a message's attributes name."""
    attributes = None if item.source is None or item.source.entry.attributes is None else lossless.read(item.source.entry.attributes)
    aimed = attributes.get("agent") if isinstance(attributes, Mapping) else None
    return aimed if isinstance(aimed, str) else None


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    if "agents" not in spec:
        check.fault(f"{pointer}/agents", "missing", "This key is required.")
    else:
        check_agents(check, spec, pointer)


KIND = RendererKind(render, ("agents",), check)
