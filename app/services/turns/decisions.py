"""Decisions on calls that somebody has to approve of: stored at once, and the turn goes on where nothing is missing any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.entries.errors import Conflict, Fault, Invalid
from app.entries.trace import ApprovalDecided, Decided
from app.services.consequences import of_run
from app.services.turns.desk import Accepted, Desk
from app.services.turns.endings import SETTLED
from app.services.turns.inputs import IdempotencyKey
from app.services.turns.resuming import Resuming, Waiting, turn_settled
from app.services.write import Draft
from app.storage.rows import TurnRow
from app.turn.life import Life


@dataclass(frozen=True, slots=True)
class GivenDecision:
    """One decision of a request. `reason` is told to the model where the call is denied."""

    tool_call_id: str
    decision: Decided
    reason: str | None = None


class Decisions:
    """Takes decisions; raises `Invalid` for calls that wait for none, `Conflict` for settled turns and other decisions, and writes nothing then."""

    def __init__(self, desk: Desk) -> None:
        self._resuming = Resuming(desk)

    async def post(
        self,
        tenant: UUID,
        session_id: str,
        turn_id: str,
        decisions: Sequence[GivenDecision],
        key: IdempotencyKey | None,
        expected_head: int | None = None,
    ) -> Accepted:
        """Stores the decisions that are new. An approved call runs, or waits for its result; a denied one gets an error result."""

        async def fresh(found: Waiting) -> list[Draft]:
            return _fresh(found.life, decisions, found.row)

        return await self._resuming.post(tenant, session_id, turn_id, key, expected_head, fresh)


def _fresh(life: Life, decisions: Sequence[GivenDecision], row: TurnRow) -> list[Draft]:
    """Drafts of the decisions that are not stored yet. The same again is ignored; another one is a conflict."""
    fresh: dict[str, Draft] = {}
    made: dict[str, Decided] = {}
    for at, given in enumerate(decisions):
        tool = life.tools.get(given.tool_call_id)
        settled = row.status in SETTLED
        if tool is None or tool.approval is None or (tool.approval == "requested" and tool.result_seq is not None and not settled):
            raise Invalid(
                [Fault(f"/decisions/{at}/tool_call_id", "no-approval-asked", "Of this call nobody asked for an approval; see the turn's `pending`.")]
            )
        before = made.get(given.tool_call_id) or (tool.approval if tool.approval != "requested" else None)
        if before is None and tool.result_seq is None:
            made[given.tool_call_id] = given.decision
            decided = ApprovalDecided(given.tool_call_id, given.decision, given.reason)
            fresh[given.tool_call_id] = of_run(Draft(decided.kind, decided.encode(), row.number), life.runs[tool.run])
        elif before != given.decision:
            if settled:
                raise turn_settled()
            raise Conflict("This call was decided on already; a decision never changes.", "decision-conflict")
    return list(fresh.values())
