"""One compaction from its durable request to its checkpoint or its failure (S3-31, S3-33…35).

The order: the request and its call's row, the call, the checks, the artifact, the checkpoint with the new line. Until that last append the
projection is the one from before.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from os import urandom
from typing import Literal
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX
from app.context.budget import on_scale
from app.context.compaction.candidate import candidate
from app.context.compaction.excerpt import excerpt
from app.context.compaction.reading import SummaryRefused, check_summary, parse_summary
from app.context.origins import InvalidOrigins
from app.context.sources import Driver
from app.entries import lossless
from app.entries.compactions import Checkpoint, CompactionFailed, CompactionRequested
from app.entries.errors import HeadMismatch, Invalid
from app.entries.ids import CALL, CHECKPOINT, blob_digest, format_id
from app.entries.line import Covered, covered
from app.entries.summaries import SUMMARY_MEDIA_TYPE, Summary
from app.entries.trace import usage_to_json
from app.services.call_records import attempt_json, event, record
from app.services.compactions.hooks import CompactionOutcome, Hooks
from app.services.compactions.jobs import Asked, Compacted, Job, completed, drafted
from app.services.compactions.reading import Said, SummaryCalls
from app.services.compactions.requests import Asking, SummaryRequests
from app.services.counting import ExactCounts
from app.services.inputs import Inputs, Prepared
from app.services.minting import new_uuid
from app.services.running import Running, patiently
from app.services.write import Draft
from app.storage.blobs import Blobs
from app.storage.types import CallWrite, NewBlob


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A checkpoint that shrinks the request, not appended yet."""

    checkpoint: Checkpoint
    artifact: NewBlob


class _Refused(Exception):
    """No checkpoint comes of the summary; `tokens_after` where it was measured."""

    def __init__(self, outcome: Literal["not_smaller", "failed"], reason: str, tokens_after: int | None = None) -> None:
        super().__init__(reason)
        self.outcome: Literal["not_smaller", "failed"] = outcome
        self.reason = reason
        self.tokens_after = tokens_after


