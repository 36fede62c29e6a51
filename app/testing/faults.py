"""What ends a run: a script that does not fit what happened, a refused step, a wait that was too long; and a service that did not start.

The first three are assertion errors, so that a test framework counts them as failed tests and not as broken ones.
"""

from collections.abc import Mapping
from typing import Any


class NotStarted(RuntimeError):
    """The service or its database did not come up; the message says what to do."""


class ScriptFault(AssertionError):
    """The script and the run went apart; the message names the step by its number from 0 and shows what was there."""


class StepRefused(ScriptFault):
    """The service refused what a step asked for. `problem` is its problem document."""

    def __init__(self, message: str, problem: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.problem = problem


class RunTimeout(ScriptFault):
    """The run took longer than `timeout_seconds`; the turn that ran was stopped."""
