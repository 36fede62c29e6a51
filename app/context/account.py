"""The account of a compile: one decision for each source, read off the rows of the finished draft."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.context.directives import Directives
from app.context.draft import Decision, Disposition, EphemeralOrigin, Item, Reason, Step, SystemSection, ToolRepair
from app.context.passes.measure import declaration
from app.context.sources import Sources, Tool
from app.entries import lossless
from app.entries.parts import Part, part_to_json

_PLAIN = frozenset({Reason.IN_WINDOW, Reason.EPHEMERAL})
"""Reasons that say nothing beside a stronger one."""


@dataclass(frozen=True, slots=True)
class ToolFate:
    """A tool of the agent, why it is declared or not, and what else holds of it: narrowed, and whether that can be enforced."""

    tool: Tool
    reason: Reason
    also: tuple[Reason, ...] = ()


def decisions(
    sources: Sources,
    items: Sequence[Item],
    sections: Iterable[tuple[SystemSection, int]],
    tools: Sequence[ToolFate],
    tool_tokens: Sequence[int],
    directives: Directives,
) -> tuple[Decision, ...]:
    """Messages in their order, inserted ones, system sections with their tokens, tools, settings, and renderers that did nothing.

    Every digest is `sha256:<hex>`, no content.
    """
    rows = [_plain(item) or _message(item, sources) for item in items]
    for section, tokens in sections:
        source = {"kind": "system", "renderer": section.renderer}
        rows.append(Decision(source, Disposition.INCLUDED, Reason.RENDERED, (), "system", tokens, tokens, _digest(section.text)))
    declared = iter(tool_tokens)
    rows += [_tool(fate, next(declared, 0) if fate.reason is Reason.DECLARED else 0) for fate in tools]
    rows += _settings(sources, directives.state_read)
    return (*rows, *_idle(directives))


def strongest(steps: tuple[Step, ...]) -> tuple[Step, tuple[Reason, ...]]:
    """The first of the strongest steps (out over changed over in) and the other reasons, plain inclusion left out."""
    if len(steps) == 1:
        return steps[0], ()
    for disposition in (Disposition.EXCLUDED, Disposition.TRANSFORMED):
        for step in steps:
            if step.disposition is disposition:
                return step, tuple([other.reason for other in steps if other is not step and other.reason not in _PLAIN])
    return steps[0], ()


_decision: Callable[[tuple[Mapping[str, Any], Disposition, Reason, tuple[Reason, ...], str, int, int, str | None]], Decision] = partial(
    tuple.__new__, Decision
)
"""Makes a decision from all of its fields at once: a third of the time of the named constructor."""


def _plain(item: Item) -> Decision | None:
    """The decision of an entry to which one thing happened, as to nearly all; None for any other row."""
    steps, stored = item.steps, item.source
    if len(steps) != 1 or stored is None:
        return None
    step, entry = steps[0], stored.entry
    source = {"kind": "entry", "seq": entry.seq}
    return _decision((source, step.disposition, step.reason, (), step.by, item.tokens_before, item.tokens, "sha256:" + entry.digest.hex()))


def _message(item: Item, sources: Sources) -> Decision:
    steps, stored = item.steps, item.source
    step, also = strongest(steps)
    if stored is None:
        source, digest = _unstored(item, sources)
        return Decision(source, step.disposition, step.reason, also, step.by, item.tokens_before, item.tokens, digest)
    entry = stored.entry
    digest = "sha256:" + entry.digest.hex()
    return Decision({"kind": "entry", "seq": entry.seq}, step.disposition, step.reason, also, step.by, item.tokens_before, item.tokens, digest)


def _unstored(item: Item, sources: Sources) -> tuple[Mapping[str, Any], str | None]:
    """Name and digest of a message that is no entry; an ephemeral one keeps its digest when it is out (T-11: digest and size, no text)."""
    origin = item.origin
    if isinstance(origin, EphemeralOrigin):
        source = {"kind": "ephemeral", "after_seq": origin.after_seq, "index": origin.index}
        return source, _digest(_spelled(sources.ephemeral[origin.index].parts))
    digest = None if item.message is None else _digest(_spelled(item.message.parts))
    if isinstance(origin, ToolRepair):
        return {"kind": "tool_repair", "message_index": origin.message_index, "tool_call_id": origin.tool_call_id}, digest
    return {"kind": "rendered", **{key: value for key, value in origin.to_json().items() if key != "type"}}, digest


def _tool(fate: ToolFate, tokens: int) -> Decision:
    disposition = Disposition.INCLUDED if fate.reason is Reason.DECLARED else Disposition.EXCLUDED
    source = {"kind": "tool", "name": fate.tool.name}
    return Decision(source, disposition, fate.reason, fate.also, "tools", tokens, tokens, _digest(declaration(fate.tool)))


def _settings(sources: Sources, state_read: bool) -> list[Decision]:
    """Sources that reach a request through renderers, or not at all. A state is in where a template or a condition read it."""
    absent = [Decision({"kind": kind}, Disposition.EXCLUDED, Reason.ABSENT, (), "settings", 0, 0, None) for kind in ("checkpoint", "plan", "skills")]
    if sources.state_seq is None:
        return [*absent, Decision({"kind": "state"}, Disposition.EXCLUDED, Reason.ABSENT, (), "settings", 0, 0, None)]
    source = {"kind": "state", "seq": sources.state_seq}
    disposition, reason = (Disposition.INCLUDED, Reason.RENDERED) if state_read else (Disposition.EXCLUDED, Reason.NOT_RENDERED)
    return [*absent, Decision(source, disposition, reason, (), "settings", 0, 0, None)]


def _idle(directives: Directives) -> list[Decision]:
    """Renderers of the list that gave nothing, and why."""
    rows = [(one, Reason.CONDITION_NOT_MET) for _, one in directives.unmet] + [(one, Reason.RENDERED_BLANK) for _, one in directives.blank]
    rows += [(failure.renderer, Reason.RENDER_FAILED) for failure in directives.failures]
    return [Decision({"kind": "renderer", "renderer": one}, Disposition.EXCLUDED, reason, (), "renderers", 0, 0, None) for one, reason in rows]


def _spelled(parts: tuple[Part, ...]) -> str:
    return lossless.dumps([part_to_json(part) for part in parts])


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