class Attempts:
    """Makes attempts under a claim that the caller holds."""

    def __init__(self, inputs: Inputs, requests: SummaryRequests, calls: SummaryCalls, counts: ExactCounts, blobs: Blobs, hooks: Hooks) -> None:
        self._inputs = inputs
        self._requests = requests
        self._calls = calls
        self._counts = counts
        self._blobs = blobs
        self._hooks = hooks

    def check(self, main: Prepared, driver: Driver) -> None:
        """Raises `Invalid` for a driver whose model is not configured."""
        self._requests.target(main.sources, driver.model)

    async def reaching(self, main: Prepared, driver: Driver, asking: Asking) -> Asking:
        """The same for a plan that covers no more than the driver can be told of: what nobody was told would be lost to the model."""
        try:
            return asking if driver.kind == "excerpt" else await self._requests.reaching(main, asking)
        except Invalid:  # its model is gone, which the attempt says
            return asking

    async def consent(self, job: Job) -> bool:
        """Whether no hook is against it; asked before anything is written."""
        return await self._hooks.consent(job.facts)

    async def asked(self, job: Job, tenant: UUID, session: UUID, turn: int) -> Asked:
        """What has to be appended first. `turn` 0: no turn's."""
        main, found = job.main, job.found
        request = None
        if job.driver.kind == "model":
            try:
                request = await self._requests.made(tenant, session, main, job.asking)
            except (Invalid, InvalidOrigins):
                request = None
        call = None if request is None else new_uuid()
        call_id = None if call is None else format_id(CALL, call)
        body = CompactionRequested(
            job.trigger,
            job.driver.kind,
            found.covers_through_seq,
            found.first_kept_seq,
            job.choice.keep_recent_tokens,
            main.budget.total,
            job.attempt,
            job.step_index,
            call_id,
            job.piece,
        )
        write = None
        if call is not None and request is not None:
            kept = record(request, main.sources, summary=job.asking.to_json())
            write = CallWrite(call, True, turn, job.step_index or 0, "compaction", "running", main.sources.head_seq, kept, attempts="[]")
        told = {"trigger": job.trigger, "driver": job.driver.kind, "attempt": job.attempt, "call_id": call_id}
        ranges = {"covers_through_seq": found.covers_through_seq, "first_kept_seq": found.first_kept_seq}
        started = event("COMPACTION_STARTED", **told, **ranges, tokens_before=main.budget.total)
        return Asked(drafted(job, body.kind, body.encode(), turn), started, call, write, request)

    async def ended(self, running: Running, job: Job, asked: Asked, *, release: bool = False) -> Compacted:
        """The compaction that was just asked for, made and appended. `release`: its end gives the claim back. Raises `FenceLost`."""
        requested_seq = running.head_seq
        said: Said | None = None
        try:
            if job.driver.kind == "excerpt":
                found = await self._measured(running, job, asked, requested_seq, await self._excerpt(job), None)
            else:
                said = await self._said(running, job, asked)
                found = await self._of_model(running, job, asked, requested_seq, said)
        except _Refused as refused:
            done = await self._fail(running, job, asked, requested_seq, said, refused, release=release)
        else:
            done = await self._accept(running, job, asked, said, found, release=release)
        await self._hooks.tell(CompactionOutcome(job.facts, done.outcome, done.checkpoint_id, done.tokens_after))
        return done

    async def _said(self, running: Running, job: Job, asked: Asked) -> Said:
        """What the model said; a request that may not leave is not sent (X-49)."""
        request = asked.request
        if request is None or request.violations:
            return Said("", "refused", "not_sendable", ())
        if not request.budget.fits:
            return Said("", "refused", "over_budget", ())
        return await self._calls.made(running, request, asked.call_id or "", job.main.window.session.compaction_count)

    async def _of_model(self, running: Running, job: Job, asked: Asked, requested_seq: int, said: Said) -> _Accepted:
        try:
            if said.reason is not None:
                raise _Refused("failed", said.reason)
            try:
                summary = parse_summary(said.text, job.found.from_seq, job.found.covers_through_seq)
            except SummaryRefused as refused:
                raise _Refused("failed", refused.reason) from None
            return await self._measured(running, job, asked, requested_seq, summary, said)
        except _Refused as refused:
            if not job.driver.fallback or refused.outcome != "failed" or refused.reason == "cancelled":
                raise
        return await self._measured(running, job, asked, requested_seq, await self._excerpt(job), None)

    async def _excerpt(self, job: Job) -> Summary:
        try:
            return await asyncio.to_thread(excerpt, job.main.sources, job.found)
        except SummaryRefused as refused:
            raise _Refused("failed", refused.reason) from None

    async def _measured(self, running: Running, job: Job, asked: Asked, requested_seq: int, summary: Summary, said: Said | None) -> _Accepted:
        """The checkpoint of a summary that makes the whole request strictly smaller (X-47) and keeps its bounds. Raises `_Refused`."""
        main, found, request = job.main, job.found, asked.request
        summary = replace(summary, salt=urandom(16).hex())
        artifact = NewBlob(blob_digest(summary.canonical), SUMMARY_MEDIA_TYPE, summary.canonical)
        in_force = main.sources.checkpoint
        model = None if said is None or request is None else request.target.model
        checkpoint = Checkpoint(
            checkpoint_id=format_id(CHECKPOINT, new_uuid()),
            requested_seq=requested_seq,
            covers_through_seq=found.covers_through_seq,
            first_kept_seq=found.first_kept_seq,
            first_kept_index=found.first_kept_index,
            history_message_count=main.sources.history_message_count,
            summary=summary,
            artifact=artifact.digest,
            driver="excerpt" if model is None else "model",
            trigger=job.trigger,
            tokens_before=main.budget.total,
            tokens_after=0,
            upstream=None if model is None else model.upstream,
            model=None if model is None else model.name,
            call_id=None if model is None else asked.call_id,
            usage=None if said is None else said.usage,
            usage_source=None if said is None else said.usage_source,
            replaces=None if in_force is None else in_force.body.checkpoint_id,
            agents=found.agents,
            user_messages=found.user_messages,
        )
        after = await self._weight(running, job, checkpoint)
        if after >= main.budget.total:
            raise _Refused("not_smaller", "not_smaller", after)
        try:
            check_summary(summary)
        except SummaryRefused as refused:
            raise _Refused("failed", refused.reason, after) from None
        return _Accepted(replace(checkpoint, tokens_after=after), artifact)

    async def _weight(self, running: Running, job: Job, checkpoint: Checkpoint) -> int:
        """The tokens of the whole request behind that checkpoint, counted as the request before was; where the provider does not answer, in
        proportion to its count of that one."""
        main, key = job.main, running.facts.key
        sources = candidate(main.sources, job.found, checkpoint)
        # Nothing bounds a summary before it is weighed.
        prepared = await patiently(lambda: self._inputs.compiled(key.tenant, key.session, main.window, sources, running.media, aside=True))
        if main.budget.method == "exact":
            prepared = await self._counts.weighed(prepared)
        return (
            prepared.budget.total
            if prepared.budget.method == main.budget.method
            else on_scale(main.budget, main.compiled.measured, prepared.budget.total)
        )

    async def _accept(self, running: Running, job: Job, asked: Asked, said: Said | None, found: _Accepted, *, release: bool) -> Compacted:
        """Stores the artifact, then the checkpoint that names it, with the line on which it stands for what it covers."""
        key, body = running.facts.key, found.checkpoint
        await patiently(lambda: self._blobs.put(key.tenant, key.session, found.artifact, running.fence))
        done = Compacted("compacted", body.tokens_before, body.covers_through_seq, body.checkpoint_id, body.tokens_after)

        def draft() -> Draft:
            mark = Covered(body.checkpoint_id, running.head_seq + 1, job.found.reads_from_seq - 1)
            line = covered(job.main.window.line, mark).encode()
            return replace(drafted(job, body.kind, body.encode(), running.number), line=line, blobs=(body.artifact,))

        await self._commit(running, draft, asked, said, completed(job, done), release=release)
        return done

    async def _fail(
        self, running: Running, job: Job, asked: Asked, requested_seq: int, said: Said | None, refused: _Refused, *, release: bool
    ) -> Compacted:
        usage, source = (None, None) if said is None else (said.usage, said.usage_source)
        body = CompactionFailed(requested_seq, refused.outcome, refused.reason, usage, source)
        done = Compacted(body.outcome, job.main.budget.total, job.found.covers_through_seq, None, refused.tokens_after)
        failed = event("COMPACTION_FAILED", outcome=body.outcome, reason=body.reason)
        draft = drafted(job, body.kind, body.encode(), running.number)
        told = completed(job, done) if body.outcome == "not_smaller" else failed
        await self._commit(running, lambda: draft, asked, said, told, release=release)
        return done

    async def _commit(
        self, running: Running, draft: Callable[[], Draft], asked: Asked, said: Said | None, told: tuple[str, str], *, release: bool
    ) -> None:
        """Appends the end with that of its call; `draft` gives it for the head. What was appended beside the claim changes nothing about it."""
        write = None
        if asked.call is not None and said is not None:
            usage = None if said.usage is None else lossless.dumps(usage_to_json(said.usage, said.usage_source))
            attempts = lossless.dumps([attempt_json(attempt) for attempt in said.attempts])
            write = CallWrite(asked.call, turn=running.number, status=said.status, attempts=attempts, usage=usage)
        for _ in range(APPEND_TRIES_MAX):
            with suppress(HeadMismatch):
                return await running.commit([draft()], call=write, release=release, after=[told])
        raise RuntimeError("the head of a session moved on without end")
