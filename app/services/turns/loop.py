"""The loop: while the turn has a next move, do it. Live running and going on after a client's results are the same."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from app.config.limits import MOVES_PER_TURN_MAX
from app.entries import lossless
from app.entries.deltas import Usage
from app.entries.errors import HeadMismatch
from app.entries.messages import Entry
from app.entries.trace import ModelCallFinished, TurnError, usage_to_json
from app.services.calls import ModelCalls
from app.services.compactions.preflight import Overflows
from app.services.consequences import NO_SETTINGS, Consequences, follow, is_over, pending_json
from app.services.running import Running, patiently
from app.services.turns.starting import Starting
from app.services.turns.views import Views
from app.services.write import Draft
from app.storage.types import CallWrite, SessionPatch, TurnWrite
from app.turn.decide import next_move
from app.turn.moves import Call, Compact, Done, GiveUp, Mend, Settle, Start


class Loop:
    """Runs turns whose claim this process holds. Nothing here belongs to an HTTP response."""

    def __init__(self, calls: ModelCalls, views: Views, starting: Starting, overflows: Overflows) -> None:
        self._calls = calls
        self._overflows = overflows
        self._views = views
        self._starting = starting

    async def run(self, running: Running) -> None:
        """Runs a turn until it rests. Raises `FenceLost` where another writer took it."""
        for _ in range(MOVES_PER_TURN_MAX):
            if running.lost:
                return
            if running.stop.is_set():
                await self._hear_stop(running)
            move = next_move(running.life)
            match move:
                case Done():
                    return
                case Call():
                    call = await self._calls.run(running, move)
                    if running.stop.is_set():
                        await self._hear_stop(running)
                    rests = call is not None and await self.conclude(running, call.drafts, call.write, call.events)
                case Start():
                    drafts = await self._starting.start(running, move)
                    if drafts is None:
                        await self._hear_stop(running)
                    rests = bool(drafts) and await self.conclude(running, drafts or [])
                case Compact():
                    running.compactable = await self._overflows.compact(running, move)
                    rests = False
                case Mend() | GiveUp():
                    raise RuntimeError("what this process reads is not mended by it")
                case _:
                    rests = await self.conclude(running, [])
            if rests:
                return
        raise RuntimeError("a turn made more moves than any turn can")

    async def conclude(
        self, running: Running, drafts: Sequence[Draft], call: CallWrite | None = None, events: Sequence[tuple[str, str]] = ()
    ) -> bool:
        """Appends drafts and all that follows from them, in one append; says whether the turn rests.

        What was appended beside the claim meanwhile may be a request to stop: then something else follows.
        """
        for _ in range(MOVES_PER_TURN_MAX):
            found = self._follow(running, drafts)
            if found.adopted is not None:  # somebody may have given the session another agent or model since the turn was handed over
                found = self._follow(running, drafts, await self._settings(running))
            try:
                if found.awaited is not None:
                    await self._wait(running, found, call, events)
                elif found.settled is not None:
                    await self._settle(running, found, found.settled, call, events)
                else:
                    await running.commit(found.drafts, call=call, before=events)
            except HeadMismatch:
                await self._hear_stop(running)
            else:
                return found.awaited is not None or is_over(found.move)
        raise RuntimeError("the head of a session moved on without end")

    def _follow(self, running: Running, drafts: Sequence[Draft], settings: Mapping[str, Entry] = NO_SETTINGS) -> Consequences:
        return follow(
            running.entries,
            drafts,
            running.policy,
            turn=running.number,
            head_seq=running.head_seq,
            input_seq=running.facts.input_seq,
            cut=running.cut,
            settings=settings,
            compactable=running.compactable,
        )

    async def _settings(self, running: Running) -> Mapping[str, Entry]:
        key = running.facts.key
        return await patiently(lambda: running.writer.ledger.settings(key.tenant, key.session, running.head_seq))

    async def _settle(
        self, running: Running, found: Consequences, settled: Settle, call: CallWrite | None, events: Sequence[tuple[str, str]]
    ) -> None:
        turn = TurnWrite(
            number=running.number,
            status=settled.status,
            error=error_json(settled.error),
            usage=usage_of(running.entries, found.drafts),
            settled=True,
        )
        ending = [(f"turn.{settled.status}", "")]
        await running.commit(found.drafts, turn=turn, call=call, session=found.patch, release=True, before=events, after=ending)

    async def _wait(self, running: Running, found: Consequences, call: CallWrite | None, events: Sequence[tuple[str, str]]) -> None:
        """The turn waits for its client: the claim is given back, and the event that says so ends the connection."""
        pending = pending_json(found.awaited.pending if found.awaited else ())
        usage = usage_of(running.entries, found.drafts)
        turn = TurnWrite(number=running.number, status="requires_action", pending=lossless.dumps(pending), usage=usage)
        view = await self._waiting_view(running, found, pending, usage)
        await running.commit(
            found.drafts,
            turn=turn,
            call=call,
            session=SessionPatch(pending_turn=running.number),
            release=True,
            before=events,
            after=[("turn.requires_action", lossless.dumps({"type": "turn.requires_action", "turn": view}))],
        )

    async def _waiting_view(self, running: Running, found: Consequences, pending: list[dict[str, Any]], usage: str | None) -> dict[str, Any]:
        key = running.facts.key
        view = await patiently(lambda: self._views.view(key.tenant, key.session, running.number))
        view |= {"status": "requires_action", "pending": pending, "usage": None if usage is None else lossless.read(usage)}
        coming = range(running.head_seq + 1, running.head_seq + 1 + len(found.drafts))
        return {**view, "entry_seqs": [*view["entry_seqs"], *coming]}

    async def _hear_stop(self, running: Running) -> None:
        """Reads who asked for the end: their request was appended beside the claim."""
        running.stop.clear()  # before the read: who asks from here on is heard the next time
        known = {entry.seq for entry in running.entries}
        running.entries += [entry for entry in await running.read_entries() if entry.kind == "stop_requested" and entry.seq not in known]
        running.entries.sort(key=lambda entry: entry.seq)


def usage_of(entries: Sequence[Entry], drafts: Sequence[Draft]) -> str | None:
    """The sum of what the turn's calls used, as JSON; a figure that no call gave stays null. None where no call gave any."""
    payloads = [entry.payload for entry in entries if entry.kind == "model_call_finished"]
    payloads += [draft.body for draft in drafts if draft.kind == "model_call_finished" and isinstance(draft.body, str)]
    reports = [finished for payload in payloads if payload and (finished := ModelCallFinished.decode(payload)).usage is not None]
    if not reports:
        return None
    figures = [report.usage for report in reports if report.usage is not None]
    total = Usage(*(_sum([getattr(usage, name) for usage in figures]) for name in Usage.__dataclass_fields__))
    source = "reported" if all(report.usage_source == "reported" for report in reports) else "estimated"
    return lossless.dumps(usage_to_json(total, source))


def _sum(figures: Sequence[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


async def rested(running: Running, seconds: float) -> bool:
    """Waits until a turn of this process rests; False when it took longer."""
    try:
        await asyncio.wait_for(running.done.wait(), seconds)
    except TimeoutError:
        return False
    return True


def error_json(error: TurnError | None) -> str | None:
    """The `error` of a Turn as JSON text."""
    return None if error is None else lossless.dumps(error.to_json())
