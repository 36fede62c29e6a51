"""`prune_addressed`: takes out the user messages placed before it that are aimed at one of `agents` by name (X-30).

A message is aimed at an agent by its attributes, `{"agent": "<name>"}`: application data that a provider never sees (S1-20, S1-21).
"""

from collections.abc import Mapping
from typing import Any

from app.context.draft import Count, Draft, Reason
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind, check_agents
from app.context.sources import RendererSpec
from app.entries import lossless


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    agents = spec.options["agents"]
    for item in draft.placed:
        message, source = item.message, item.source
        if message is None or message.role != "user" or source is None or source.entry.attributes is None:
            continue
        attributes = lossless.read(source.entry.attributes)
        if isinstance(attributes, Mapping) and attributes.get("agent") in agents:
            draft.drop(item, Reason.FOR_OTHER_AGENT, spec.renderer)


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    if "agents" not in spec:
        check.fault(f"{pointer}/agents", "missing", "This key is required.")
    else:
        check_agents(check, spec, pointer)


KIND = RendererKind(render, ("agents",), check)
