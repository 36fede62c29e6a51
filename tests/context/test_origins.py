"""Vector 4: origins that contradict their messages or their history are refused before anything is sent."""

from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.draft import EphemeralOrigin, History, Origin, ToolRepair
from app.context.origins import InvalidOrigins, check_origins
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
