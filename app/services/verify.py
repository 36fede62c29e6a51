"""The walk along a session's digest chain, and what it found, as a document."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from app.entries.errors import NotFound
from app.entries.ids import SESSION, format_id
from app.services.session_ids import UNKNOWN_SESSION, session_uuid
from app.storage.ledger import Ledger

_SENTENCES = {
    "gap": "An entry is missing before this one.",
    "digest": "The entry's digest does not follow from the chain.",
    "payload": "The payload is not the one that was digested.",
    "message-index": "The message's index does not follow from the messages before it.",
    "blob": "A blob that the entry names is missing or not the one that was digested.",
    "head": "The session's head, line or count of messages is not what its entries make it.",
}


class Verifier:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def verify(self, tenant: UUID, session_id: str, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """The verification resource. Raises `NotFound`."""
        session = session_uuid(session_id)
        verified = await self._ledger.verify(tenant, session, progress)
        if verified is None:
            raise NotFound(UNKNOWN_SESSION)
        return {
            "object": "verification",
            "session_id": format_id(SESSION, session),
            "ok": not verified.problems,
            "entries": verified.entries,
            "head_digest": "sha256:" + verified.head_digest.hex(),
            "problems": [
                {"seq": one.seq, "code": one.what, "detail": _SENTENCES.get(one.what, "The chain is broken here.")} for one in verified.problems
            ],
        }
