"""The account of a compile: one decision for each source, read off the rows of the finished draft."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.context.controls import hidden_controls, shown_controls
from app.context.directives import Directives
from app.context.draft import (
    CompactionOrigin,
    ContinuationOrigin,
    Decision,
    Disposition,
    EphemeralOrigin,
    Item,
    Reason,
    Step,
    SystemSection,
    ToolRepair,
)
from app.context.passes.measure import declaration
from app.context.passes.skills import SkillFate
from app.context.snapshots import RuntimeContext
from app.context.sources import Ephemeral, Sources, Tool
from app.entries import lossless
from app.entries.ids import text_digest
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
    skills: Sequence[SkillFate] = (),
) -> tuple[Decision, ...]:
    """Messages in their order, inserted ones, system sections with their tokens, tools, controls, skills, settings, and renderers that did nothing.

    Every digest is `sha256:<hex>`, no content.
    """
    rows = [_plain(item) or _message(item, sources) for item in items]
    for section, tokens in sections:
        source = {"kind": "system", "renderer": section.renderer}
        rows.append(Decision(source, Disposition.INCLUDED, Reason.RENDERED, (), "system", tokens, tokens, text_digest(section.text)))
    declared = iter(tool_tokens)
    rows += [_tool(fate, next(declared, 0) if fate.reason is Reason.DECLARED else 0) for fate in tools]
    rows += _controls(sources, declared)
    rows += [_skill(fate) for fate in skills]
    told = any(isinstance(item.origin, ContinuationOrigin) for item in items)
    rows += _settings(sources, directives.state_read, plan_told=told)
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
        return source, ephemeral_digest(sources.ephemeral[origin.index])
    if isinstance(origin, CompactionOrigin):
        return _checkpoint(sources)
    if isinstance(origin, RuntimeContext):
        return origin.snapshot.source, origin.snapshot.digest
    digest = None if item.message is None else text_digest(_spelled(item.message.parts))
    if isinstance(origin, ToolRepair):
        return {"kind": "tool_repair", "message_index": origin.message_index, "tool_call_id": origin.tool_call_id}, digest
    if isinstance(origin, ContinuationOrigin):
        return {"kind": "continuation", "reason": origin.reason, "receipt_seq": origin.receipt_seq}, digest
    return {"kind": "rendered", **{key: value for key, value in origin.to_json().items() if key != "type"}}, digest


def _checkpoint(sources: Sources) -> tuple[Mapping[str, Any], str | None]:
    """Name, range and artifact of what stands for the oldest messages; one that is only a candidate is no entry and has no artifact."""
    one = sources.checkpoint
    assert one is not None
    body = one.body
    covered = {"from_seq": body.summary.from_seq, "through_seq": body.covers_through_seq}
    return {"kind": "checkpoint", "seq": one.seq or None, "checkpoint_id": body.checkpoint_id, **covered}, body.artifact or None


def ephemeral_digest(message: Ephemeral) -> str:
    """`sha256:<hex>` of the parts of a message that is not stored: all that is kept of what it said."""
    return message.digest or text_digest(_spelled(message.parts))


def _tool(fate: ToolFate, tokens: int) -> Decision:
    disposition = Disposition.INCLUDED if fate.reason is Reason.DECLARED else Disposition.EXCLUDED
    source = {"kind": "tool", "name": fate.tool.name}
    return Decision(source, disposition, fate.reason, fate.also, "tools", tokens, tokens, text_digest(declaration(fate.tool)))


def _controls(sources: Sources, tool_tokens: Iterator[int]) -> list[Decision]:
    """The controls of an agent with a plan; they are declared behind its tools."""
    rows = []
    for tool in shown_controls(sources):
        tokens = next(tool_tokens, 0)
        source = {"kind": "control", "name": tool.name}
        rows.append(Decision(source, Disposition.INCLUDED, Reason.DECLARED, (), "tools", tokens, tokens, text_digest(declaration(tool))))
    hidden = [{"kind": "control", "name": name} for name in hidden_controls(sources)]
    return rows + [Decision(source, Disposition.EXCLUDED, Reason.CONTROL_HIDDEN, (), "tools", 0, 0, None) for source in hidden]


def _skill(fate: SkillFate) -> Decision:
    held = fate.message is not None
    reason = fate.reason if held or fate.item is None else Reason.NOT_RENDERED
    disposition = Disposition.INCLUDED if held else Disposition.EXCLUDED
    return Decision(fate.snapshot.source, disposition, reason, (), "skills", fate.tokens, fate.tokens if held else 0, fate.snapshot.digest)


def _absent(kind: str) -> Decision:
    return Decision({"kind": kind}, Disposition.EXCLUDED, Reason.ABSENT, (), "settings", 0, 0, None)


def _plan(sources: Sources, told: bool) -> Decision:
    plan = sources.plan
    if plan is None or not plan.active:
        return _absent("plan")
    source = {"kind": "plan", "seq": sources.plan_seq, "revision": plan.revision}
    digest = text_digest(lossless.dumps(plan.to_json()))
    if told:
        return Decision(source, Disposition.INCLUDED, Reason.CONTINUATION, (), "receipts", 0, 0, digest)
    return Decision(source, Disposition.EXCLUDED, Reason.NOT_RENDERED, (), "settings", 0, 0, digest)


def _settings(sources: Sources, state_read: bool, plan_told: bool) -> list[Decision]:
    """Sources that reach a request through renderers, or not at all. A state is in where a template or a condition read it."""
    absent = [] if sources.checkpoint is not None else [_absent("checkpoint")]  # one has a row of its own, before the messages
    absent.append(_plan(sources, plan_told))
    absent += [] if sources.skill_snapshots else [_absent("skills")]
    if sources.state_seq is None:
        return [*absent, _absent("state")]
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
