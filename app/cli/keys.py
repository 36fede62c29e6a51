"""`context-ledger keys create | list | revoke`: API keys of a database, for `CONTEXT_LEDGER_AUTH=keys`."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from app.cli.configured import read_settings
from app.cli.console import DONE, USAGE, WRONG, Console, Failure
from app.cli.database import database_url, open_database
from app.entries.errors import Invalid
from app.entries.wire import timestamp
from app.services.keys import Keys
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT, SCOPES
from app.storage.rows import KeyRow

Result = TypeVar("Result")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the three actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)  # the command's own, said after the action
    shared.add_argument("--config", metavar="FILE", help=argparse.SUPPRESS)
    shared.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    create = actions.add_parser("create", parents=[shared], help="make a key and print it, this once")
    create.add_argument("name", help="what the key is for")
    create.add_argument(
        "--scope", action="append", choices=SCOPES, dest="scopes", help="what it may do; may be repeated (default: everything but admin)"
    )
    tenant = create.add_mutually_exclusive_group()
    tenant.add_argument("--tenant", type=UUID, help="the tenant it belongs to (default: the one of `auth = local` and of the bootstrap key)")
    tenant.add_argument("--new-tenant", action="store_true", help="a tenant of its own")
    listing = actions.add_parser("list", parents=[shared], help="list keys, without their secrets")
    listing.add_argument("--tenant", type=UUID, help="only of this tenant (default: all)")
    revoke = actions.add_parser("revoke", parents=[shared], help="end a key for good")
    revoke.add_argument("id", type=UUID, help="its id, as `list` shows it")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """One action. Exit code 1 where there is no key to revoke."""
    if arguments.action == "create":
        return _create(arguments, console)
    if arguments.action == "list":
        rows = _with_keys(arguments, console, lambda keys: _all(keys, arguments.tenant))
        console.result([_json(row) for row in rows])
        for row in rows:
            ended = "" if row.revoked_at is None else f"  revoked {timestamp(row.revoked_at)}"
            console.show(f"{row.key_id}  tenant {row.tenant}  {row.name}  {' '.join(row.scopes)}{ended}")
        return DONE
    revoked = _with_keys(arguments, console, lambda keys: keys.revoke(None, arguments.id))
    console.result({"id": str(arguments.id), "revoked": revoked})
    console.show("revoked" if revoked else "there is no key of that id")
    return DONE if revoked else WRONG


def _create(arguments: argparse.Namespace, console: Console) -> int:
    tenant = new_uuid() if arguments.new_tenant else arguments.tenant or LOCAL_TENANT
    scopes = arguments.scopes or [scope for scope in SCOPES if scope != "admin"]
    try:
        row, token = _with_keys(arguments, console, lambda keys: keys.create(tenant, arguments.name, scopes))
    except Invalid as error:
        raise Failure(error.faults[0].detail, USAGE) from None
    console.result({**_json(row), "key": token.reveal()})
    console.show(token.reveal())
    console.say(f"key {row.key_id} of tenant {row.tenant}; it is not shown again")
    return DONE


async def _all(keys: Keys, tenant: UUID | None) -> list[KeyRow]:
    found = page = await keys.list(tenant)
    while page:
        page = await keys.list(tenant, after=found[-1].key_id)
        found = [*found, *page]
    return found


def _with_keys(arguments: argparse.Namespace, console: Console, work: Callable[[Keys], Awaitable[Result]]) -> Result:
    async def opened(url: str) -> Result:
        async with open_database(url) as store:
            return await work(Keys(store.keys))

    with database_url(read_settings(arguments), console) as url:
        return asyncio.run(opened(url))


def _json(row: KeyRow) -> dict[str, Any]:
    revoked = None if row.revoked_at is None else timestamp(row.revoked_at)
    return {
        "id": str(row.key_id),
        "tenant": str(row.tenant),
        "name": row.name,
        "scopes": list(row.scopes),
        "created_at": timestamp(row.created_at),
        "revoked_at": revoked,
    }
