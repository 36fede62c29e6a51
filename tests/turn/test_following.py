"""What follows from a turn's entries costs as much as there are entries, however many calls of an answer are closed one by one."""

from typing import Any

import pytest

from app.entries.parts import Part
from app.services.consequences import follow
from app.turn import reading
from tests.turn.lives import POLICY, Ledger, answer, finished, result, started, tool


def test_an_entry_is_read_once_while_many_calls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of a hundred calls each; those of the last are of a tool that is masked, and each is refused by itself."""
    ledger = Ledger()
    made: list[Part] = [tool("look", number) for number in range(100)]
    refused: list[Part] = [tool("masked", number) for number in range(100)]
    ledger.append(started(0), answer(0, *made, stop_reason="tool_calls"), finished(0, stop_reason="tool_calls"))
    ledger.append(*[result(f"t_look_{number}") for number in range(100)])
    ledger.append(started(1), answer(1, *refused, stop_reason="tool_calls"), finished(1, stop_reason="tool_calls"))
    module: Any = reading
    real, read = module.decode, 0

    def counted(*given: Any) -> Any:
        nonlocal read
        read += 1
        return real(*given)

    monkeypatch.setattr(reading, "decode", counted)
    found = follow(ledger.entries, [], POLICY, turn=1, head_seq=len(ledger.entries))
    assert len(found.drafts) == 200
    assert read == 202, "102 messages that were there, 100 results that follow"
