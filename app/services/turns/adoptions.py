"""The agent that a session adopted last: a turn that is handed over to another does not undo what somebody asked for since."""

from uuid import UUID

from app.entries.settings import AgentAdopted
from app.storage.ledger import Ledger
from app.storage.rows import EntryFilter


async def adopted_seq(ledger: Ledger, tenant: UUID, session: UUID) -> int:
    """The entry by which the session adopted an agent last; 0 where it still has its first."""
    chosen = EntryFilter(kinds=(AgentAdopted.kind,), descending=True)
    found = await ledger.entries(tenant, session, chosen, 1)
    return found[0].seq if found else 0
