"""The order of a compile, the one of requirement T-31 as far as it is built.

    window      restore; failed, cancelled, interrupted, redacted and not-in-context messages are out
    renderers   in the agent's order; what none of them placed is `not_rendered`
    skills      snapshots of skills are expanded or replayed
    passes      reasoning, pairing, tool_call_ids, pruning, fitting, text_tools, receipts, adjacency, binding, rounds, measure
    origins     checked before anything is dispatched

Pure: same sources, same outcome. No pass reads a budget: what a budget decides is an entry before the call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from app.context.account import ToolFate, decisions
from app.context.controls import shown_controls
from app.context.directives import Directives, Failure
from app.context.draft import (
    ContinuationOrigin,
    Count,
    Decision,
    Draft,
    Item,
    Loss,
    NeutralMessage,
    NeutralRequest,
    Places,
    Reason,
    Rendered,
    SystemSection,
)
from app.context.origins import check_origins
from app.context.passes import adjacency, binding, fitting, pairing, pruning, reasoning, receipts, rounds, skills, text_tools, tool_call_ids
from app.context.passes.measure import Measured, measure
from app.context.passes.skills import SkillFate
from app.context.renderers import run as run_renderer
from app.context.renderers import versions
from app.context.sources import AgentRevision, Sources, Tool
from app.context.window import open_draft
from app.entries.messages import Answer, ToolResult
from app.entries.parts import Text, ToolCall
from app.entries.plans import CONTROLS

COMPILER_VERSION = "1"
POLICY_VERSION = "1"

PASSES: tuple[Callable[[Draft, Count], None], ...] = (reasoning.run, pairing.run, tool_call_ids.run, pruning.run, fitting.run)
_WITHOUT_PRUNING = tuple([run for run in PASSES if run is not pruning.run])

Awaiting = Literal["input", "tool_results"]


@dataclass(frozen=True)
class Compiled:
    """A compiled request and the account of it.

    `message_count` counts parts after the last renderer (T-02): a system section, a user, agent or tool message and each part
    of an answer count one. `measured` is in tokens. `awaiting`: what the session waits for before it can make a call.
    `items` and `inserted` are the draft's rows, `skills` the snapshots that are no rows of their own; read `decisions`. `allowed`: the
    declared tools to which the choice is narrowed, None where it is not. `directives` holds the taps, and `failures` of renderers: an input
    with one is never sent.
    """

    sources: Sources
    request: NeutralRequest
    items: tuple[Item, ...]
    inserted: tuple[Item, ...]
    tools: tuple[ToolFate, ...]
    section_tokens: tuple[int, ...]
    measured: Measured
    message_count: int
    awaiting: Awaiting | None
    losses: tuple[Loss, ...]
    skills: tuple[SkillFate, ...] = ()
    allowed: tuple[str, ...] | None = None
    directives: Directives = field(default_factory=Directives)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """One for each message of the window, each ephemeral and inserted one, system section, tool, control, skill and settings source."""
        sections, tool_tokens = zip(self.request.system, self.section_tokens, strict=True), self.measured.tool_tokens
        rows = (*self.items, *self.inserted)
        return decisions(self.sources, rows, sections, self.tools, tool_tokens, self.directives, self.skills)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What renderers could not do."""
        return tuple(self.directives.failures)

    @cached_property
    def places(self) -> Mapping[int, Places]:
        """Position in the neutral list → where the message's parts stand in its entry, for those whose parts passes moved about."""
        moved = {id(item.message): item.places for item in (*self.items, *self.inserted) if item.places is not None}
        if not moved:
            return {}
        return {at: moved[id(message)] or () for at, message in enumerate(self.request.messages) if id(message) in moved}

    def part_of(self, source: int, part: int | None) -> int | None:
        """Where part `part` of neutral message `source` stands in its entry; None for a message as a whole, and for words of ours."""
        places = self.places.get(source)
        return part if places is None or part is None else places[part]

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of the tools that the model is told of, natively or in text."""
        return tuple([fate.tool.name for fate in self.tools if fate.reason is Reason.DECLARED])

    @property
    def callable(self) -> tuple[str, ...]:
        """The names of everything that a call may be of: the declared tools, and the controls of a plan, shown or not: they are no text either."""
        return (*self.declared, *CONTROLS) if self.sources.agent.plan_enabled else self.declared

    @property
    def message_tokens(self) -> tuple[int, ...]:
        """The tokens of each message of the neutral list, without overheads."""
        # By the message itself: what passes put in has no origin of its own.
        tokens = {id(item.message): item.tokens for item in (*self.items, *self.inserted) if item.message is not None}
        return tuple([tokens[id(message)] for message in self.request.messages])


def compile_context(sources: Sources, count: Count) -> Compiled:
    """Compiles what the next call would send. `count` is the pure token count of the target's estimator.

    Reads nothing but its arguments and changes none of them. Raises `InvalidOrigins` for sources that contradict themselves
    (S2-39).
    """
    draft = open_draft(sources, count)
    awaiting = _awaiting(draft)
    for spec in sources.agent.renderers:
        run_renderer(draft, spec, count)
    placed = set(map(id, draft.placed))
    for item in draft.items:
        if item.message is not None and id(item) not in placed:
            draft.drop(item, Reason.NOT_RENDERED, "finish")
    message_count, cut = draft.prompt_parts(), binding.cut_by_renderers(draft)
    fates, directives, controls = _tools(draft), draft.directives, shown_controls(sources)
    declared = tuple([fate.tool for fate in fates if fate.reason is Reason.DECLARED])
    allowed = _allowed(directives.allowed, declared)
    choice, losses = _choice(draft.choice, declared, allowed, bool(controls))
    declared, narrowed = (*declared, *controls), None if allowed is None else (*allowed, *[control.name for control in controls])
    draft.sent()
    expanded = skills.run(draft, count)
    for run in PASSES if sources.pruned else _WITHOUT_PRUNING:
        run(draft, count)
        draft.sent()
    if sources.target.rules.tools == "text":
        if choice not in (None, "auto", "none"):
            losses = (*losses, Loss("tool_choice", "not_enforced"))
        if allowed is not None and choice != "none":
            losses = (*losses, Loss("allowed_tools", "not_enforced"))
        text_tools.run(draft, declared, choice, count)
        declared, choice = (), None
    for section, tokens in draft.tail:
        message = NeutralMessage("user", (Text(section.text),), Rendered(section.renderer))
        draft.insert(len(draft.placed), message, Reason.RENDERED, "system", tokens)
    receipts.run(draft, count)
    message_count += sum(isinstance(item.origin, ContinuationOrigin) for item in draft.inserted)
    adjacency.run(draft, count)
    binding.run(draft, declared, cut, count)
    rounds.run(draft, count)
    messages: list[NeutralMessage] = draft.sent()
    measured = measure(draft, declared, count)
    check_origins([message.origin for message in messages], len(messages), sources.history_message_count)
    cache_key, thoughts_cut = (sources.session_id if sources.target.rules.cache_key else None), binding.positions(draft, cut)
    system: tuple[SystemSection, ...] = tuple([section for section, _ in draft.system])
    return Compiled(
        sources,
        NeutralRequest(system, tuple(messages), declared, narrowed if declared else None, choice, sources.target, cache_key, thoughts_cut),
        tuple(draft.items),
        tuple(draft.inserted),
        fates,
        tuple([tokens for _, tokens in draft.system]),
        measured,
        message_count,
        awaiting,
        (*draft.losses, *losses),
        expanded,
        allowed,
        directives,
    )


def compiler_version(agent: AgentRevision) -> str:
    """The version under which an agent's inputs are compiled: the compiler's own, and those of the other packages' renderers in its list."""
    return "+".join((COMPILER_VERSION, *versions(agent)))


