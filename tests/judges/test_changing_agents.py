"""Agents whose input changes from call to call, live with all providers: each call is served, also in the middle of a round of tools.

A state that moves changes a section, a condition changes the tools, a filter cuts the list, a plan has its words behind all: what a
provider bound its answer to is then not what it was.
"""

from functools import cache

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from app.context.sources import AgentRevision, Continuation
from app.entries.messages import Message, ToolResult
from app.entries.parts import Text, ToolCall
from tests.fakes import answers
from tests.judges.examples import law
from tests.judges.minted import thinks
from tests.judges.talks import Talk
from tests.judges.targets import MODELS, target_of
from tests.strategies import SYSTEM, agent

pytestmark = pytest.mark.timeout(900)

ROWS = [(dialect, model) for dialect, models in MODELS.items() for model in models]
HISTORY = {"renderer": "history"}
TOOLS = [{"name": "lookup", "description": "Finds a record."}, {"name": "gone"}]
FILTERS: tuple[list[dict[str, object]], ...] = (
    [],
    [{"renderer": "prune_reasoning"}],
    [{"renderer": "select_recent", "n": 2}],
    [{"renderer": "prune_reasoning"}, {"renderer": "select_recent", "n": 3}],
    [{"renderer": "select_recent", "n": 1, "unit": "entries"}],
    [{"renderer": "prune_tool_results", "keep": 1}],
    [{"renderer": "mask_tools", "names": ["gone"]}],
    [{"renderer": "limit_tools", "names": ["lookup"]}, {"renderer": "tool_choice", "choice": "required"}],
    [{"renderer": "system", "text": "It is late.", "placement": "tail"}],
    [{"renderer": "user", "text": "Go on, please."}],
)


@cache
def variants() -> tuple[AgentRevision, ...]:
    """One agent as its state and conditions make it be in one call or the next; the last ones have a plan."""
    plain = [agent(context=[SYSTEM, HISTORY, *filters], tools=TOOLS) for filters in FILTERS]
    moved = agent(context=[{"renderer": "system", "text": "Now you know Bob."}, HISTORY], tools=TOOLS)
    planned = agent(context=[SYSTEM, HISTORY], tools=TOOLS, plan={"enabled": True})
    return (*plain, moved, planned, planned)


said: st.SearchStrategy[answers.Part] = st.one_of(
    st.builds(answers.Thinking, st.sampled_from(["Hm.", "So."])),
    st.just(answers.Redacted()),
    st.builds(answers.Text, st.sampled_from(["I look.", "I see."])),
    st.builds(answers.ToolCall, st.sampled_from(["lookup", "gone"]), st.just('{"a":1}')),
)
steps = st.lists(
    st.tuples(st.integers(0, len(FILTERS) + 2), st.lists(said, min_size=1, max_size=4), st.booleans(), st.none() | st.just("high")),
    min_size=2,
    max_size=6,
)


@pytest.mark.req("T-05", "X-20", "X-23", "S4-36", "S4-45")
@law(part=3)
@given(st.sampled_from(ROWS), steps)
def test_every_call_of_an_agent_that_changes_is_served(row: tuple[str, str], given_steps: list[tuple[int, list[answers.Part], bool, str | None]]):
    """A step: the agent as it is then, what the model says, whether input comes behind the results, and what it is asked to think."""
    dialect, model = row
    talk = Talk(variants()[0])
    talk.ledger.user("Well?", turn=1)
    for number, (variant, parts, asks, effort) in enumerate(given_steps):
        talk.revision = variants()[variant]
        talk.changes = {"continuation": Continuation("tool_completed" if number else "input_received", number + 1)}
        says = [part for part in parts if thinks(dialect, model) or not isinstance(part, answers.Thinking | answers.Redacted)]
        target = target_of(dialect, model, reasoning={"effort": effort} if effort else None)
        note((number, variant, says))
        answer = talk.call(target, answers.Answer(tuple(says or [answers.Text("So be it.")])))
        calls = [part for part in answer.parts if isinstance(part, ToolCall)]
        for part in calls:
            talk.ledger.add("tool_result", ToolResult(part.tool_call_id, (Text(f"Result {number}"),), part.name), 1)
        if asks or not calls:
            talk.ledger.add("user_message", Message((Text("And?"),)), 1)
