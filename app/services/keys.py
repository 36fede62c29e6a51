"""API keys: made from chance, stored as a digest, believed for a few seconds without asking again."""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

from app.config.limits import KEY_CACHE_SECONDS, KEYS_CACHED_MAX, LIST_LIMIT_MAX
from app.config.secret import Secret
from app.entries.errors import Fault, Invalid
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT, SCOPES, Scope
from app.storage.keys import Keys as KeyRows
from app.storage.rows import KeyRow

PREFIX = "clk_"


def key_digest(token: str) -> bytes:
    """What is stored of a key. The tokens are 256 bits of chance, so a plain hash is as good as a slow one."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Keys:
    """Creates, lists, revokes and recognises keys."""

    def __init__(self, rows: KeyRows) -> None:
        self._rows = rows
        self._known: OrderedDict[bytes, tuple[float, Scope]] = OrderedDict()

    async def seed(self, bootstrap: Secret | None) -> None:
        """Stores the operator's first key, with all scopes; again and again is the same as once."""
        if bootstrap is not None:
            await self._rows.create(LOCAL_TENANT, new_uuid(), "bootstrap", key_digest(bootstrap.reveal()), SCOPES)

    async def authenticate(self, token: str) -> Scope | None:
        """The tenant and scopes of a token; None for one that is unknown or revoked. A revoked key may pass for `KEY_CACHE_SECONDS`."""
        digest, now = key_digest(token), asyncio.get_running_loop().time()
        known = self._known.get(digest)
        if known is not None and known[0] > now:
            return known[1]
        self._known.pop(digest, None)
        row = await self._rows.find(digest)
        if row is None:
            return None
        scope = Scope(row.tenant, frozenset(row.scopes))
        self._known[digest] = (now + KEY_CACHE_SECONDS, scope)
        if len(self._known) > KEYS_CACHED_MAX:
            self._known.popitem(last=False)
        return scope

    async def create(self, tenant: UUID, name: str, scopes: Sequence[str]) -> tuple[KeyRow, Secret]:
        """A new key; the token is shown this once. Raises `Invalid` for a scope that there is not."""
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise Invalid([Fault("/scopes", "not-allowed", f"There is no such scope; {len(unknown)} of them. Scopes are {', '.join(SCOPES)}.")])
        token = PREFIX + secrets.token_urlsafe(32)
        row = await self._rows.create(tenant, new_uuid(), name, key_digest(token), tuple(dict.fromkeys(scopes)))
        return row, Secret(token)

    async def list(self, tenant: UUID | None = None, *, after: UUID | None = None, limit: int = LIST_LIMIT_MAX) -> list[KeyRow]:
        """Keys without their secrets, of one tenant or of all."""
        return await self._rows.list(tenant, after=after, limit=limit)

    async def revoke(self, tenant: UUID | None, key_id: UUID) -> bool:
        """Ends a key for good; False where there is none of that id."""
        revoked = await self._rows.revoke(tenant, key_id)
        self._known.clear()
        return revoked
