"""What holds of a source by its kind: who is behind it, what it may hold, and whether it gives way when room is short (X-63)."""

from collections.abc import Mapping
from types import MappingProxyType

from app.context.draft import CompactionOrigin
from app.context.listed import Listed
from app.context.sources import Sources

FIXED, CURRENT, EARLIER = 0, 1, 2
"""Priority: what never gives way, what belongs to the running turn, and what may be pruned or summarised."""


Facts = tuple[int | None, int, str, str, int | None]
"""Of one source: seq, priority, sensitivity, trust, version. A bare tuple: one is made for each row of each manifest.

`seq` is the entry that caused the source, None where none did. `sensitivity`: `private` where the words may be somebody's own.
`trust`: who is behind them: operator, user, model, tool or service. `version` is the schema version of an entry, the revision of what
the agent's document says, else None.
"""

_BY_ENTRY: Mapping[str, str] = MappingProxyType(
    {"user_message": "user", "assistant_message": "model", "tool_result": "tool", "agent_message": "service", "system_message": "operator"}
)
_BY_KIND: Mapping[str, str] = MappingProxyType(
    {
        "system": "operator",
        "tool": "operator",
        "control": "service",
        "skill": "operator",
        "skills": "operator",
        "renderer": "operator",
        "state": "user",
        "plan": "model",
        "checkpoint": "model",
        "ephemeral": "user",
    }
)
_OF_AGENT = frozenset({"system", "tool", "control", "skill", "skills", "renderer"})


def facts(row: Listed, sources: Sources, seqs: Mapping[int, int]) -> Facts:
    """The facts of one source. `seqs`: message_index → seq of the window's entries."""
    if row.item is not None and (stored := row.item.source) is not None:
        entry, running = stored.entry, sources.running_turn
        priority = EARLIER if running is None or entry.turn != running else CURRENT
        return entry.seq, priority, "private", _BY_ENTRY[entry.kind], entry.version
    source = row.decision.source
    kind = source["kind"]
    seq = source.get("seq")
    if seq is None and "message_index" in source:
        seq = seqs.get(source["message_index"])
    if kind in _OF_AGENT:
        private = kind == "system" and _templated(source["renderer"], sources)
        return seq, FIXED, "private" if private else "configuration", _BY_KIND.get(kind, "service"), sources.agent.revision
    if row.item is not None and isinstance(row.item.origin, CompactionOrigin):
        return seq, EARLIER, "private", _BY_KIND[kind], None
    return seq, CURRENT if kind == "ephemeral" else FIXED, "private", _BY_KIND.get(kind, "service"), None


def _templated(renderer: str, sources: Sources) -> bool:
    """Whether a section's text is made of the state too, which may hold somebody's own words."""
    return any(spec.id == renderer and "template" in spec.options for spec in sources.agent.renderers)
