"""What a compaction would do to a request, said before anything is written (X-50)."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from app.config.limits import COMPILE_ON_LOOP_MESSAGES_MAX
from app.context.budget import on_scale
from app.context.compaction.candidate import floor_tokens
from app.context.compaction.plan import Plan, plan
from app.services.inputs import Prepared
from app.services.stored_contents import done
from app.services.targets import Targets


@dataclass(frozen=True, slots=True)
class Choice:
    """`would`: what is worth trying. `plan` is what would be covered, None where there is nothing; `keep_recent_tokens` as they were asked for."""

    would: Literal["compacted", "nothing_to_compact", "declined_floor"]
    keep_recent_tokens: int
    plan: Plan | None = None


class Choices:
    """Reads and compiles; asks nobody."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets

    async def chosen(self, prepared: Prepared, keep_recent_tokens: int, *, newest_only: bool = False) -> Choice:
        """What to cover of that request. Where it does not fit and everything is recent, the newest turn alone stays.

        `declined_floor`: even next to nothing in place of all but the newest turn would leave it over the hard limit.
        """
        aside = len(prepared.sources.messages) > COMPILE_ON_LOOP_MESSAGES_MAX
        return await done(partial(self._chosen, prepared, keep_recent_tokens, newest_only), aside=aside)

    def _chosen(self, prepared: Prepared, keep: int, newest_only: bool) -> Choice:
        compiled = prepared.compiled
        found = plan(compiled, keep, newest_only)
        if found is None and not prepared.budget.fits:
            found, newest_only = plan(compiled, keep, newest_only=True), True
        if found is None:
            return Choice("nothing_to_compact", keep)
        newest = found if newest_only else plan(compiled, keep, newest_only=True) or found
        count = self._targets.counter(prepared.target.estimator).repeated
        floor = on_scale(prepared.budget, compiled.measured, floor_tokens(compiled, newest, count))
        if not prepared.budget.would_fit(floor):
            return Choice("declined_floor", keep, found)
        return Choice("compacted", keep, found)
