"""A summary without a model: the newest words of what is covered, each message cut to a length (X-56). For those who choose it."""

from app.context.compaction.plan import Plan
from app.context.compaction.quoting import shortened, told
from app.context.compaction.reading import SummaryRefused
from app.context.sources import SourceMessage, Sources
from app.entries.messages import ToolResult
from app.entries.parts import Text, ToolCall
from app.entries.summaries import FACT_CHARS_MAX, FACTS_PER_FIELD_MAX, FIELDS, SUMMARY_BYTES_MAX, Fact, Summary

EXCERPT_CHARS_MAX = 240
"""Of one message."""

_FIELD = "summary"
_FRAME_BYTES = 1_024
"""What a summary's JSON text has beside its facts, at most."""


def excerpt(sources: Sources, plan: Plan) -> Summary:
    """The newest messages first, then the facts of the earlier summary, as many as the bounds of a summary take.

    The same sources give the same summary. Raises `SummaryRefused` (`blank`) where what is covered has no words.
    """
    said = [Fact(text, (message.entry.seq,)) for message in reversed(told(sources, plan)) if (text := _words(message))]
    offered = [*[(_FIELD, fact) for fact in said], *_earlier(sources)]
    facts: dict[str, tuple[Fact, ...]] = {}
    room = SUMMARY_BYTES_MAX - _FRAME_BYTES
    for name, fact in offered:
        size = len(Summary({_FIELD: (fact,)}, 0, 0).canonical)
        if size <= room and len(facts.get(name, ())) < FACTS_PER_FIELD_MAX:
            facts[name] = (*facts.get(name, ()), fact)
            room -= size
    if not facts:
        raise SummaryRefused("blank")
    return Summary(facts, plan.from_seq, plan.covers_through_seq)


def _earlier(sources: Sources) -> list[tuple[str, Fact]]:
    """The facts of the summary in force by their fields."""
    if sources.checkpoint is None:
        return []
    summary = sources.checkpoint.body.summary
    return [(name, Fact(fact.text[:FACT_CHARS_MAX], summary.cites(fact))) for name in FIELDS for fact in summary.facts.get(name, ())]


def _words(message: SourceMessage) -> str:
    """Who said what, in a line; empty for a message without words."""
    entry, body = message
    who = {"user_message": "User", "agent_message": "Service", "tool_result": "Result"}.get(entry.kind, entry.agent or "Assistant")
    calls = [f"calls {part.name}({part.arguments})" for part in body.parts if isinstance(part, ToolCall)]
    words = " ".join(" ".join([*[part.text for part in body.parts if isinstance(part, Text)], *calls]).split())
    if not words:
        return ""
    tool = f" of {body.name}" if isinstance(body, ToolResult) and body.name else ""
    return f"{who}{tool}: {shortened(words, EXCERPT_CHARS_MAX)}"[:FACT_CHARS_MAX]
