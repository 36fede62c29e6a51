"""Tool results that are out of date are told in fewer words before a call: decided by the budget, written down, then compiled (X-58, S0-32).

Nobody is told while it happens (X-59): the entry `pruned` stands in the ledger, and the manifest of each later call has its rows.
"""

import asyncio
from contextlib import suppress

from app.context.pruning import decide
from app.entries.errors import HeadMismatch
from app.services.call_records import Step
from app.services.inputs import Prepared
from app.services.running import Running
from app.services.targets import Targets


class Prunings:
    """Makes inputs lighter by pruning."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets

    async def relieve(self, running: Running, step: Step, prepared: Prepared) -> bool:
        """Appends a `pruned` entry where the verdict asks for one and enough can be saved; whether the input has to be made anew.

        An input is never made anew without end: each pruning takes a shorter form of some result, and there are two.
        """
        if prepared.budget.verdict == "fits":
            return False
        count = self._targets.counter(prepared.target.estimator).repeated
        pruned = await asyncio.to_thread(decide, prepared.compiled, prepared.budget, count)
        if pruned is None:
            return False
        with suppress(HeadMismatch):  # something was appended beside the claim: what was decided was for another input
            await running.commit([step.draft(running, pruned)])
        return True
