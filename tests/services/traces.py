"""Words for tests of erasure: what is left of a text anywhere in the database, and whether a short one can be confirmed from it."""

import hashlib
from collections.abc import Iterable
from typing import Any

import asyncpg

from tests.database.copies import connect


async def rows_of(url: str) -> list[tuple[str, list[Any]]]:
    """Every row of every table of the schema, as a superuser reads it: the table, and the values."""
    admin: asyncpg.Connection = await connect(url)
    try:
        tables = await admin.fetch("SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p')")
        found = []
        for (table,) in tables:
            found += [(table, list(row.values())) for row in await admin.fetch(f'SELECT * FROM ledger."{table}"')]
        return found
    finally:
        await admin.close()


def spelled(value: Any) -> bytes:
    """A value of a column as bytes: text as UTF-8, bytes as they are."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


async def tables_with(url: str, text: str) -> set[str]:
    """The tables that hold the text in some column."""
    return {table for table, values in await rows_of(url) for value in values if text.encode() in spelled(value)}


async def confirmed(url: str, guesses: Iterable[bytes], leave_out: Iterable[bytes] = ()) -> set[str]:
    """The tables in which the plain digest of a guess stands, in hex or as bytes, whole or in a text, and the digest under each stored salt.

    `leave_out`: digests that stay by contract.
    """
    rows = await rows_of(url)
    salts = [value for table, values in rows if table == "entries" for value in values if isinstance(value, bytes) and len(value) == 16]
    made = {hashlib.sha256(salt + guess).digest() for guess in guesses for salt in (b"", *salts)} - set(leave_out)
    needles = [*made, *[one.hex().encode() for one in made]]
    return {table for table, values in rows for value in values for needle in needles if needle in spelled(value)}
