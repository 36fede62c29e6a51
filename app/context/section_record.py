"""The section record: which system sections of a call differ from those of the dispatched call before it (T-14)."""

from app.context.compile import Compiled
from app.context.draft import Rendered
from app.entries.ids import text_digest
from app.entries.parts import Text
from app.entries.settings import Section, SectionsRecorded


def section_record(compiled: Compiled, call_id: str, before: SectionsRecorded | None) -> SectionsRecorded | None:
    """The record for a call that is about to be dispatched; None where every section is what it was. The first call has all as changed.

    `before`: the newest record of the session. Sections that stand at the tail as user input are system sections too.
    """
    sections = _sections(compiled)
    known = {} if before is None else before.sections
    changed = tuple([renderer for renderer, section in sections.items() if renderer not in known or known[renderer].digest != section.digest])
    removed = tuple([renderer for renderer in known if renderer not in sections])
    return SectionsRecorded(call_id, sections, changed, removed) if changed or removed else None


def _sections(compiled: Compiled) -> dict[str, Section]:
    head = zip(compiled.request.system, compiled.section_tokens, strict=True)
    found = {section.renderer: _section(section.text, tokens) for section, tokens in head}
    own = {spec.id for spec in compiled.sources.agent.renderers if spec.renderer == "system"}
    for item in compiled.inserted:
        if item.message is not None and isinstance(item.origin, Rendered) and item.origin.renderer in own:
            text = "".join(part.text for part in item.message.parts if isinstance(part, Text))
            found.setdefault(item.origin.renderer, _section(text, item.tokens))
    return found


def _section(text: str, tokens: int) -> Section:
    return Section(text_digest(text), tokens)
