"""Laws of filters: whatever their order, pairs stay whole and each source is decided once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.draft import History
from app.context.sources import Ephemeral
from app.entries.parts import Text, ToolCall
from tests.strategies import SYSTEM, TARGETS, TOOL_DOCUMENTS, Ledger, agent, flags, ledgers, tokens

HISTORY = {"renderer": "history"}


FILTERS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        SYSTEM,
        {"renderer": "prune_reasoning"},
        *[{"renderer": "select_recent", "n": n, "unit": unit} for n in (1, 2, 3, 5) for unit in ("parts", "entries", "turns")],
        {"renderer": "prune_tool_results", "keep": 1},
        {"renderer": "prune_addressed", "agents": ["a"]},
        {"renderer": "transform_user", "template": "<{{ message.text }}>"},
        {"renderer": "user", "text": "Remember."},
        {"renderer": "limit_tools", "names": ["lookup"]},
        {"renderer": "mask_tools", "names": ["gone"]},
        {"renderer": "tap"},
    ]
)


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A list with one history somewhere in it; each renderer with an id of its own."""
    found = draw(st.lists(FILTERS, max_size=6))
    found.insert(draw(st.integers(0, len(found))), HISTORY)
    return [{**spec, "id": f"r{position}"} for position, spec in enumerate(found)]


@pytest.mark.req("S0-28", "S4-29", "S4-30", "X-64", "S4-25")
@settings(max_examples=400, deadline=None)
@given(ledgers(), lists(), st.sampled_from(TARGETS), flags)
def test_no_order_of_renderers_breaks_a_pair_or_a_decision(ledger: Ledger, context: list[dict[str, Any]], given_target: Any, more: Any):
    sources = ledger.sources(agent(context=context, tools=TOOL_DOCUMENTS), given_target, running_turn=1, ephemeral=EPHEMERAL)
    found = compile_context(sources, tokens)
    rows = [row.source["seq"] for row in found.decisions if row.source["kind"] == "entry"]
    assert sorted(rows) == [message.entry.seq for message in sources.messages], "decided once each"
    included = {row.source["seq"] for row in found.decisions if row.source["kind"] == "entry" and row.disposition != "excluded"}
    assert included == {message.origin.seq for message in found.request.messages if isinstance(message.origin, History)}
    if given_target.rules.tools != "text":
        open_calls: list[str] = []
        for message in found.request.messages:
            if message.role == "tool":
                open_calls.remove(message.tool_call_id or "")
            else:
                assert not open_calls
                open_calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCall)]
        assert not open_calls
    own = {spec["id"] for spec in context}
    assert [row.source["renderer"] for row in found.decisions if row.source["kind"] == "rendered" and row.source["renderer"] in own] == [
        spec["id"] for spec in context if spec["renderer"] == "user"
    ]
    again = compile_context(sources, tokens)
    assert again.request == found.request


EPHEMERAL = (Ephemeral("user_message", (Text("now"),), tokens=3),)
