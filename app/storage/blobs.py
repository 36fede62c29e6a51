"""Bytes named by their digest, a store of its own for each session."""

from collections.abc import Iterable
from uuid import UUID

from app.storage.append_arguments import digest_bytes
from app.storage.pool import Pool
from app.storage.types import NewBlob


class Blobs:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def load(self, tenant: UUID, session: UUID, digests: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """Media type and bytes of each blob that is there, by `sha256:<hex>`; erased and unknown ones are missing."""
        wanted = [digest_bytes(digest) for digest in dict.fromkeys(digests)]
        if not wanted:
            return {}
        rows = await self._pool.fetch("SELECT * FROM ledger.blobs_v1($1, $2, $3)", tenant, session, wanted)
        return {"sha256:" + row["digest"].hex(): (row["media_type"], row["body"]) for row in rows}

    async def put(self, tenant: UUID, session: UUID, blob: NewBlob, fence: int | None = None) -> bool:
        """Stores a blob without an append; False when it was there. Raises `NotFound` for an unknown session, and with the `fence` of a claim
        `FenceLost` once that holds the session no more."""
        rows = await self._pool.fetch(
            "SELECT ledger.blob_put_v2($1, $2, $3, $4, $5, $6)", tenant, session, digest_bytes(blob.digest), blob.media_type, blob.body, fence
        )
        return bool(rows[0][0])
