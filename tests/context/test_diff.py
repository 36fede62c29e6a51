"""A difference of two inputs is whole: applied to what the first sends it gives what the second sends, whatever the heads and dialects."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.context.diff import Diff, applied, diff, sent, to_json
from app.context.listed import listed
from app.context.report import source_pointers
from app.context.sources import Ephemeral, Overrides, Sources
from app.entries.messages import ToolResult
from app.entries.parts import Text
from app.formats.registry import FORMATS
from tests.strategies import AGENTS, SYSTEM, TARGETS, TOOL_DOCUMENTS, Ledger, agent, call, ephemerals, ledgers, overrides, target, tokens

NURSE = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)
targets = st.sampled_from([*TARGETS, *(target(dialect) for dialect in FORMATS), target(tools="text")])


def at_head(draw: st.DrawFn, ledger: Ledger) -> Sources:
    """The sources of one input at any head of the ledger, for any agent, target and turn."""
    head = draw(st.integers(0, len(ledger.messages)))
    messages = tuple(ledger.messages[:head])
    return ledger.sources(
        draw(st.sampled_from(AGENTS)),
        draw(targets),
        messages=messages,
        head_seq=messages[-1].entry.seq if messages else 0,
        history_message_count=head,
        running_turn=draw(st.none() | st.integers(1, 4)),
        ephemeral=draw(ephemerals),
        overrides=draw(overrides),
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sources, Sources]:
    ledger = draw(ledgers())
    return at_head(draw, ledger), at_head(draw, ledger)


@pytest.mark.req("X-63")
@settings(max_examples=500, deadline=None)
@given(pairs())
def test_a_difference_applied_to_the_first_input_gives_the_second(pair: tuple[Sources, Sources]):
    first, second = (compile_context(one, tokens) for one in pair)
    there, back = diff(first, second), diff(second, first)
    assert applied(there, sent(first)) == sent(second)
    assert applied(back, sent(second)) == sent(first)
    assert diff(first, first) == Diff((), (), (), ())
    for compiled in (first, second):
        rows = list(listed(compiled))
        assert len({row.id for row in rows}) == len(rows) == len(compiled.decisions)
        assert sum(row.place == "messages" for row in rows) == len(compiled.request.messages)
        assert [row.position for row in rows if row.place == "system"] == list(range(len(compiled.request.system)))
        assert [row.position for row in rows if row.place == "tools"] == list(range(len(compiled.declared)))


def compiled(ledger: Ledger, revision: Any = NURSE, **changes: Any) -> Compiled:
    return compile_context(ledger.sources(revision, **changes), tokens)


def names(changes: Any) -> list[str]:
    return [(change.after or change.before).id for change in changes]


def test_what_is_said_is_added_and_what_is_masked_is_removed_with_its_reason():
    ledger = Ledger()
    ledger.user("q")
    first = compiled(ledger)
    ledger.answer("a")
    found = diff(first, compiled(ledger, overrides=Overrides(masked_tools=("gone",))))
    assert [names(getattr(found, name)) for name in ("added", "removed", "transformed", "reordered")] == [["entry:2"], ["tool:gone"], [], []]
    (row,) = to_json(found, {"tool:gone": "/tools/1"}, {})["removed"]
    assert (row["source"], row["from"]["pointer"], row["from"]["position"]) == ({"kind": "tool", "name": "gone"}, "/tools/1", 1)
    assert (row["to"]["disposition"], row["to"]["reason"], row["to"]["position"], row["to"]["digest"]) == ("excluded", "masked", None, None)


def test_results_that_another_target_takes_in_another_order_are_reordered():
    ledger = Ledger()
    ledger.answer(call("one"), call("two"), call("three"))
    for name in ("three", "one", "two"):
        ledger.result(name)
    found = diff(compiled(ledger), compiled(ledger, target=target(results_in_call_order=True)))
    assert names(found.reordered) == ["entry:2"]  # the fewest that have to be moved: the first result goes behind the others
    assert found.added == found.removed == ()


def test_an_entry_that_another_dialect_changes_is_transformed_and_keeps_its_place():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("call_x"))
    ledger.add("tool_result", ToolResult("call_x", (Text("r"),)))
    fitted = target("anthropic-messages", call_id_pattern="[a-zA-Z0-9]{9}", call_id_chars_max=9)
    first, second = compiled(ledger), compiled(ledger, target=fitted)
    found = diff(first, second)
    assert names(found.transformed) == ["entry:2", "entry:3"]
    written = FORMATS["anthropic-messages"].write_request(second.request, {})
    told = to_json(found, {}, source_pointers(second, written.pointers, written.sections, written.tools))["transformed"][0]
    assert (told["from"]["reason"], told["to"]["reason"], told["to"]["pointer"]) == ("in_window", "tool_call_id_fitted", "/messages/1")
    assert told["from"]["digest"] != told["to"]["digest"]
    assert told["from"]["message_index"] == told["to"]["message_index"] == 1


def test_repairs_of_one_id_are_told_apart():
    ledger = Ledger()
    ledger.answer(call("same"), call("same"), call("same#2"))
    ids = [row.id for row in listed(compiled(ledger)) if row.id.startswith("tool_repair")]
    assert len(ids) == len(set(ids)) == 3
    assert "tool_repair:0:same" in ids


def test_what_is_not_stored_has_no_digest():
    ledger = Ledger()
    ledger.user("q")
    (change,) = diff(compiled(ledger), compiled(ledger, ephemeral=(Ephemeral("user_message", (Text("e"),)),))).added
    assert change.after is not None
    assert (change.after.id, change.after.content, change.before) == ("ephemeral:1:0", None, None)
