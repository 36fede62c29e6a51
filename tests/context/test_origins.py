"""Vector 4: origins that contradict their messages or their history are refused before anything is sent."""

from dataclasses import replace
from typing import Any

import pytest

from app.context.compaction.candidate import candidate
from app.context.compaction.plan import plan
from app.context.compile import compile_context
from app.context.draft import CompactionOrigin, EphemeralOrigin, History, Origin, ToolRepair
from app.context.origins import InvalidOrigins, check_checkpoint, check_origins
from app.context.sources import InForce
from app.entries.summaries import Fact, Summary
from tests.context.compaction.chains import accepted, turns
from tests.strategies import Ledger, tokens

pytestmark = [pytest.mark.req("S2-39")]


@pytest.mark.parametrize(
    ("origins", "messages", "history"),
    [
        ([History(1, 0)], 2, 2),
        ([History(1, 0), History(2, 1)], 1, 2),
        ([History(1, 0)], 1, 0),
        ([History(1, 0)], 1, 1.5),
        ([History(1, 0)], 1, True),
        ([History(1, -1)], 1, 1),
        ([History(2, 1)], 1, 1),
        ([History(1, 0), History(1, 0)], 2, 1),
        ([ToolRepair(3, "c")], 1, 3),
        ([EphemeralOrigin(-1)], 1, 3),
        ([], 0, -1),
    ],
)
def test_refused(origins: list[Origin], messages: int, history: Any):
    with pytest.raises(InvalidOrigins) as refused:
        check_origins(origins, messages, history)
    assert refused.value.code == "invalid-origins"


def test_taken():
    check_origins([], 0, 0)
    check_origins([History(4, 0), ToolRepair(0, "c"), EphemeralOrigin(0), History(9, 2)], 4, 3)


def test_a_compile_checks_its_origins():
    ledger = Ledger()
    ledger.user("q")
    with pytest.raises(InvalidOrigins):
        compile_context(ledger.sources(history_message_count=0), tokens)


SUMMARY = CompactionOrigin("chk_1", 2)


@pytest.mark.req("S1-14", "S1-26", "S2-14")
@pytest.mark.parametrize(
    ("origins", "history"),
    [
        ([CompactionOrigin("chk_1", 3)], 3),
        ([CompactionOrigin("chk_1", -1)], 3),
        ([SUMMARY, SUMMARY], 3),
        ([SUMMARY, History(1, 1)], 3),
    ],
)
def test_a_summary_stands_for_what_is_not_sent(origins: list[Origin], history: int):
    with pytest.raises(InvalidOrigins):
        check_origins(origins, len(origins), history)


def test_a_summary_and_what_lies_behind_it_are_taken():
    check_origins([SUMMARY, History(3, 2), ToolRepair(2, "c")], 3, 3)


@pytest.mark.req("X-52", "S2-39")
@pytest.mark.parametrize(
    "changes",
    [
        {"first_kept_index": 0},
        {"first_kept_index": 8},
        {"history_message_count": 4},
        {"history_message_count": 9},
        {"covers_through_seq": 5},
        {"first_kept_index": 3},
        {"first_kept_seq": 6, "first_kept_index": 5},
        {"summary": Summary({}, 1, 4)},
        {"summary": Summary({"summary": (Fact(" \n"),)}, 1, 4)},
    ],
)
def test_a_checkpoint_that_the_history_contradicts_is_refused(changes: dict[str, Any]):
    """Vector 10."""
    ledger = turns(Ledger(), 1, 2)
    made = plan(compile_context(ledger.sources(), tokens), 0)
    assert made is not None
    body = accepted(ledger.sources(), made)
    check_checkpoint(body, 8, ledger.messages)
    with pytest.raises(InvalidOrigins):
        check_checkpoint(replace(body, **changes), 8, ledger.messages)
    with pytest.raises(InvalidOrigins):
        compile_context(candidate(ledger.sources(), made, replace(body, **changes)), tokens)


@pytest.mark.req("X-45", "X-52")
def test_a_boundary_moves_forward_under_another_id():
    ledger = turns(Ledger(), 1, 2, 3)
    found = compile_context(ledger.sources(), tokens)
    later = plan(found, 0)
    earlier = plan(found, 850)
    assert later is not None
    assert earlier is not None
    assert earlier.covers_through_seq < later.covers_through_seq
    one, two = accepted(ledger.sources(), earlier), accepted(ledger.sources(), later, checkpoint_id="chk_2")
    behind = candidate(ledger.sources(), earlier, one)
    assert candidate(behind, later, two).checkpoint == InForce(0, two)
    for body, before in ((one, two), (replace(one, checkpoint_id="chk_3"), one), (replace(two, checkpoint_id="chk_1"), one)):
        with pytest.raises(InvalidOrigins):
            candidate(replace(behind, checkpoint=InForce(1, before)), later, body)
