"""Hypothesis strategies: everything that an agent, a turn and a session can bring to a compile beside messages.

Lists of renderers of any order with templates and conditions, plans and why a call is made, runs of agents that were called or took over,
snapshots of skills. Every document is one that the service would store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from app.context.agents.check import check_document
from app.context.skills import revision_of
from app.context.snapshots import SkillSnapshot
from app.context.sources import AgentRevision, Continuation, Invocation, Sources
from app.entries.folds import SkillLoaded
from app.entries.plans import Plan, PlanStep
from app.entries.settings import PlanChanged
from tests.strategies import HOSTILE, MODEL, agent

SKILL_TEXT = "INSTRUCTION-TEXT of the skill"
_STATE_SCHEMA = {
    "session": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "ready": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "string"}}},
    },
    "user": {"type": "object", "properties": {"tone": {"type": "string"}}},
}
_TEMPLATES = (
    "Brief {{ state.name }}.",
    "{% for one in state.list %}{{ one }} {% endfor %}",
    "{{ state.user.tone }}{{ agent.name }}",
    "{% if state.ready %}Now.{% endif %}",
    "{{ state.name }}",
)
_MESSAGE_TEMPLATES = (
    "{{ message.text }}",
    "<said by='{{ message.agent }}'>{{ message.text }}</said>",
    "{% if state.ready %}{{ message.text }}{% endif %}",
)
_CONDITIONS = ("state.ready", "state.name is none", "state.user.tone == 'calm'")
_TOOLS: Sequence[Mapping[str, Any]] = [{"name": "lookup", "description": "Finds a record."}, {"name": "escalate", "enabled": False}, {"name": "gone"}]
_names = st.lists(st.sampled_from(["lookup", "escalate", "gone"]), unique=True, max_size=3)
_agents = st.lists(st.sampled_from(["nurse", "desk"]), unique=True, max_size=2)
_placeholder = st.just("{tool}: {tokens}")
_text = st.one_of(
    st.fixed_dictionaries({"text": st.sampled_from(["You are a nurse.", "Late words."])}, optional={"tag": st.just("notes")}),
    st.fixed_dictionaries({"template": st.sampled_from(_TEMPLATES)}, optional={"tag": st.just("notes")}),
)


def _spec(name: str, keys: Mapping[str, st.SearchStrategy[Any]], optional: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"renderer": st.just(name), **keys}, optional={"when": st.sampled_from(_CONDITIONS), **optional})


def _worded(name: str, optional: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda spec, text: spec | text, _spec(name, {}, optional), _text)


_history = st.one_of(
    st.just({"renderer": "history"}),
    _spec("history", {"scope": st.sampled_from(["session", "direct", "invocation", "ancestors"])}, {}),
    _spec("history", {"scope": st.just("agent"), "agents": _agents}, {}),
)
_others = st.one_of(
    _worded("system", {"placement": st.sampled_from(["head", "tail"])}),
    _worded("user", {}),
    _spec("prune_reasoning", {}, {}),
    _spec("select_recent", {"n": st.integers(1, 12), "unit": st.sampled_from(["parts", "entries", "turns"])}, {}),
    _spec(
        "prune_tool_results", {"keep": st.integers(0, 2)}, {"protect_recent_tokens": st.integers(0, 60), "placeholder": st.just("{tool}: {tokens}")}
    ),
    _spec("prune_addressed", {"agents": _agents}, {}),
    _spec("transform_user", {"template": st.sampled_from(_MESSAGE_TEMPLATES)}, {"as_of": st.sampled_from(["message", "turn", "now"])}),
    _spec("limit_tools", {"names": _names}, {}),
    _spec("mask_tools", {"names": _names}, {}),
    _spec("tool_choice", {"choice": st.sampled_from(["auto", "none", "required", "lookup", "gone"])}, {}),
    _spec("tap", {}, {}),
)


@st.composite
def contexts(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A list of renderers: nearly always with a history, what stands before it and what stands behind it in any order."""
    before, after = draw(st.lists(_others, max_size=3)), draw(st.lists(_others, max_size=6))
    return [*before, *([draw(_history)] if draw(st.integers(0, 9)) else []), *after]


@st.composite
def agents(draw: st.DrawFn, tools: Sequence[Mapping[str, Any]] = _TOOLS) -> AgentRevision:
    """An agent as the service would store it. Those tools, or none; `lookup`, `escalate` and `gone` are what renderers speak of."""
    context = draw(contexts())
    named = any(spec["renderer"] in ("limit_tools", "mask_tools", "tool_choice") for spec in context)
    document: dict[str, Any] = {
        "context": context,
        "tools": list(tools) if named or draw(st.booleans()) else [],
        "plan": {"enabled": draw(st.booleans())},
        "state_schema": _STATE_SCHEMA,
        "turn": {"partial_answers": draw(st.sampled_from(["omit", "text"]))},
    }
    if draw(st.booleans()):
        document["skills"] = [{"name": "triage", "description": "How to triage.", "text": SKILL_TEXT}]
    assert check_document({"model": MODEL, **document}) == []
    return agent(**document)


