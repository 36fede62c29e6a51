"""Answers kept under idempotency keys, for requests that append nothing themselves; appends bring their own row."""

from uuid import UUID

from app.entries.errors import KeyReused
from app.storage import decode
from app.storage.pool import Pool
from app.storage.rows import StoredAnswer
from app.storage.types import IdempotencyWrite


class Idempotency:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, tenant: UUID, route: str, key: str, request_digest: bytes) -> StoredAnswer | None:
        """What is kept under the key; None: the key is free. Raises `KeyReused` for another request's key."""
        rows = await self._pool.fetch("SELECT * FROM ledger.idempotency_get_v1($1, $2, $3)", tenant, route, key)
        found = decode.stored_answer(rows[0]) if rows else None
        if found is not None and not found.answers(request_digest):
            raise KeyReused
        return found

    async def remember(self, tenant: UUID, write: IdempotencyWrite, prefix_key: str | None = None) -> StoredAnswer | None:
        """Keeps an answer. Gives the one that was kept before instead, or None. Raises `KeyReused` for another request's key.

        `prefix_key`: the session's from before the answer was made. Nothing is kept where a redaction has changed it since.
        """
        rows = await self._pool.fetch(
            "SELECT * FROM ledger.idempotency_put_v2($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            tenant,
            write.route,
            write.key,
            write.request_digest,
            write.status,
            write.body,
            write.session,
            write.turn,
            None if prefix_key is None else bytes.fromhex(prefix_key),
        )
        return decode.stored_answer(rows[0]) if rows else None

    async def purge(self, older_than_seconds: float, limit: int) -> int:
        """Deletes at most `limit` rows older than that, of all tenants; says how many."""
        rows = await self._pool.fetch("SELECT ledger.idempotency_purge_v1($1, $2)", older_than_seconds, limit)
        return int(rows[0][0])
