"""`user`: a user message of the agent's own at its place in the list, behind what is placed before it (S4-49). It is no entry.

Behind `history` it is the trailing message of the request; filters that follow count it like any user message.
"""

from app.context.draft import Count, Draft, NeutralMessage, Reason, Rendered
from app.context.renderers.kinds import RendererKind
from app.context.renderers.texts import KEYS, check_text, text_of
from app.context.sources import RendererSpec
from app.entries.parts import Text


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Inserts the message. One that is blank is left out. Raises `RenderFailedError`."""
    text = text_of(draft, spec)
    if text is None:
        return
    message = NeutralMessage("user", (Text(text),), Rendered(spec.id))
    draft.insert(len(draft.placed), message, Reason.RENDERED, spec.renderer, count(text))


KIND = RendererKind(render, KEYS, check_text)
