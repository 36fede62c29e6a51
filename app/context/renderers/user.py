"""`user`: a user message of the agent's own at its place in the list, behind what is placed before it (S4-49). It is no entry.

Behind `history` it is the trailing message of the request; filters that follow count it like any user message.
"""

from collections.abc import Mapping
from typing import Any

from app.context.draft import Count, Draft, NeutralMessage, Reason, Rendered
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.renderers.texts import KEYS, check_text, text_of
from app.context.sources import RendererSpec
from app.entries.parts import Text


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Inserts the message. One that a template leaves blank is left out, with a row of its own. Raises `RenderFailedError`."""
    text = text_of(draft, spec)
    if not text.strip():
        draft.directives.blank.append((spec.renderer, spec.id))
        return
    message = NeutralMessage("user", (Text(text),), Rendered(spec.id))
    draft.insert(len(draft.placed), message, Reason.RENDERED, spec.renderer, count(text))


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    check_text(check, spec, pointer, facts)


KIND = RendererKind(render, KEYS, check)