def _tools(draft: Draft) -> tuple[ToolFate, ...]:
    sources, directives = draft.sources, draft.directives
    masked = draft.masked
    rules = sources.target.rules
    enforced = rules.allowed_tools and rules.tool_choice and rules.tools != "text"
    also = (Reason.NARROWED,) if enforced else (Reason.NARROWED, Reason.NOT_ENFORCED)
    found = []
    for tool in sources.agent.tools:
        if tool.enabled and tool.name not in masked:
            narrowed = directives.allowed is not None and tool.name not in directives.allowed
            found.append(ToolFate(tool, Reason.DECLARED, also if narrowed else ()))
        else:
            found.append(ToolFate(tool, Reason.MASKED if tool.enabled else Reason.DISABLED))
    return tuple(found)


def _allowed(names: tuple[str, ...] | None, declared: tuple[Tool, ...]) -> tuple[str, ...] | None:
    """The declared tools of the list, in the order of their declaration."""
    return None if names is None else tuple([tool.name for tool in declared if tool.name in names])


def _choice(wanted: str | None, declared: tuple[Tool, ...], allowed: tuple[str, ...] | None, controls: bool) -> tuple[str | None, tuple[Loss, ...]]:
    """The choice that can be sent. Without tools there is nothing to choose, and a named tool has to be declared and allowed.

    A control is no answer to `required`: one that is shown alone is not forced. `none` holds for controls too.
    """
    if wanted == "required" and not (declared if allowed is None else allowed):
        return None, (Loss("tool_choice", "no_tool_allowed" if declared else "no_tools_declared"),)
    if wanted is None or wanted in ("auto", "none", "required"):
        return (wanted if declared or (wanted == "none" and controls) else None), ()
    if any(tool.name == wanted for tool in declared):
        return (wanted, ()) if allowed is None or wanted in allowed else (None, (Loss("tool_choice", "tool_not_allowed"),))
    return None, (Loss("tool_choice", "tool_not_declared"),)


def _awaiting(draft: Draft) -> Awaiting | None:
    """What has to come before the next call: results of the newest answer's open calls, else an input where nothing runs.

    Read off the sources, not off the render: an agent without history waits for the same things. The inside of a call is another run's.
    """
    results: set[str] = set()
    called = draft.sources.invocation.called
    for item in reversed(draft.items):
        if item.message is None or (item.inside_call and not called):
            continue
        body = None if item.source is None else item.source.body
        if isinstance(body, ToolResult):
            results.add(body.tool_call_id)
            continue
        if isinstance(body, Answer) and any(isinstance(part, ToolCall) and part.tool_call_id not in results for part in item.message.parts):
            return "tool_results"
        break
    return None if draft.sources.running_turn is not None or draft.sources.ephemeral else "input"
