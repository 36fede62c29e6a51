"""A request weighed by the provider itself, where the operator wants that; in a preview the estimate stands, which asks nobody."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.config.upstreams import Upstream
from app.context.budget import counted
from app.formats.protocols import Format
from app.formats.registry import FORMATS
from app.models.resolve import ModelChoice
from app.services.inputs import Prepared
from app.services.targets import Targets

CountExactly = Callable[[Upstream, Format, ModelChoice, Mapping[str, Any]], Awaitable[int | None]]
"""Asks the provider for the tokens of a body's tree; None where it has no answer in time."""


class ExactCounts:
    """Asks before each call, for upstreams with `exact_counting`."""

    def __init__(self, targets: Targets, ask: CountExactly) -> None:
        self._targets = targets
        self._ask = ask

    async def weighed(self, prepared: Prepared) -> Prepared:
        """The same input, its budget by the provider's count where there is one."""
        target = prepared.target
        upstream = self._targets.upstream(target.model.upstream)
        if upstream.exact_counting and not prepared.violations:
            total = await self._ask(upstream, FORMATS[target.dialect], target.model, prepared.written.document)
            if total is not None:
                prepared.budget = counted(prepared.budget, total)
        return prepared
