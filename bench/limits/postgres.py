"""The limit of an append and of a read: bare asyncpg, one statement, a table without any rule.

A turn is one user and one assistant message of 400 characters each, in one INSERT, on a session of its own a caller.
"""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count

import asyncpg

TEXT_CHARS = 400
TEXT = ("The quick brown fox jumps over the lazy dog and finds it was never lazy at all. " * 5)[:TEXT_CHARS]
PAYLOAD = '{"parts":[{"type":"text","text":"' + TEXT + '"}]}'

TABLE = """
DROP SCHEMA IF EXISTS bench CASCADE;
CREATE SCHEMA bench;
CREATE TABLE bench.messages (
  session_id uuid NOT NULL, seq bigint NOT NULL, kind text NOT NULL, payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, seq))
"""
INSERT = "INSERT INTO bench.messages (session_id, seq, kind, payload) VALUES ($1, $2, 'user', $3), ($1, $2 + 1, 'assistant', $3)"
LAST = "SELECT seq, kind, payload FROM bench.messages WHERE session_id = $1 ORDER BY seq DESC LIMIT $2"
ALL = "SELECT payload FROM bench.messages WHERE session_id = $1 ORDER BY seq"
FILL = "INSERT INTO bench.messages (session_id, seq, kind, payload) SELECT $1, n, 'user', $3 FROM generate_series(1, $2::bigint) n"


@dataclass(slots=True)
class BareTable:
    """The table and one connection a caller; opened by `open_table`."""

    connections: list[asyncpg.Connection]
    sessions: list[uuid.UUID] = field(default_factory=list)
    _next: Callable[[], int] = field(default_factory=lambda: count(1, 2).__next__)

    async def append(self, caller: int, _n: int) -> None:
        """Two rows, one INSERT, one commit."""
        await self.connections[caller].execute(INSERT, self.sessions[caller], self._next(), PAYLOAD)

    async def fill(self, entries: int) -> uuid.UUID:
        """A session of that many rows."""
        session = uuid.uuid4()
        await self.connections[0].execute(FILL, session, entries, PAYLOAD)
        return session

    async def last(self, session: uuid.UUID, limit: int) -> list[asyncpg.Record]:
        """The newest rows, the read that a cut costs."""
        return list(await self.connections[0].fetch(LAST, session, limit))

    async def read_all(self, session: uuid.UUID) -> int:
        """Every payload as text, joined as lines; returns the bytes."""
        rows = await self.connections[0].fetch(ALL, session)
        return len("\n".join([row[0] for row in rows]).encode())

    async def close(self) -> None:
        for connection in self.connections:
            await connection.close()


async def copied(connection: asyncpg.Connection, query: str) -> int:
    """`COPY (query) TO STDOUT` to nowhere: what the server and the driver can hand out. Returns the bytes."""
    size = 0

    async def count_bytes(data: bytes) -> None:
        nonlocal size
        size += len(data)

    await connection.copy_from_query(query, output=count_bytes)
    return size


async def open_table(connect: Callable[[], Awaitable[asyncpg.Connection]], callers: int) -> BareTable:
    """Makes the table anew and one connection a caller."""
    connections = [await connect() for _ in range(callers)]
    await connections[0].execute(TABLE)
    return BareTable(connections, [uuid.uuid4() for _ in range(callers)])
