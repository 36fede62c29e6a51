"""From the id of a session, as clients spell it, to the session: asked here alone."""

from uuid import UUID

from app.entries.errors import NotFound
from app.entries.ids import SESSION, parse_id
from app.storage.rows import SessionRow
from app.storage.sessions import Sessions

UNKNOWN_SESSION = "There is no such session."


def session_uuid(session_id: str) -> UUID:
    """The UUID of a session's TypeID. Raises `NotFound` for a text that is none."""
    uuid = parse_id(SESSION, session_id)
    if uuid is None:
        raise NotFound(UNKNOWN_SESSION)
    return uuid


async def session_row(sessions: Sessions, tenant: UUID, session_id: str) -> SessionRow:
    """The row of a session by its TypeID. Raises `NotFound`."""
    row = await sessions.get(tenant, session_uuid(session_id))
    if row is None:
        raise NotFound(UNKNOWN_SESSION)
    return row
