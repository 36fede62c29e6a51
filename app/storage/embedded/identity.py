"""Which user PostgreSQL runs as: it refuses root, and initdb refuses a user without an entry in the account list.

As an ordinary user: that user. As root, or as a user that has no account (a container's arbitrary uid): that same user, seen from a
user namespace under another number, so that no file changes hands and no parent folder is opened. Where user namespaces are off
(most container sandboxes), root becomes an unprivileged account and hands it the server's own folder.
"""

import os
import pwd
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.storage.embedded.errors import NoUnprivilegedUser

Way = Literal["own", "namespace", "account"]
LAUNCH = Path(__file__).with_name("launch.py")
OVERFLOW_UID = 65534  # in a namespace the kernel shows every user it does not know under this number
PROBE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the server is: `uid`:`gid` inside its way, `owner` of its files outside, `peer` the service's user name as the server sees it."""

    way: Way
    uid: int
    gid: int
    owner: tuple[int, int]
    peer: str

    def command(self, death_signal: signal.Signals, program: list[str]) -> list[str]:
        """The command line that runs `program` as this user, to be started by the thread whose end sends it `death_signal`."""
        numbers = [str(number) for number in (self.uid, self.gid, os.getpid(), death_signal.value)]
        return [sys.executable, "-I", "-S", str(LAUNCH), self.way, *numbers, *program]


def choose_identity() -> Identity:
    """The first way that is open here. Raises NoUnprivilegedUser."""
    mine = _account(os.geteuid())
    if os.geteuid() != 0 and mine is not None:
        return Identity("own", mine.pw_uid, mine.pw_gid, (os.geteuid(), os.getegid()), mine.pw_name)
    namespace = namespace_identity()
    if namespace is not None and _open(namespace):
        return namespace
    if os.geteuid() != 0:
        raise NoUnprivilegedUser(f"uid {os.geteuid()} has no entry in the account list, and user namespaces are off")
    return account_identity()


def namespace_identity() -> Identity | None:
    """The present user under the number of an account that is neither root nor the overflow user; None where no such account exists."""
    shown = _first_account(("postgres", "daemon", "bin"), exclude=(0, OVERFLOW_UID))
    if shown is None:
        return None
    return Identity("namespace", shown.pw_uid, shown.pw_gid, (os.geteuid(), os.getegid()), shown.pw_name)


def account_identity() -> Identity:
    """An unprivileged account for a service that runs as root. Raises NoUnprivilegedUser."""
    chosen = _first_account(("postgres", "nobody"), exclude=(0,))
    root = _account(0)
    if chosen is None or root is None:
        raise NoUnprivilegedUser("the account list holds no user but root")
    return Identity("account", chosen.pw_uid, chosen.pw_gid, (chosen.pw_uid, chosen.pw_gid), root.pw_name)


def _open(identity: Identity) -> bool:
    try:
        probe = subprocess.run(
            identity.command(signal.SIGKILL, []), stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


def _account(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _first_account(names: tuple[str, ...], exclude: tuple[int, ...]) -> pwd.struct_passwd | None:
    accounts = [account for account in pwd.getpwall() if account.pw_uid not in exclude]
    by_name = {account.pw_name: account for account in accounts}
    return next((by_name[name] for name in names if name in by_name), accounts[0] if accounts else None)
