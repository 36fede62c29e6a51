"""`history`: the conversation, in its order, ephemeral messages where they stand.

`scope` says whose messages (S4-24, X-29); what a called run said is the inside of a call. The run that the compile is for is the current one.

    session      all but the inside of calls that the current run neither is nor stands in
    direct       the same; for a called run its own messages alone
    invocation   the current run's messages; for one that was not called with the turn's input
    ancestors    the current run's and those of the runs that led to it in this turn, with the turn's input
    agent        across turns the current agent's own messages, all input that is not inside of calls, and of the answers of the agents
                 that are named in `agents` the text

What a checkpoint covers is of older turns: `session` and `direct` are told its summary, `agent` where nobody but that agent said any of it.

A called run is told an ancestor's answer without the calls that have no result yet: it is what one of them is being answered by.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import Count, Disposition, Draft, Item, Reason, Step
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind, check_agents
from app.context.renderers.shortening import shortened
from app.context.sources import RendererSpec, Sources
from app.entries.messages import Answer, ToolResult
from app.entries.parts import Text, ToolCall

NAME = "history"
SCOPES = ("session", "direct", "invocation", "ancestors", "agent")

_KEPT = Step(Disposition.INCLUDED, Reason.IN_WINDOW, NAME)
_SUMMED_UP = Step(Disposition.INCLUDED, Reason.SUMMARIZED, NAME)
_PRESENT = Step(Disposition.INCLUDED, Reason.EPHEMERAL, NAME)


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Places the messages of the scope that nobody decided to be out."""
    sources = draft.sources
    scope = spec.options.get("scope", "session")
    summary = draft.summary
    if summary is not None and not _holds_summary(sources, scope):
        draft.drop(summary, Reason.OUT_OF_SCOPE, NAME)
    if draft.several_runs or sources.invocation.index or scope not in ("session", "direct"):
        _choose(draft, spec, scope, count)
    rows = draft.items
    if summary is not None:
        rows = rows[1:]
        if summary.message is not None:
            draft.keep((summary,), _SUMMED_UP)
    if not sources.ephemeral:
        draft.keep([item for item in rows if item.message is not None], _KEPT)
        return
    for item in rows:
        if item.message is not None:
            draft.keep((item,), _PRESENT if item.source is None else _KEPT)


def _holds_summary(sources: Sources, scope: str) -> bool:
    if scope == "agent":
        return sources.checkpoint is not None and set(sources.checkpoint.body.agents) <= {sources.agent.name}
    return scope == "session" or (scope == "direct" and not sources.invocation.called)


def _choose(draft: Draft, spec: RendererSpec, scope: str, count: Count) -> None:
    """Drops what the scope does not hold."""
    if scope == "agent":
        _of_agent(draft, tuple(spec.options.get("agents", ())), count)
    else:
        holds = _SCOPES[scope](draft.sources)
        for item in draft.items:
            if item.message is not None and not holds(item):
                draft.drop(item, Reason.OUT_OF_SCOPE, NAME)
    if draft.sources.invocation.called:
        _without_open_calls(draft, count)


Holds = Callable[[Item], bool]


def _runs(sources: Sources) -> frozenset[int]:
    """The current run and those that led to it."""
    return frozenset((sources.invocation.index, *sources.invocation.lineage))


def _session(sources: Sources) -> Holds:
    runs, turn = _runs(sources), sources.running_turn

    def holds(item: Item) -> bool:
        entry = None if item.source is None else item.source.entry
        return entry is None or not item.inside_call or (entry.turn == turn is not None and entry.invocation in runs)

    return holds


def _direct(sources: Sources) -> Holds:
    return _of_runs(sources, frozenset((sources.invocation.index,)), False) if sources.invocation.called else _session(sources)


def _own(sources: Sources) -> Holds:
    return _of_runs(sources, frozenset((sources.invocation.index,)), not sources.invocation.called)


def _ancestors(sources: Sources) -> Holds:
    return _of_runs(sources, _runs(sources), True)


def _of_runs(sources: Sources, runs: frozenset[int], with_input: bool) -> Holds:
    """The messages of some runs of this turn; `with_input`: and what the turn was begun with, before its first answer."""
    turn = sources.running_turn
    answers = [message.entry.seq for message in sources.messages if message.entry.turn == turn and isinstance(message.body, Answer)]
    first = min(answers, default=sources.head_seq + 1)

    def holds(item: Item) -> bool:
        if item.source is None:
            return with_input or 0 in runs
        entry = item.source.entry
        if turn is None or entry.turn != turn:
            return False
        begun_with = with_input and entry.invocation == 0 and entry.seq < first and entry.kind in ("user_message", "agent_message")
        return begun_with or entry.invocation in runs

    return holds


_SCOPES: Mapping[str, Callable[[Sources], Holds]] = MappingProxyType(
    {"session": _session, "direct": _direct, "invocation": _own, "ancestors": _ancestors}
)


def _of_agent(draft: Draft, others: tuple[str, ...], count: Count) -> None:
    """Own messages by the agent's name; a result goes with the newest answer before it that made its call."""
    name = draft.sources.agent.name
    made: dict[str, bool] = {}
    for item in draft.items:
        source = item.source
        if source is None or item.message is None:
            continue
        entry, body = source
        own = entry.agent == name
        if isinstance(body, Answer):
            made.update((part.tool_call_id, own) for part in body.parts if isinstance(part, ToolCall))
            if not own and entry.agent in others:
                _text_alone(draft, item, count)
                continue
        elif isinstance(body, ToolResult):
            own = made.get(body.tool_call_id, own)
        elif not own:
            own = not item.inside_call
        if not own:
            draft.drop(item, Reason.OUT_OF_SCOPE, NAME)


def _text_alone(draft: Draft, item: Item, count: Count) -> None:
    assert item.message is not None
    kept = [place for place, part in enumerate(item.message.parts) if isinstance(part, Text) and part.text]
    shortened(draft, item, kept, Reason.TEXT_OF_OTHER_AGENT, NAME, count, empty=Reason.OUT_OF_SCOPE)


def _without_open_calls(draft: Draft, count: Count) -> None:
    """Takes the calls without a result out of the answers of the runs that led to a called one."""
    sources = draft.sources
    turn, lineage = sources.running_turn, sources.invocation.lineage
    answered: set[str] = set()
    for item in reversed(draft.items):
        source, message = item.source, item.message
        if source is None or message is None or source.entry.turn != turn or source.entry.invocation not in lineage:
            continue
        if isinstance(source.body, ToolResult):
            answered.add(source.body.tool_call_id)
            continue
        kept = [place for place, part in enumerate(message.parts) if not isinstance(part, ToolCall) or part.tool_call_id in answered]
        answered.difference_update(part.tool_call_id for part in message.parts if isinstance(part, ToolCall))
        if len(kept) < len(message.parts):
            spoken = any(isinstance(message.parts[place], (Text, ToolCall)) for place in kept)
            shortened(draft, item, kept if spoken else [], Reason.OPEN_CALL_LEFT_OUT, NAME, count)


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    scope = check.word(spec.get("scope", "session"), f"{pointer}/scope", SCOPES)
    if "agents" not in spec:
        return
    if scope != "agent":
        check.fault(f"{pointer}/agents", "bad-value", "Other agents are named for the scope `agent`.")
    check_agents(check, spec, pointer)


KIND = RendererKind(render, ("scope", "agents"), check, MappingProxyType({"scope": "session"}), once=True)
