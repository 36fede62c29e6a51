"""Who is in before any renderer runs, and where messages stand that are never stored."""

from dataclasses import replace

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import EphemeralOrigin, History
from app.context.report import source_map
from app.context.sources import Ephemeral, Sources
from app.entries.messages import Message, Status, with_parts
from app.entries.parts import Reasoning, Text
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, tokens

NURSE = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)


def compiled(sources: Sources) -> Compiled:
    return compile_context(sources, tokens)


def indexes(found: Compiled) -> list[int]:
    return [message.origin.message_index for message in found.request.messages if isinstance(message.origin, History)]


def fate(found: Compiled, seq: int) -> tuple[str, str]:
    return next((str(row.disposition), str(row.reason)) for row in found.decisions if row.source.get("seq") == seq and row.source["kind"] == "entry")


@pytest.mark.req("S2-11", "S2-12", "S2-13", "S2-17", "S2-23", "S2-24", "S0-29", "T-03", "T-10")
@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED, Status.INTERRUPTED])
def test_a_failed_answer_keeps_its_index_and_is_not_sent(status: Status):
    ledger = Ledger()
    ledger.user("same words")
    ledger.answer("half an ans", status=status)
    ledger.user("same words")
    found = compiled(ledger.sources())
    assert source_map(found)["sources"] == [
        {"type": "history", "message_index": 0, "seq": 1},
        {"type": "history", "message_index": 2, "seq": 3},
    ]
    assert source_map(found)["history_message_count"] == 3
    assert fate(found, 2) == ("excluded", "failed_response")


@pytest.mark.req("T-10", "X-74")
@pytest.mark.parametrize(("status", "kept"), [(Status.CANCELLED, True), (Status.INTERRUPTED, True), (Status.FAILED, False)])
def test_partial_answers_text_keeps_the_text_of_a_stopped_answer_alone(status: Status, kept: bool):
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(Reasoning("hm"), "so far", call("c1"), status=status)
    ledger.result("c1", "closed")
    found = compiled(ledger.sources(agent(turn={"partial_answers": "text"})))
    assert [message.parts for message in found.request.messages][1:] == ([(Text("so far"),)] if kept else [])
    assert fate(found, 2) == (("transformed", "partial_answer") if kept else ("excluded", "failed_response"))
    assert fate(found, 3) == ("excluded", "orphan_tool_result"), "nothing of an unfinished answer was acted on"


@pytest.mark.req("S3-16")
def test_what_is_changed_and_then_left_out_is_out_and_says_both():
    ledger = Ledger()
    ledger.answer("so far", status=Status.INTERRUPTED)
    found = compiled(ledger.sources(agent(turn={"partial_answers": "text"}, context=[SYSTEM])))
    row = found.decisions[0]
    assert (row.disposition, row.reason, row.also, row.tokens_after) == ("excluded", "not_rendered", ("partial_answer",), 0)


@pytest.mark.req("S1-18")
def test_a_message_of_no_turn_that_is_out_of_context_is_in_no_input():
    ledger = Ledger()
    ledger.user("posted, not asked", include_in_context=False)
    for running_turn in (None, 1):
        assert fate(compiled(ledger.sources(running_turn=running_turn)), 1) == ("excluded", "not_in_context")


@pytest.mark.req("T-10")
def test_a_stopped_answer_without_text_leaves_nothing():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("c1"), status=Status.CANCELLED)
    found = compiled(ledger.sources(agent(turn={"partial_answers": "text"})))
    assert indexes(found) == [0]


@pytest.mark.req("S1-16", "S1-17", "S1-18", "T-11")
@pytest.mark.parametrize("persist", [True, False])
@pytest.mark.parametrize("include", [True, False])
def test_flag_matrix_over_this_body_and_the_next(persist: bool, include: bool):
    """Vector 15: in this body always; in the next one only when stored and included."""
    ledger = Ledger()
    ledger.user("before")
    ledger.answer("ok")
    current = ledger.sources(running_turn=2)
    if persist:
        ledger.user("flagged", turn=2, include_in_context=include)
        current = ledger.sources(running_turn=2)
    else:
        current = replace(current, ephemeral=(Ephemeral("user_message", (Text("flagged"),), include),))
    assert [message.parts[0] for message in compiled(current).request.messages][-1] == Text("flagged")
    ledger.answer("answered", turn=2)
    ledger.user("next", turn=3)
    after = [message.parts[0] for message in compiled(ledger.sources(running_turn=3)).request.messages]
    assert (Text("flagged") in after) is (persist and include)


