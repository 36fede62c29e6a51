"""Code of other packages beside a compaction, by entry points of the group `context_ledger.compaction_hooks`: one may keep it from being made,
all hear what came of it. What fails or takes too long counts as consent, and is logged without a word of what it said.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

from app.config.limits import HOOK_SECONDS_MAX, HOOK_THREADS_MAX
from app.entries.compactions import DriverKind, Outcome, Trigger

log = logging.getLogger(__name__)

GROUP = "context_ledger.compaction_hooks"


@dataclass(frozen=True, slots=True)
class CompactionFacts:
    """What is about to be compacted: ids, seqs and counts, no content. `tokens_before` is of the whole request."""

    session_id: str
    trigger: Trigger
    driver: DriverKind
    covers_through_seq: int
    first_kept_seq: int
    turns: int
    tokens_before: int
    input_limit: int


@dataclass(frozen=True, slots=True)
class CompactionOutcome:
    """What came of it. `tokens_after` is None where no summary was measured."""

    facts: CompactionFacts
    outcome: Outcome
    checkpoint_id: str | None
    tokens_after: int | None


@runtime_checkable
class CompactionHook(Protocol):
    """Plain functions; each is called beside the event loop, so it may not touch what belongs to another thread."""

    def may_compact(self, facts: CompactionFacts) -> bool:
        """Whether the compaction may be made. Nothing was written yet."""

    def compacted(self, outcome: CompactionOutcome) -> None:
        """Hears what came of one that was made."""


def installed_hooks() -> tuple[CompactionHook, ...]:
    """The hooks that packages bring, by name. Raises `ValueError` for one that is none, and as loading a package does."""
    hooks: list[CompactionHook] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        hook = entry.load()
        if not isinstance(hook, CompactionHook):
            raise ValueError(f"the entry point {entry.name} of {GROUP} has to name an object with `may_compact` and `compacted`")
        hooks.append(hook)
    return tuple(hooks)


class Hooks:
    """Asks and tells all hooks, each within a time."""

    def __init__(self, hooks: Sequence[CompactionHook] = ()) -> None:
        self._hooks = hooks
        # Threads of their own: a hook that hangs keeps nobody else's work waiting.
        self._threads = ThreadPoolExecutor(HOOK_THREADS_MAX, "compaction-hook")

    async def consent(self, facts: CompactionFacts) -> bool:
        """Whether no hook is against it."""
        for hook in self._hooks:
            if await self._guarded(hook, partial(hook.may_compact, facts)) is False:
                return False
        return True

    async def tell(self, outcome: CompactionOutcome) -> None:
        """Tells every hook."""
        for hook in self._hooks:
            await self._guarded(hook, partial(hook.compacted, outcome))

    async def _guarded(self, hook: CompactionHook, call: Callable[[], object]) -> object:
        try:
            async with asyncio.timeout(HOOK_SECONDS_MAX):
                return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except Exception as error:
            log.warning("the compaction hook %s failed (%s); that counts as consent", type(hook).__qualname__, type(error).__name__)
            return None
