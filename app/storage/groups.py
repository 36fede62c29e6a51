"""Group commit: the plain appends that wait while others are under way go to the server together, in one statement and one flush.

An append that finds nobody waiting goes alone, by `append_v1`. A group goes by `append_many_v1`, which writes what nothing stands
against and leaves the rest; each of the rest then goes alone. So waiting for another writer's lock and every refusal stay what
`append_v1` makes of them, and no append fails or holds up another.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_GROUPS_MAX, APPENDS_PER_GROUP_MAX, APPENDS_WAITING_MAX, ENTRIES_PER_APPEND_MAX, POOL_WAIT_SECONDS_MAX
from app.entries.errors import Invalid, Unavailable
from app.entries.kinds import KINDS
from app.storage import decode
from app.storage.append_arguments import APPEND, APPEND_MANY, arguments, many_arguments
from app.storage.faults import StorageFault
from app.storage.pool import Pool
from app.storage.types import NEW_TURN, Append, Appended


@dataclass(slots=True, eq=False)
class _Waiting:
    session: UUID
    append: Append
    answer: asyncio.Future[Appended]
    since: float


_PLAIN = ("entries", "expected_head", "fence", "beside", "refuse_pending")
_rare = attrgetter(*[field.name for field in fields(Append) if field.name not in _PLAIN])
_NOTHING_RARE = _rare(Append())


def is_plain(append: Append) -> bool:
    """Whether an append is entries behind a head and nothing else, so that it may go with others."""
    if _rare(append) != _NOTHING_RARE or not 0 < len(append.entries) < ENTRIES_PER_APPEND_MAX:
        return False
    return all(entry.line is None and entry.turn != NEW_TURN and entry.kind in KINDS for entry in append.entries)


class Groups:
    """A lane for each tenant that appends just now: a statement works for one tenant."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lanes: dict[UUID, _Lane] = {}

    async def append(self, tenant: UUID, session: UUID, append: Append) -> Appended:
        """As `Ledger.append`, for an append that `is_plain`. It may be written although the caller is cancelled meanwhile."""
        lane = self._lanes.get(tenant)
        if lane is None:
            lane = self._lanes[tenant] = _Lane(self._pool, tenant, lambda: self._lanes.pop(tenant))
        return await lane.join(session, append)


class _Lane:
    """`emptied` is called whenever nothing waits and nothing is under way any more."""

    def __init__(self, pool: Pool, tenant: UUID, emptied: Callable[[], object]) -> None:
        self._pool = pool
        self._tenant = tenant
        self._emptied = emptied
        self._waiting: deque[_Waiting] = deque()
        self._sessions: set[UUID] = set()
        """Sessions with an append under way; their next ones wait for it rather than for its lock."""
        self._groups = 0
        self._leaving = False
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, session: UUID, append: Append) -> asyncio.Future[Appended]:
        """The answer to come. Raises `Unavailable` where too many wait."""
        if len(self._waiting) >= APPENDS_WAITING_MAX:
            raise Unavailable("Too many appends wait for the database; try again shortly.")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(session, append, loop.create_future(), loop.time())
        self._waiting.append(waiting)
        self._call()
        return waiting.answer

    def _call(self) -> None:
        """Lets a group leave, in the loop's next round: by then all who were woken together have joined."""
        if self._waiting and not self._leaving and self._groups < APPEND_GROUPS_MAX:
            self._leaving = True
            self._start(self._group())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.remove(task)
        if not self._tasks:  # while anything waits there is one
            self._emptied()

    async def _group(self) -> None:
        self._leaving = False
        group = self._taken()
        if not group:
            return
        self._groups += 1
        left = await self._send(group)
        self._groups -= 1
        for waiting in left:
            self._start(self._alone(waiting))
        self._call()

    async def _alone(self, waiting: _Waiting) -> None:
        await self._send([waiting])
        self._call()

    def _taken(self) -> list[_Waiting]:
        """The longest waiting of the sessions that have no append under way, one a session."""
        overdue = asyncio.get_running_loop().time() - POOL_WAIT_SECONDS_MAX
        group: list[_Waiting] = []
        stay: list[_Waiting] = []
        entries = 0
        while self._waiting and len(group) < APPENDS_PER_GROUP_MAX and entries < ENTRIES_PER_APPEND_MAX:
            waiting = self._waiting.popleft()
            count = len(waiting.append.entries)
            if waiting.answer.done():
                continue
            if waiting.since < overdue:
                waiting.answer.set_exception(Unavailable("The database does not keep up; try again shortly."))
            elif waiting.session in self._sessions or entries + count > ENTRIES_PER_APPEND_MAX:
                stay.append(waiting)
            else:
                self._sessions.add(waiting.session)
                group.append(waiting)
                entries += count
        self._waiting.extendleft(reversed(stay))
        return group

    async def _send(self, group: list[_Waiting]) -> list[_Waiting]:
        """Sends and answers; gives those of a group that have to go alone, because it left them or failed as a whole."""
        answers: Sequence[Appended | BaseException | None]
        try:
            answers = await (self._many(group) if len(group) > 1 else self._one(group[0]))
        except (Invalid, StorageFault) as error:  # refused by the server, so nothing was written
            answers = [None if len(group) > 1 else error for _ in group]
        except Unavailable as error:  # nobody knows whether it was written, so it is not sent again
            answers = [Unavailable(error.detail) for _ in group]
        except BaseException as error:
            answers = [error] * len(group)
        for waiting, answer in zip(group, answers, strict=True):
            if answer is not None:
                self._answer(waiting, answer)
        return [waiting for waiting, answer in zip(group, answers, strict=True) if answer is None]

    async def _one(self, waiting: _Waiting) -> list[Appended]:
        rows = await self._pool.fetch(APPEND, *arguments(self._tenant, waiting.session, waiting.append))
        return [decode.appended(rows[0])]

    async def _many(self, group: list[_Waiting]) -> list[Appended | None]:
        rows = await self._pool.fetch(APPEND_MANY, *many_arguments(self._tenant, [(one.session, one.append) for one in group]))
        return decode.appended_many(rows[0], [len(one.append.entries) for one in group])

    def _answer(self, waiting: _Waiting, answer: Appended | BaseException) -> None:
        self._sessions.discard(waiting.session)
        if waiting.answer.done():
            return
        if isinstance(answer, Appended):
            waiting.answer.set_result(answer)
        elif isinstance(answer, asyncio.CancelledError):
            waiting.answer.cancel()
        else:
            waiting.answer.set_exception(answer)
