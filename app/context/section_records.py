"""What is recorded of a call's system sections: those that changed since the record before, by digest (X-28).

An agent whose sections are all its revision's own texts has nothing to record: the revision says them.
"""

import hashlib

from app.context.compile import Compiled
from app.context.renderers import CUSTOM
from app.context.sources import AgentRevision
from app.entries.settings import SectionsRecorded


def section_record(compiled: Compiled, latest: SectionsRecorded | None) -> SectionsRecorded | None:
    """The record that a dispatched call adds; None where nothing changed since `latest`, or nothing can."""
    agent = compiled.sources.agent
    if not _changing(agent):
        return None
    sections = {section.renderer: _digest(section.text) for section in compiled.request.system}
    before = latest.sections if latest is not None and latest.agent == agent.name else None
    if before is not None and dict(before) == sections:
        return None
    known = before or {}
    changed = tuple([name for name, digest in sections.items() if known.get(name) != digest])
    return SectionsRecorded(agent.name, agent.revision, sections, changed, tuple([name for name in known if name not in sections]))


def _changing(agent: AgentRevision) -> bool:
    """Whether a section of the agent may differ from one call to the next."""
    return any(
        spec.renderer in CUSTOM or (spec.renderer == "system" and ("template" in spec.options or "when" in spec.options)) for spec in agent.renderers
    )


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
