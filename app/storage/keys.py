"""API keys: only the digest of a secret is stored, and it is looked up before a tenant is known."""

from uuid import UUID

from app.storage import decode
from app.storage.pool import Pool
from app.storage.rows import KeyRow

KeyRows = list[KeyRow]


class Keys:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, tenant: UUID, key_id: UUID, name: str, digest: bytes, scopes: tuple[str, ...]) -> KeyRow:
        """Stores a key by its sha256. The same digest again gives the key that has it, so that seeding one may be repeated."""
        rows = await self._pool.fetch("SELECT * FROM ledger.key_put_v1($1, $2, $3, $4, $5)", tenant, key_id, name, digest, list(scopes))
        return decode.key(rows[0])

    async def find(self, digest: bytes) -> KeyRow | None:
        """The key with that sha256, of any tenant, unless it is revoked."""
        rows = await self._pool.fetch("SELECT * FROM ledger.key_find_v1($1)", digest)
        return decode.key(rows[0]) if rows else None

    async def list(self, tenant: UUID | None = None, *, after: UUID | None = None, limit: int) -> KeyRows:
        """Keys by id, of one tenant or (None, for the operator's command line) of all."""
        rows = await self._pool.fetch("SELECT * FROM ledger.keys_v1($1, $2, $3)", tenant, after, limit)
        return [decode.key(row) for row in rows]

    async def revoke(self, tenant: UUID | None, key_id: UUID) -> bool:
        """Ends a key for good; False where the tenant (None: any) has none of that id. A revoked one stays revoked."""
        rows = await self._pool.fetch("SELECT ledger.key_revoke_v1($1, $2)", tenant, key_id)
        return bool(rows[0][0])
