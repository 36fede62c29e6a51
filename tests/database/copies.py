"""Databases made as copies of the template, which costs some ten milliseconds."""

import contextlib
import itertools
import os
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg

from tests.database.shared import Server

_numbers = itertools.count(1)


def with_database(url: str, name: str) -> str:
    """The same URL for another database of that server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


async def connect(url: str) -> asyncpg.Connection:
    """A plain connection; no statement cache, so that a pooler may stand between."""
    return await asyncpg.connect(url, statement_cache_size=0, timeout=30)


@contextlib.asynccontextmanager
async def copy_of_template(server: Server) -> AsyncIterator[str]:
    """The name of a fresh database; dropped afterwards, whoever is still connected."""
    name = f"{server.template}_{os.getpid()}_{next(_numbers)}"
    await statement(server, f'CREATE DATABASE "{name}" TEMPLATE "{server.template}" STRATEGY FILE_COPY')
    try:
        yield name
    finally:
        await statement(server, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def statement(server: Server, sql: str) -> None:
    """One statement as the admin, on the server's first database."""
    admin = await connect(server.admin_url)
    try:
        await admin.execute(sql)
    finally:
        await admin.close()
