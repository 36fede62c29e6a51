"""What holds of a source by its kind: who is behind it, what it may hold, and whether it gives way when room is short (X-63)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from app.context.listed import Listed
from app.context.sources import Sources

FIXED, CURRENT, EARLIER = 0, 1, 2
"""Priority: what never gives way, what belongs to the running turn, and what may be pruned or summarised."""


class Facts(NamedTuple):
    """`trust`: who is behind the words: operator, user, model, tool or service. `sensitivity`: `private` where they may be somebody's own.

    `seq` is the entry that caused the source, None where none did. `version` is the schema version of an entry, the revision of what the
    agent's document says, else None.
    """

    seq: int | None
    priority: int
    sensitivity: str
    trust: str
    version: int | None


_BY_ENTRY: Mapping[str, str] = MappingProxyType(
    {"user_message": "user", "assistant_message": "model", "tool_result": "tool", "agent_message": "service", "system_message": "operator"}
)
_BY_KIND: Mapping[str, str] = MappingProxyType(
    {
        "system": "operator",
        "tool": "operator",
        "skill": "operator",
        "skills": "operator",
        "state": "user",
        "plan": "model",
        "checkpoint": "model",
        "ephemeral": "user",
    }
)
_OF_AGENT = frozenset({"system", "tool", "skills"})


def facts(row: Listed, sources: Sources, seqs: Mapping[int, int]) -> Facts:
    """The facts of one source. `seqs`: message_index → seq of the window's entries."""
    source = row.decision.source
    kind = source["kind"]
    stored = None if row.item is None else row.item.source
    if stored is not None:
        entry = stored.entry
        running = sources.running_turn is not None and entry.turn == sources.running_turn
        return Facts(entry.seq, CURRENT if running else EARLIER, "private", _BY_ENTRY[entry.kind], entry.version)
    seq = source.get("seq")
    if seq is None and "message_index" in source:
        seq = seqs.get(source["message_index"])
    if kind in _OF_AGENT:
        return Facts(seq, FIXED, "configuration", _BY_KIND[kind], sources.agent.revision)
    return Facts(seq, CURRENT if kind == "ephemeral" else FIXED, "private", _BY_KIND.get(kind, "service"), None)
