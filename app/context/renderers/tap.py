"""`tap`: keeps the request in the making as it stands at its place, for what-if calls to show; it alters nothing (S4-06)."""

from app.context.directives import Tap
from app.context.draft import Count, Draft
from app.context.renderers.kinds import RendererKind, no_keys
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    sources, directives = draft.sources, draft.directives
    masked = directives.masked.union(sources.overrides.masked_tools)
    tap = Tap(
        spec.id,
        draft.prompt_parts(),
        tuple([section for section, _ in (*draft.system, *draft.tail)]),
        tuple(draft.sent()),
        tuple([tool.name for tool in sources.agent.tools if tool.enabled and tool.name not in masked]),
        directives.allowed,
        sources.overrides.tool_choice or directives.choice,
    )
    directives.taps.append(tap)


KIND = RendererKind(render, (), no_keys)
