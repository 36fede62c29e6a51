"""`limit_tools`: narrows the choice of tools for this call to `names` (S4-34). All definitions stay declared (S4-37, T-05).

It sets the list: a later one in the agent's list replaces it, and an empty list restricts nothing (X-32). A call outside of the list gets an
error result, since not every provider can enforce it.
"""

from app.context.draft import Count, Draft
from app.context.renderers.kinds import RendererKind
from app.context.renderers.tool_names import check_names
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    draft.directives.allowed = tuple(spec.options["names"]) or None


KIND = RendererKind(render, ("names",), check_names)
