"""The request that a summary is asked for with: made for the attempt, and made again for who asks what was sent."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar
from uuid import UUID

from app.config.limits import SUMMARY_OUTPUT_TOKENS_MAX
from app.context.compaction.plan import Plan, narrowed
from app.context.compaction.request import quotable_through, summary_sources
from app.context.sources import Sources
from app.models.efforts import EFFORTS
from app.models.resolve import Limits, ModelChoice, Target
from app.services.inputs import Inputs, Prepared
from app.services.targets import Targets

_THINKING = "minimal"

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Asking:
    """What a summary's request depends on beside the request that it is made smaller for. `model`: None for that one's own."""

    found: Plan
    model: ModelChoice | None = None
    instructions: str | None = None

    def to_json(self) -> dict[str, Any]:
        model = None if self.model is None else {"upstream": self.model.upstream, "name": self.model.name, "params": dict(self.model.params)}
        return {"plan": asdict(self.found), "model": model, "instructions": self.instructions}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What `to_json` spelled, from the record of a summary's call."""
        model, kept = value["model"], value["plan"]
        choice = None if model is None else ModelChoice(model["upstream"], model["name"], model["params"])
        return cls(Plan(**{**kept, "agents": tuple(kept["agents"])}), choice, value["instructions"])


class SummaryRequests:
    """Compiles by the same code as any input; writes nothing and calls nobody."""

    def __init__(self, inputs: Inputs, targets: Targets) -> None:
        self._inputs = inputs
        self._targets = targets

    def target(self, main: Sources, model: ModelChoice | None) -> Target:
        """Who summarises, asked for no more than a summary takes. Raises `Invalid` for a model that is not configured (any more).

        The call's own model is asked to think little, whatever it does else: its thinking would leave a summary no room below the cap.
        """
        target = main.target if model is None else self._targets.resolve(model, _limits(main, model), "/driver/model")
        output = min(SUMMARY_OUTPUT_TOKENS_MAX, target.limits.max_output_tokens)
        params = {**target.model.params, "max_output_tokens": output}
        if model is None and (wanted := (params.get("reasoning") or {}).get("effort")) is not None:
            params["reasoning"] = {"effort": min(wanted, _THINKING, key=EFFORTS.index)}
        return replace(target, model=replace(target.model, params=params))

    async def reaching(self, main: Prepared, asking: Asking) -> Asking:
        """The same for a plan that covers no more turns than the summarizer can be told of, but at least the oldest.

        Raises `Invalid` for a model that is not configured (any more).
        """
        quotable = self._summed(quotable_through, main, asking)
        return replace(asking, found=await asyncio.to_thread(lambda: narrowed(main.compiled, asking.found, quotable())))

    async def made(self, tenant: UUID, session: UUID, main: Prepared, asking: Asking) -> Prepared:
        """The request for a summary of the older part of `main`. Raises `Invalid` and `InvalidOrigins`."""
        # Of few messages or many, it holds the text of all of them, and that is counted.
        sources = await asyncio.to_thread(self._summed(summary_sources, main, asking))
        return await self._inputs.compiled(tenant, session, main.window, sources, aside=True)

    def _summed(self, of: Callable[..., Made], main: Prepared, asking: Asking) -> Callable[[], Made]:
        """A function of a summary's request with all that it takes."""
        target = self.target(main.sources, asking.model)
        count = self._targets.counter(target.estimator).repeated
        return partial(of, main.sources, asking.found, target, instructions=asking.instructions, count=count)


def _limits(main: Sources, model: ModelChoice) -> Limits | None:
    """What is known of a model's capacity because the call, or its agent, is for the same one."""
    own = ((main.target.model, main.target.limits), (main.agent.model, main.agent.limits))
    return next((limits for one, limits in own if (one.upstream, one.name) == (model.upstream, model.name)), None)
