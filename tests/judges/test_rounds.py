"""Rounds of tool calls under renderers that cut into them: whatever is left out, each call of the round is served by a strict provider."""

from typing import Any

import pytest

from app.context.draft import Reason
from app.entries.parts import ToolCall
from tests.fakes import answers
from tests.judges.minted import thinks
from tests.judges.talks import Talk
from tests.judges.targets import MODELS, target_of
from tests.strategies import SYSTEM, agent

HISTORY = {"renderer": "history"}
TOOLS = [{"name": "lookup", "description": "Finds a record."}]
CUTS: dict[str, dict[str, Any]] = {
    "plain": {"context": [SYSTEM, HISTORY]},
    "prune": {"context": [SYSTEM, HISTORY, {"renderer": "prune_reasoning"}]},
    "newest": {"context": [SYSTEM, HISTORY, {"renderer": "select_recent", "n": 1}]},
    "recent": {"context": [SYSTEM, HISTORY, {"renderer": "select_recent", "n": 3}]},
    "shorten": {"context": [SYSTEM, HISTORY, {"renderer": "prune_tool_results", "keep": 0, "placeholder": "{tokens}"}]},
    "late": {"context": [SYSTEM, HISTORY, {"renderer": "system", "text": "Now is later.", "placement": "tail"}]},
    "user": {"context": [SYSTEM, HISTORY, {"renderer": "user", "text": "Go on."}]},
    "plan": {"context": [SYSTEM, HISTORY], "plan": {"enabled": True}},
}


@pytest.mark.req("S0-28", "S0-30", "X-20", "X-23")
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("dialect", "model"), [(dialect, model) for dialect, models in MODELS.items() for model in models if thinks(dialect, model)])
@pytest.mark.parametrize("effort", [None, "high"])
def test_every_call_of_a_round_is_served(dialect: str, model: str, cut: str, effort: str | None):
    talk = Talk(agent(tools=TOOLS, **CUTS[cut]))
    target = target_of(dialect, model, reasoning=None if effort is None else {"effort": effort})
    talk.ledger.user("Well?", turn=1)
    closed = []
    for _ in range(3):
        answer = talk.call(target, answers.Answer((answers.Thinking("Hm."), answers.ToolCall("lookup", '{"n":1}'))))
        for part in answer.parts:
            if isinstance(part, ToolCall):
                talk.ledger.result(part.tool_call_id, "What the tool found, in many words.", turn=1)
        compiled, _ = talk.compiled(target)
        closed.append(any(row.reason is Reason.ROUND_CLOSED for row in compiled.decisions))
    talk.call(target, answers.Answer((answers.Text("So it is."),)))
    if cut == "plain" or target.rules.thinking != "adaptive":
        assert closed == [False] * 3, "a round that is whole is not touched"
    if cut == "prune" and target.rules.prefix_bound:
        assert closed == [True] * 3