@pytest.mark.req("T-11", "S2-40")
def test_an_ephemeral_input_stands_where_the_turns_user_message_would():
    ledger = Ledger()
    ledger.user("old", turn=1)
    ledger.answer("old answer", turn=1)
    ledger.answer(call("c1"), turn=2, gap=2)
    ledger.result("c1", turn=2)
    found = compiled(ledger.sources(running_turn=2, ephemeral=(Ephemeral("user_message", (Text("now"),)),)))
    assert [type(message.origin).__name__ for message in found.request.messages] == ["History", "History", "EphemeralOrigin", "History", "History"]
    assert source_map(found)["sources"][2] == {"type": "ephemeral", "after_seq": 2}
    assert found.message_count == 5
    row = next(row for row in found.decisions if row.source["kind"] == "ephemeral")
    assert row.digest is not None
    assert row.digest.startswith("sha256:")


@pytest.mark.req("T-11")
def test_ephemeral_messages_stand_after_the_stored_extra_that_came_before_them():
    ledger = Ledger()
    ledger.user("stored extra", turn=1)
    head = ledger.seq
    ledger.answer("step", turn=1)
    unstored = (Ephemeral("agent_message", (Text("a"),), after_seq=head), Ephemeral("user_message", (Text("b"),), after_seq=head))
    found = compiled(ledger.sources(running_turn=1, ephemeral=unstored))
    assert [message.parts[0].text for message in found.request.messages if isinstance(message.parts[0], Text)] == ["stored extra", "a", "b", "step"]
    assert [message.role for message in found.request.messages] == ["user", "agent", "user", "assistant"]


@pytest.mark.req("S1-18", "S1-16")
def test_a_message_out_of_context_is_in_its_own_turn_and_in_no_later_one():
    ledger = Ledger()
    ledger.user("mine", turn=1, include_in_context=False)
    ledger.answer("a", turn=1)
    assert indexes(compiled(ledger.sources(running_turn=1))) == [0, 1]
    assert indexes(compiled(ledger.sources(running_turn=2))) == [1]
    idle = compiled(ledger.sources())
    assert indexes(idle) == [1]
    assert fate(idle, 1) == ("excluded", "not_in_context")


@pytest.mark.req("T-22", "S1-08", "S0-12")
def test_system_rows_of_an_import_are_never_sent():
    ledger = Ledger()
    ledger.add("system_message", Message((Text("OLD PROMPT"),)))
    ledger.user("q")
    found = compiled(ledger.sources(NURSE, running_turn=1))
    assert [section.text for section in found.request.system] == [SYSTEM["text"]]
    assert indexes(found) == [1]
    assert fate(found, 1) == ("excluded", "system_message")


def test_an_empty_message_is_not_sent_and_an_empty_result_is():
    ledger = Ledger()
    ledger.add("user_message", Message(()))
    ledger.answer()
    ledger.answer(call("c1"))
    ledger.add("tool_result", with_parts(ledger.result("c1").body, ()))
    ledger.messages.pop(3)
    found = compiled(ledger.sources(history_message_count=5))
    assert indexes(found) == [2, 4]
    assert fate(found, 1) == fate(found, 2) == ("excluded", "empty_message")


def test_a_redacted_message_is_out():
    ledger = Ledger()
    redacted = ledger.user("gone")
    ledger.messages[0] = redacted._replace(entry=redacted.entry._replace(payload=None))
    assert fate(compiled(ledger.sources()), 1) == ("excluded", "redacted")


def test_ephemeral_origins_of_equal_messages_differ():
    same = Ephemeral("user_message", (Text("same"),))
    origins = [message.origin for message in compiled(Ledger().sources(ephemeral=(same, same))).request.messages]
    assert origins == [EphemeralOrigin(0, 0), EphemeralOrigin(0, 1)]
