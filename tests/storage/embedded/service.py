"""A stand-in for the service, to be killed: `python -m tests.storage.embedded.service FOLDER [WAY]`.

Prints one JSON line (pid, postmaster, url, admin_url, seconds) when its Postgres serves, or `{"error": …}`; ends when its stdin does.
"""

import json
import os
import sys
import time
from pathlib import Path

from app.storage.embedded import EmbeddedPostgres, EmbeddedPostgresError
from app.storage.embedded.identity import account_identity, choose_identity, namespace_identity

WAYS = {"chosen": choose_identity, "namespace": namespace_identity, "account": account_identity}


def main(folder: Path, way: str = "chosen") -> None:
    """Serves `folder`."""
    began = time.monotonic()
    server = EmbeddedPostgres(folder, identity=WAYS[way]())
    try:
        urls = server.start_blocking(lambda line: print(line, file=sys.stderr, flush=True))
    except EmbeddedPostgresError as error:
        print(json.dumps({"error": str(error), "type": type(error).__name__}), flush=True)
        return
    note = {"pid": os.getpid(), "postmaster": server.postmaster_pid, "url": urls.app_url, "admin_url": urls.migrate_url}
    print(json.dumps({**note, "seconds": time.monotonic() - began}), flush=True)
    sys.stdin.read()
    server.stop_blocking()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
