"""`transform_user`: the user messages placed before it, their text spelled by a template (X-30); not what a renderer or a summary says.

The template has `message.text` and `message.agent` (the agent that a message's attributes name, or none), and the state as it was
`as_of` the `message`, the beginning of the running `turn` (of every message's own turn, where that is another), or `now`. Images and files
stay, behind the text. The words of the user reach the template as data alone.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import CompactionOrigin, Count, Draft, Item, NeutralMessage, Reason, Rendered
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.renderers.prune_addressed import addressee
from app.context.renderers.texts import check_template, values, words_of
from app.context.sources import RendererSpec, Sources
from app.context.templates.render import rendered, values_of, vocabulary
from app.entries.parts import Part, Text

PAST = ("message", "turn")
MOMENTS = (*PAST, "now")


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Replaces what differs. A message of which the template leaves nothing is dropped. Raises `RenderFailedError`."""
    words, template, as_of = words_of(draft, message=True), str(spec.options["template"]), str(spec.options["as_of"])
    for item in draft.placed:
        message = item.message
        if message is None or message.role != "user" or isinstance(item.origin, Rendered | CompactionOrigin):
            continue
        text = rendered(template, words, {**_values(draft, item, as_of), "message": _said(item, message)})
        media = [place for place, part in enumerate(message.parts) if not isinstance(part, Text)]
        parts: tuple[Part, ...] = (*((Text(text),) if text.strip() else ()), *[message.parts[place] for place in media])
        if parts == message.parts:
            continue
        if not parts:
            draft.drop(item, Reason.RENDERED_BLANK, spec.renderer)
            continue
        first = next((place for place, part in enumerate(message.parts) if isinstance(part, Text)), None)
        places = (*((first,) if text.strip() else ()), *media)
        draft.replace(item, (Reason.TEXT_TRANSFORMED,), spec.renderer, message._replace(parts=parts), count(text), places)


def _said(item: Item, message: NeutralMessage) -> Mapping[str, Any]:
    return {"text": "".join([part.text for part in message.parts if isinstance(part, Text)]), "agent": addressee(item)}


def _values(draft: Draft, item: Item, as_of: str) -> Mapping[str, Any]:
    now = values(draft)
    if as_of == "now" or item.source is None:
        return now
    sources, entry = draft.sources, item.source.entry
    seq = entry.seq
    if as_of == "turn" and entry.turn is not None:
        seq = next(message.entry.seq for message in sources.messages if message.entry.turn == entry.turn)
    return values_of(sources, state_at(sources, seq))


def state_at(sources: Sources, seq: int) -> Mapping[str, Any]:
    """The state that held when `seq` was appended; the oldest that is known where the sources do not go back so far."""
    if not sources.states:
        return sources.state
    return next((state for since, state in reversed(sources.states) if since < seq), {})


def needs_past(options: Mapping[str, Any]) -> bool:
    """Whether a `transform_user` with these options reads older states."""
    return options.get("as_of") in PAST


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    if "template" in spec:
        check_template(check, spec["template"], f"{pointer}/template", vocabulary(facts.state_schema, facts.has_output_schema, message=True))
    else:
        check.fault(f"{pointer}/template", "missing", "This key is required.")
    check.word(spec.get("as_of", "now"), f"{pointer}/as_of", MOMENTS)


KIND = RendererKind(render, ("template", "as_of"), check, MappingProxyType({"as_of": "now"}))
