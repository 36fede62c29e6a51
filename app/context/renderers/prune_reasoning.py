"""`prune_reasoning`: takes what the model thought out of the answers that are placed before it (S4-26); before `history` it removes nothing.

An answer of thoughts alone goes. Providers that bind calls to their thoughts by a signature of the call keep that: it is no thought.
"""

from app.context.draft import Count, Draft, Reason
from app.context.renderers.kinds import RendererKind, no_keys
from app.context.renderers.shortening import shortened
from app.context.sources import RendererSpec
from app.entries.parts import Reasoning


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    for item in draft.placed:
        message = item.message
        if message is None or message.role != "assistant" or not any(isinstance(part, Reasoning) for part in message.parts):
            continue
        kept = [place for place, part in enumerate(message.parts) if not isinstance(part, Reasoning)]
        shortened(draft, item, kept, Reason.REASONING_PRUNED, spec.renderer, count)


KIND = RendererKind(render, (), no_keys)
