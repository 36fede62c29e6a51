"""Who asks: one tenant, and what its key may do."""

from dataclasses import dataclass
from uuid import UUID

LOCAL_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant of everything that is done without keys, and of the bootstrap key."""

SCOPES: tuple[str, ...] = ("sessions:read", "sessions:write", "model-input:read", "agents:write", "admin")


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant of a request and the scopes of its key."""

    tenant: UUID
    scopes: frozenset[str]


LOCAL = Scope(LOCAL_TENANT, frozenset(SCOPES))
