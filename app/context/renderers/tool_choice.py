"""`tool_choice`: how the model has to choose for this call (S4-35): `auto`, `none`, `required` or the name of one of the agent's tools.

The last one in the list holds. The turn's own `overrides.tool_choice` goes before any renderer: it is the caller's word on one input,
the renderer's is the agent's default.
"""

from collections.abc import Mapping
from typing import Any

from app.context.draft import Count, Draft
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.sources import RendererSpec

CHOICES = ("auto", "none", "required")


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    draft.directives.choice = str(spec.options["choice"])


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    choice = spec.get("choice")
    if "choice" not in spec:
        check.fault(f"{pointer}/choice", "missing", "This key is required.")
    elif not isinstance(choice, str):
        check.fault(f"{pointer}/choice", "bad-type", "This has to be a string.")
    elif choice not in CHOICES and choice not in facts.tool_names:
        check.fault(f"{pointer}/choice", "unknown-tool", f"This has to be one of {', '.join(CHOICES)}, or the name of a tool of the agent.")


KIND = RendererKind(render, ("choice",), check)
