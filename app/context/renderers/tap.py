"""`tap`: keeps the request in the making as it stands at its place, for what-if calls to show; it alters nothing (S4-06)."""

from app.context.directives import Tap
from app.context.draft import Count, Draft
from app.context.renderers.kinds import RendererKind, no_keys
from app.context.sources import RendererSpec


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    directives, masked = draft.directives, draft.masked
    tap = Tap(
        spec.id,
        draft.prompt_parts(),
        tuple([section for section, _ in (*draft.system, *draft.tail)]),
        tuple(draft.sent()),
        tuple([tool.name for tool in draft.sources.agent.tools if tool.enabled and tool.name not in masked]),
        directives.allowed,
        draft.choice,
    )
    directives.taps.append(tap)


KIND = RendererKind(render, (), no_keys)
