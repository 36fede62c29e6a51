"""A client's results for a turn that waits: stored at once, and the loop goes on when none is missing any more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.entries.errors import Conflict, Fault, Invalid
from app.entries.messages import Entry, ToolResult, decode
from app.entries.parts import Part, Text
from app.services.consequences import of_run
from app.services.turns.desk import Accepted, Desk
from app.services.turns.endings import SETTLED
from app.services.turns.inputs import ExtraMessage, IdempotencyKey, Said, read_parts, with_known_media
from app.services.turns.resuming import Resuming, Waiting, turn_settled
from app.services.write import Draft
from app.storage.rows import TurnRow
from app.turn.life import Life


@dataclass(frozen=True, slots=True)
class GivenResult:
    """One result of a request; `content` is text or a list of part objects."""

    tool_call_id: str
    content: str | Sequence[Mapping[str, Any]]
    is_error: bool = False


class Results:
    """Takes results; raises `Invalid` for unknown calls, `Conflict` for settled turns and other contents, and writes nothing then."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resuming = Resuming(desk)

    async def post(
        self,
        tenant: UUID,
        session_id: str,
        turn_id: str,
        results: Sequence[GivenResult],
        extra: Sequence[ExtraMessage],
        key: IdempotencyKey | None,
        expected_head: int | None = None,
    ) -> Accepted:
        """Stores the results that are new. The turn goes on where nothing is pending any more, else it keeps waiting."""
        said = [read_parts(result.content, f"/results/{at}/content") for at, result in enumerate(results)]

        async def fresh(found: Waiting) -> list[Draft]:
            known = await with_known_media(self._desk.store.blobs, tenant, found.session.session_id, said)
            drafts = _fresh(found.life, found.entries, results, known, found.row)
            return [*drafts, *_extra(extra, found.row.number)] if drafts else []

        return await self._resuming.post(tenant, session_id, turn_id, key, expected_head, fresh)


def _fresh(life: Life, entries: Sequence[Entry], results: Sequence[GivenResult], said: Sequence[Said], row: TurnRow) -> list[Draft]:
    """Drafts of the results that are not stored yet. The same again is ignored; another content is a conflict."""
    known = _results(entries)
    fresh: list[Draft] = []
    for at, (result, content) in enumerate(zip(results, said, strict=True)):
        tool = life.tools.get(result.tool_call_id)
        if tool is None:
            raise Invalid([Fault(f"/results/{at}/tool_call_id", "unknown-tool-call", "The turn has no call of this id; see its `pending`.")])
        body = ToolResult(result.tool_call_id, content.parts, tool.call.name, result.is_error)
        before = known.get(result.tool_call_id)
        if before is None:
            if life.runs_here(tool):
                detail = "The service answers this call itself; the turn's `pending` has those that it waits for."
                raise Invalid([Fault(f"/results/{at}/tool_call_id", "no-result-asked", detail)])
            if tool.approval == "requested" and row.status not in SETTLED:
                raise Conflict("Somebody has to approve of this call first; see the turn's `pending`.", "approval-needed")
            known[result.tool_call_id] = body
            fresh.append(of_run(Draft("tool_result", body, row.number, media=content.media), life.runs[tool.run]))
        elif (_plain(before.parts), before.is_error) != (_plain(body.parts), body.is_error):
            if row.status in SETTLED:
                raise turn_settled()
            raise Conflict("This call has another result already; a stored result never changes.", "tool-result-conflict")
    return fresh


def _plain(parts: tuple[Part, ...]) -> tuple[object, ...]:
    return tuple(part.text if isinstance(part, Text) else part for part in parts)


def _results(entries: Sequence[Entry]) -> dict[str, ToolResult]:
    results: dict[str, ToolResult] = {}
    for entry in entries:
        if entry.kind == "tool_result" and entry.payload is not None:
            body = decode(entry.kind, entry.payload)
            if isinstance(body, ToolResult):
                results.setdefault(body.tool_call_id, body)
    return results


def _extra(extra: Sequence[ExtraMessage], turn: int) -> list[Draft]:
    return [read_parts(message.parts, f"/extra_messages/{at}/parts").draft(message.kind, message.flags, turn) for at, message in enumerate(extra)]
