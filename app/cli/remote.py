"""A service elsewhere, over HTTP, for the commands that take `--url`. The key comes from a variable: a command line is seen by others."""

import argparse
import http.client
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.cli.console import UNREACHABLE, USAGE, WRONG, Failure

PIECE_BYTES = 2**20
ANSWER_BYTES_MAX = 64 * 2**20
WAIT_SECONDS = 600.0


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds `--url` and `--key-env`."""
    parser.add_argument("--url", help="a running service (http://host:port) instead of a database")
    parser.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the API key for --url")


@dataclass(frozen=True, slots=True)
class Remote:
    """One service."""

    url: str
    key: str | None

    def post(self, path: str, file: Path, progress: Callable[[int], None]) -> tuple[int, dict[str, Any]]:
        """Posts a file's bytes; returns the status and the JSON of the answer."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.stat().st_size), "Accept": "application/json"}
        with self._answer("POST", path, headers, _pieces(file, progress)) as response:
            return response.status, _document(response)

    def get(self, path: str, write: Callable[[bytes], None]) -> int:
        """Writes the body of an answer as it comes; returns its bytes. Raises `Failure` for a refusal."""
        written = 0
        with self._answer("GET", path, {}, None) as response:
            if response.status != 200:
                raise Failure(f"the service refused: {_document(response).get('detail', response.reason)}", WRONG)
            while piece := response.read(PIECE_BYTES):
                write(piece)
                written += len(piece)
        return written

    def _answer(self, method: str, path: str, headers: dict[str, str], body: Iterator[bytes] | None) -> http.client.HTTPResponse:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=WAIT_SECONDS)
        try:
            bearer = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
            connection.request(method, parts.path.rstrip("/") + path, body, {**headers, **bearer})
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Failure(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} cannot be reached: {type(error).__name__}", UNREACHABLE) from None


def remote_of(arguments: argparse.Namespace) -> Remote | None:
    """The service that `--url` names, or None. Raises `Failure` for a URL or a variable that is of no use."""
    if arguments.url is None:
        if arguments.key_env is not None:
            raise Failure("--key-env goes with --url.", USAGE)
        return None
    if urlsplit(arguments.url).scheme not in ("http", "https") or not urlsplit(arguments.url).hostname:
        raise Failure("--url takes http://host:port or https://…", USAGE)
    if arguments.key_env is not None and not os.environ.get(arguments.key_env):
        raise Failure(f"the variable {arguments.key_env} is not set", USAGE)
    return Remote(arguments.url, None if arguments.key_env is None else os.environ[arguments.key_env])


def _pieces(file: Path, progress: Callable[[int], None]) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            progress(len(piece))
            yield piece


def _document(response: http.client.HTTPResponse) -> dict[str, Any]:
    try:
        found = json.loads(response.read(ANSWER_BYTES_MAX))
    except ValueError:
        return {"detail": f"HTTP {response.status} without a JSON body"}
    return found if isinstance(found, dict) else {}
