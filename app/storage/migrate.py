"""Brings a database to the newest schema. Safe to run again and from several processes at once; whoever comes second finds it done."""

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from app.entries.errors import LedgerError
from app.storage.faults import RefusedServer, translated
from app.storage.pool import connected

SCHEMA = Path(__file__).parent / "schema"
"""The schema as it is meant to be, one object a file, in the order of the names."""

ALWAYS = ("000_roles.sql", "001_ledger.sql", "002_role_settings.sql")
"""Files that change nothing where all is in place. Roles belong to the cluster, so every run looks for them."""

_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_LOCK = 0x6C6564676572
_TRIES_MAX = 5
_SCRAM_ROUNDS = 4096

_log = logging.getLogger(__name__)


async def migrate(url: str, *, app_password: str | None = None, report: Callable[[str], None] | None = None) -> str:
    """Migrates the database of `url` (`postgresql://…`; its role may create roles and schemas) and gives the revision reached.

    All or nothing, in one transaction under an advisory lock. `app_password` becomes the password of `ledger_app`; only a hash of it
    is sent. `report` hears one line a step. Raises `RefusedServer` for a server that is not UTF-8 or older than 15, `Unavailable` when
    nothing answers.
    """
    tell = report or _log.info
    for attempt in range(_TRIES_MAX):
        try:
            return await _migrate(url, app_password, tell)
        except asyncpg.InternalServerError:  # another database of the cluster touched a shared role at the same time
            if attempt == _TRIES_MAX - 1:
                raise
        except LedgerError:
            raise
        await asyncio.sleep(0.05 * (attempt + 1))
    raise AssertionError("the loop returns or raises")


async def _migrate(url: str, app_password: str | None, tell: Callable[[str], None]) -> str:
    connect = partial(connected, url, "context-ledger-migrate")
    engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)
    fault: LedgerError | None
    try:
        async with engine.begin() as connection:
            return await _upgrade(connection, app_password, tell)
    except (OSError, TimeoutError) as error:
        fault = translated(error)
    finally:
        await engine.dispose()
    raise fault or AssertionError("an unreachable server is always translated")


async def _upgrade(connection: AsyncConnection, app_password: str | None, tell: Callable[[str], None]) -> str:
    tell("waiting for other migrations of this database")
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    encoding, version = (
        await connection.execute(text("SELECT current_setting('server_encoding'), current_setting('server_version_num')::int"))
    ).one()
    if encoding != "UTF8" or version < 150_000:
        raise RefusedServer(f"the server must be PostgreSQL 15 or later with encoding UTF8; this is {version // 10_000} with {encoding}")
    tell("checking roles and their settings")
    for name in ALWAYS:
        await run_script(connection, (SCHEMA / name).read_text(encoding="utf-8"))
    if app_password is not None:
        await run_script(connection, f"ALTER ROLE ledger_app PASSWORD '{scram_verifier(app_password)}'")
    await connection.execute(text("SET LOCAL ROLE ledger_owner"))
    await connection.run_sync(_run_alembic, tell)
    reached = (await connection.execute(text("SELECT version_num FROM ledger.alembic_version"))).scalar_one()
    tell(f"the schema is at {reached}")
    return str(reached)


async def run_script(connection: AsyncConnection, script: str) -> None:
    """Runs a file of several statements inside the connection's transaction."""
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    await driver.execute(script)


def _run_alembic(connection: Connection, tell: Callable[[str], None]) -> None:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["on_version_apply"] = lambda *, step, **_: tell(f"applying {step.up_revision_id} {step.up_revision.doc}")
    command.upgrade(config, "head")


def scram_verifier(password: str, salt: bytes | None = None) -> str:
    """What Postgres stores of a password (RFC 5803), so that the password itself is in no statement and no server log."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _SCRAM_ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    spelled = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_SCRAM_ROUNDS}:{spelled[0]}${spelled[1]}:{spelled[2]}"
