"""`system`: text of the agent at the head of the request, in the order of the list; or behind everything, as user input.

`placement: tail` is for text that changes: at the head it would break what a provider's cache and bound reasoning rest on (X-31).
"""

from app.context.draft import Count, Draft, SystemSection
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Adds the section. The text is the revision's own; no state enters it."""
    text = str(spec.options["text"])
    place = draft.tail if spec.options.get("placement") == "tail" else draft.system
    place.append((SystemSection(spec.id, text), count(text)))
