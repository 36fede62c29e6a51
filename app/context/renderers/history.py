"""`history`: the conversation, in its order, ephemeral messages where they stand."""

from app.context.draft import Count, Disposition, Draft, Reason, Step
from app.context.sources import RendererSpec

_KEPT = Step(Disposition.INCLUDED, Reason.IN_WINDOW, "history")
_PRESENT = Step(Disposition.INCLUDED, Reason.EPHEMERAL, "history")


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Places every message that nobody decided to be out. Scope `session`: whichever agent spoke."""
    if not draft.sources.ephemeral:
        draft.keep([item for item in draft.items if item.message is not None], _KEPT)
        return
    for item in draft.items:
        if item.message is not None:
            draft.keep((item,), _PRESENT if item.source is None else _KEPT)
