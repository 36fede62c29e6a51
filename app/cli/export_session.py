"""`context-ledger export`: one session to a file or stdout, streamed in constant memory."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote
from uuid import UUID

from app.cli.configured import read_settings
from app.cli.console import DONE, USAGE, WRONG, Console, Failure, Progress
from app.cli.database import database_url, open_database
from app.cli.remote import add_remote_arguments, remote_of
from app.entries.errors import LedgerError, NotFound
from app.services.scope import LOCAL_TENANT
from app.services.transfers import EXPORT_FORMATS, Exports


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds what to write and where."""
    parser.add_argument("session", help="the session's id")
    parser.add_argument("--format", default="jsonl", choices=EXPORT_FORMATS, help="jsonl (default) holds everything and can be imported again")
    parser.add_argument("--output", metavar="FILE", type=Path, help="a file, replaced when it is whole (default: stdout)")
    parser.add_argument("--tenant", type=UUID, default=LOCAL_TENANT, help="whose session (default: the tenant of `auth = local`)")
    add_remote_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Writes the session. With `--json` the document says how many bytes went where, so the output has to be a file then."""
    if console.json and arguments.output is None:
        raise Failure("--json needs --output: stdout cannot hold both.", USAGE)
    remote = remote_of(arguments)
    with console.progress("bytes written") as progress, _output(arguments.output) as output:
        if remote is not None:
            path = f"/sessions/{quote(arguments.session, safe='')}/export?format={arguments.format}"
            written = remote.get(path, _counting(output, progress))
        else:
            with database_url(read_settings(arguments), console) as url:
                written = asyncio.run(_exported(url, arguments, output, progress))
    console.result({"session": arguments.session, "format": arguments.format, "bytes": written, "output": str(arguments.output)})
    return DONE


async def _exported(url: str, arguments: argparse.Namespace, output: BinaryIO, progress: Progress) -> int:
    written = 0
    write = _counting(output, progress)
    try:
        async with open_database(url) as store:
            async for piece in Exports(store).export(arguments.tenant, arguments.session, arguments.format):
                write(piece)
                written += len(piece)
    except NotFound as error:
        raise Failure(f"{arguments.session}: {error.detail}", USAGE) from None
    except LedgerError as error:
        raise Failure(error.detail, WRONG) from None
    return written


def _counting(output: BinaryIO, progress: Progress) -> Callable[[bytes], None]:
    def write(piece: bytes) -> None:
        output.write(piece)
        progress.advance(len(piece))

    return write


@contextmanager
def _output(path: Path | None) -> Iterator[BinaryIO]:
    """stdout, or a file beside the named one that takes its name once it is whole."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("wb") as file:
            yield file
        os.replace(unfinished, path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", USAGE) from None
    finally:
        unfinished.unlink(missing_ok=True)
