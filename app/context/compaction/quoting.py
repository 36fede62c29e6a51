"""What is covered, quoted for whoever summarises it: each entry as data under its seq, nothing that no summary may hold.

Left out are failed, cancelled and interrupted answers, what is not in context, redacted, system text of imports and the inside of calls (X-57,
S1-18); bytes of images and files, thinking, and what was pruned are named by markers alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.context.compaction.plan import Plan, covered_messages
from app.context.sources import SourceMessage, Sources
from app.entries import lossless
from app.entries.messages import Answer, Status, ToolResult
from app.entries.parts import Media, Part, Text, ToolCall
from app.entries.summaries import FIELDS

PRUNED_CHARS = 400
"""What stays of a result that was shortened."""

_FROM: Mapping[str, str] = {"user_message": "user", "agent_message": "service", "assistant_message": "assistant", "tool_result": "tool"}


@dataclass(frozen=True, slots=True)
class Quoted:
    """One line of the request. `content` holds texts and objects; an object's `arguments` is a text too. `head` of an entry has its `seq`."""

    head: Mapping[str, Any]
    content: tuple[str | Mapping[str, Any], ...]

    @property
    def texts(self) -> list[str]:
        """What can be shortened."""
        return [one if isinstance(one, str) else one["arguments"] for one in self.content if isinstance(one, str) or "arguments" in one]

    def cut(self, chars: int | None) -> "Quoted":
        """The line with each text cut in the middle to about so many characters; None: as it is."""
        content = [shortened(one, chars) if isinstance(one, str) else _shortened_call(one, chars) for one in self.content]
        return Quoted(self.head, tuple(content))

    def spelled(self, chars: int | None = None) -> str:
        """One line of JSON, cut to so many characters. No `<` is in it, so nothing in it ends a frame."""
        return lossless.dumps({**self.head, "content": self.cut(chars).content}).replace("<", "\\u003c")


def told(sources: Sources, plan: Plan) -> list[SourceMessage]:
    """The messages that a summary of what the plan covers is made from, oldest first."""
    return [message for message in covered_messages(sources, plan) if _tells(message)]


def quoted(sources: Sources, plan: Plan) -> list[Quoted]:
    """The covered entries, oldest first."""
    return [_quoted(message, sources) for message in told(sources, plan)]


def earlier_facts(sources: Sources) -> list[Quoted]:
    """The facts of the summary in force (X-51), each with cites that a later summary may take over; none without one."""
    if sources.checkpoint is None:
        return []
    summary = sources.checkpoint.body.summary
    facts = [(name, fact) for name in FIELDS for fact in summary.facts.get(name, ())]
    return [Quoted({"field": name, "cites": list(summary.cites(fact))}, (fact.text,)) for name, fact in facts]


def shortened(text: str, chars: int | None) -> str:
    """The beginning and the end of a text, with a word on what is left out between them, where that is shorter; None: as it is."""
    if chars is None or len(text) <= chars:
        return text
    head = chars - chars // 2
    return min(text, f"{text[:head]} […{len(text) - chars} characters left out…] {text[len(text) - chars // 2 :]}", key=len)


def _tells(message: SourceMessage) -> bool:
    entry, body = message
    if entry.payload is None or not entry.include_in_context or entry.kind not in _FROM or (entry.invocation > 0 and entry.hidden):
        return False
    if isinstance(body, Answer) and body.status is not Status.COMPLETED:
        return False
    return bool(body.parts) or isinstance(body, ToolResult)


def _quoted(message: SourceMessage, sources: Sources) -> Quoted:
    entry, body = message
    head: dict[str, Any] = {"seq": entry.seq, "from": _FROM[entry.kind]}
    if entry.agent is not None and entry.kind == "assistant_message":
        head["agent"] = entry.agent
    content = tuple([_content(part) for part in body.parts])
    if isinstance(body, ToolResult):
        head |= {"call": body.tool_call_id, "tool": body.name, "is_error": body.is_error}
        if (pruned := sources.pruned.get(entry.seq)) is not None:
            content = ({"left_out": "result"},) if pruned.form == "cleared" else tuple([_cut(one) for one in content])
    return Quoted(head, content)


def _content(part: Part) -> str | Mapping[str, Any]:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return {"call": part.tool_call_id, "tool": part.name, "arguments": part.arguments}
        case Media():
            size = {} if part.blob is None else {"media_type": part.blob.media_type, "bytes": part.blob.byte_length}
            return {"left_out": part.kind, **size}
        case _:  # thinking and what a provider hides in blocks of its own: private, both
            return {"left_out": "thinking"}


def _cut(one: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    return shortened(one, PRUNED_CHARS) if isinstance(one, str) else one


def _shortened_call(one: Mapping[str, Any], chars: int | None) -> Mapping[str, Any]:
    return {**one, "arguments": shortened(one["arguments"], chars)} if "arguments" in one else one
