"""A script: its steps checked, the model's part of it for the built-in upstream, and the agent's document that plays it."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.config.limits import SCRIPT_STEPS_MAX
from app.config.upstreams import SCRIPTED
from app.testing.faults import ScriptFault
from app.testing.steps import Model, Result, Step

EXHAUSTED = "script-exhausted"
"""The vendor code of the failure that stands after the last answer: a call too many fails at once, instead of hearing the last answer again."""

LIMITS = {"context_window": 200_000, "max_output_tokens": 32_000}
"""For a document that leaves its model's capacity to the catalogue, which does not know a scripted one's."""


class Script:
    """The steps of one run. Raises `ScriptFault` for an order that nothing can play."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self.answers = tuple(at for at, step in enumerate(self.steps) if isinstance(step, Model))
        self.mocked = frozenset(step.tool for step in self.steps if isinstance(step, Result) and step.mocks)
        if self.steps and isinstance(self.steps[0], Model):
            raise ScriptFault(f"{self.named(0)}: nothing has called the model yet; begin with user(…)")

    def named(self, at: int) -> str:
        """A step by its number and what it does."""
        return f"step {at}, {self.steps[at]}"

    def answers_before(self, at: int) -> int:
        """How many model steps stand before a place."""
        return sum(1 for answer in self.answers if answer < at)

    def document(self, document: Mapping[str, Any], dialect: str, played: int) -> dict[str, Any]:
        """An agent's document with the script in the place of its model, and the tools that steps mock handed to the client.

        `played`: main calls that the session made before; the upstream counts them too. Raises `ScriptFault` for more than it plays.
        """
        if played + len(self.answers) >= SCRIPT_STEPS_MAX:
            raise ScriptFault(f"a session has at most {SCRIPT_STEPS_MAX - 1} scripted calls; with this script it would have more")
        chosen = document.get("model", {})
        params = {**chosen.get("params", {}), "script": self._answers(played), "dialect": dialect}
        found = {**document, "model": {"upstream": SCRIPTED, "name": chosen.get("name", SCRIPTED), "params": params}}
        if found.get("limits") is None:
            found["limits"] = LIMITS
        if self.mocked:
            found["tools"] = [_handed_over(tool) if tool.get("name") in self.mocked else tool for tool in found.get("tools", ())]
        return found

    def _answers(self, played: int) -> list[dict[str, Any]]:
        """An answer a main call of the session: blanks for those that were made, the script's own, and the failure after the last."""
        said = [dict(step.answer) for step in self.steps if isinstance(step, Model)]
        return [*({"text": "…"} for _ in range(played)), *said, {"error": {"status": 400, "code": EXHAUSTED}}]


def _handed_over(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {**tool, "executor": {"kind": "client"}}
