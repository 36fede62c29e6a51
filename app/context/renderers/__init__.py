"""Renderers of floor 2: each changes the draft that those before it in the agent's list left (S4-02); a file each, a row each.

Nothing reaches a model except through them (S4-08). A renderer may read the draft and its spec, and changes the draft through its verbs
and its directives alone; like all of `context` it is pure. Each may have a condition, `when`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.directives import Failure
from app.context.draft import Count, Draft
from app.context.fields import Check
from app.context.renderers import (
    history,
    limit_tools,
    mask_tools,
    prune_addressed,
    prune_reasoning,
    prune_tool_results,
    select_recent,
    system,
    tap,
    tool_choice,
    transform_user,
    user,
)
from app.context.renderers.guarded import guarded
from app.context.renderers.installed import installed
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.renderers.texts import met
from app.context.sources import AgentRevision, RendererSpec
from app.context.templates.render import RenderFailedError

BUILT: Mapping[str, RendererKind] = MappingProxyType(
    {
        "system": system.KIND,
        "user": user.KIND,
        "history": history.KIND,
        "prune_reasoning": prune_reasoning.KIND,
        "select_recent": select_recent.KIND,
        "prune_tool_results": prune_tool_results.KIND,
        "prune_addressed": prune_addressed.KIND,
        "transform_user": transform_user.KIND,
        "limit_tools": limit_tools.KIND,
        "mask_tools": mask_tools.KIND,
        "tool_choice": tool_choice.KIND,
        "tap": tap.KIND,
    }
)
CUSTOM, VERSIONS = installed(BUILT)
"""Renderers of other packages, and `name@version` of each."""

RENDERERS: Mapping[str, RendererKind] = MappingProxyType({**BUILT, **CUSTOM})


def run(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Runs one renderer where its condition holds. What it cannot do becomes a failure of the draft, never an exception."""
    kind, directives = RENDERERS.get(spec.renderer), draft.directives
    if kind is None:
        directives.failures.append(Failure(spec.id, "renderer-missing", "No package that is installed brings this renderer; install it again."))
        return
    try:
        if "when" in spec.options and not met(draft, spec.options["when"]):
            directives.unmet.append((spec.renderer, spec.id))
            return
        if spec.renderer in BUILT:
            kind.render(draft, spec, count)
        else:
            guarded(kind, draft, spec, count)
    except RenderFailedError as error:
        draft.directives.failures.append(Failure(spec.id, error.code, error.detail))


def checked(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    """Has a renderer of the registry check its keys. A package that cannot is a fault of the document, never an exception."""
    name = spec["renderer"]
    try:
        RENDERERS[name].check(check, spec, pointer, facts)
    except Exception as error:
        if name in BUILT:
            raise
        check.fault(pointer, "bad-value", f"The package that brings this renderer could not check it ({type(error).__name__}).")


def past_states_needed(agent: AgentRevision) -> bool:
    """Whether a renderer of the agent reads the state as it was before."""
    return any(spec.renderer == "transform_user" and transform_user.needs_past(spec.options) for spec in agent.renderers)


def versions(agent: AgentRevision) -> tuple[str, ...]:
    """`name@version` of the renderers of other packages that an agent's list names; `name@none` for one that is not installed."""
    names = sorted({spec.renderer for spec in agent.renderers} - BUILT.keys())
    return tuple([VERSIONS.get(name, f"{name}@none") for name in names])
