"""`system`: text of the agent at the head of the request, in the order of the list."""

from app.context.draft import Count, Draft, SystemSection
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Adds the section. The text is the revision's own; no state enters it."""
    text = str(spec.options["text"])
    draft.system.append((SystemSection(spec.id, text), count(text)))
