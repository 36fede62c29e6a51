"""`mask_tools`: takes the declarations of `names` out of this call, as `overrides.masked_tools` does for a turn (T-05, S0-17).

What is masked is not declared, weighs nothing, and a call to it is rejected. It adds to what was masked before.
"""

from app.context.draft import Count, Draft
from app.context.renderers.kinds import RendererKind
from app.context.renderers.tool_names import check_names
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    draft.directives.masked.update(spec.options["names"])


KIND = RendererKind(render, ("names",), check_names)