state = st.fixed_dictionaries(
    {},
    optional={
        "session": st.fixed_dictionaries(
            {}, optional={"name": st.sampled_from(HOSTILE), "ready": st.booleans(), "list": st.lists(st.sampled_from(HOSTILE), max_size=2)}
        ),
        "user": st.just({"tone": "calm"}),
    },
)
_words = st.sampled_from(["Do it", "</runtime_context> & <b>", *HOSTILE])
plans = st.builds(
    Plan,
    st.integers(1, 9),
    st.sampled_from(["active", "active", "completed", "abandoned"]),
    _words,
    st.lists(st.builds(PlanStep, _words, st.sampled_from(["pending", "active", "done"])), min_size=1, max_size=3).map(tuple),
    st.lists(_words, max_size=2).map(tuple),
    st.lists(_words, max_size=2).map(tuple),
)
plan_changes = st.builds(
    PlanChanged, st.none() | plans, st.sampled_from(["create", "revise", ""]), st.booleans(), st.none() | _words, st.just("c9"), st.just("{}")
)
continuations = st.builds(
    Continuation,
    st.sampled_from(["input_received", "tool_completed", "plan_updated", "plan_rejected", "execution_only_recovery"]),
    st.none() | st.integers(1, 20),
    st.sampled_from(["ordinary", "plan_repair", "execution_only"]),
    st.integers(0, 2),
    st.integers(0, 2),
)
invocations = st.one_of(
    st.just(Invocation()),
    st.builds(Invocation, st.integers(1, 3), st.sampled_from([(0,), (0, 1), (0, 2)]), st.booleans(), st.sampled_from(["c1", "call_x"])),
)
run_flags: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "turn": st.none() | st.integers(1, 3),
        "include_in_context": st.sampled_from([True, True, True, False]),
        "hidden": st.booleans(),
        "gap": st.sampled_from([0, 0, 1, 3]),
        "attributes": st.sampled_from([None, None, '{"agent":"desk"}', '{"agent":7}', "[]"]),
        "agent": st.sampled_from([None, "nurse", "desk"]),
        "invocation": st.sampled_from([0, 0, 1, 2, 3]),
    }
)
"""What an entry of a turn with several runs bears."""


@st.composite
def snapshots(draw: st.DrawFn, given: Sources) -> tuple[SkillSnapshot, ...]:
    """Snapshots of both placements for some user messages, one at times for a message that is not in the window."""
    users = [message.entry.seq for message in given.messages if message.entry.kind == "user_message"]
    found: list[SkillSnapshot] = []
    for turn, seq in enumerate(users, 0 if given.checkpoint is None else given.checkpoint.body.user_messages):
        kind = draw(st.sampled_from(["none", "none", "placed", "two", "older"]))
        if kind == "older":
            found.append(snapshot("triage", turn=turn, seq=1000 + 2 * turn))
        elif kind != "none":
            names = ["triage", "a <b> name"] if kind == "two" else ["triage"]
            found += [snapshot(name, at=seq, seq=1000 + 2 * turn + number) for number, name in enumerate(names)]
    if draw(st.booleans()):
        found.append(snapshot("triage", at=10**6, seq=5000))
    return tuple(found)


def snapshot(name: str, at: int | None = None, turn: int | None = None, seq: int = 900) -> SkillSnapshot:
    body = SkillLoaded(name, revision_of(SKILL_TEXT), SKILL_TEXT, "user" if turn is None else None, at, turn)
    return SkillSnapshot(seq, body, "sha256:" + "5" * 64)


@st.composite
def featured(draw: st.DrawFn, given: Sources, tools: Sequence[Mapping[str, Any]] = _TOOLS) -> Sources:
    """The same messages with everything else drawn anew, in a turn that runs."""
    change = draw(st.none() | plan_changes)
    held = draw(state)
    return replace(
        given,
        agent=draw(agents(tools)),
        running_turn=draw(st.integers(1, 3)),
        state=held,
        state_seq=1 if held else None,
        states=((0, {}), (2, held)) if draw(st.booleans()) else (),
        continuation=draw(st.none() | continuations),
        plan_change=change,
        plan_seq=None if change is None else 3,
        invocation=draw(invocations),
        skill_snapshots=draw(snapshots(given)),
    )
