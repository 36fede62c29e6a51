"""Becomes a PostgreSQL program: the child's side of a start, run by path as a program of its own.

A program and not a `preexec_fn`, because the service has threads when it starts or restarts the server, and Python between fork and
exec can then deadlock. Standard library only; run with `python -I -S`.

    launch.py WAY UID GID PARENT SIGNAL PROGRAM [ARGUMENT…]

WAY own: run as we are. WAY namespace: enter a user namespace in which our own user has the ids UID and GID, so that PostgreSQL does
not see root while the kernel still gives it root's files (and none of root's capabilities). WAY account: become UID and GID, keeping
the one capability to pass through folders that this user may not read. Then SIGNAL is asked for when the thread that started us
ends, and the program runs. Exit status 125: the way is closed here, with a line on stderr.
"""

import ctypes
import os
import signal
import sys

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG, PR_SET_SECUREBITS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 28, 47, 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CAPABILITY_VERSION_3 = 0x20080522
CLOSED = 125

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Does what the module says; returns only by exec or SystemExit."""
    way, uid, gid, parent, number = arguments[0], *map(int, arguments[1:5])
    program = arguments[5:]
    try:
        if way == "namespace":
            enter_namespace(uid, gid)
        elif way == "account":
            become(uid, gid)
        os.umask(0o077)
        # A change of user clears the request, so it comes after. SIGINT is PostgreSQL's fast shutdown: never a loss.
        if sys.platform == "linux":
            _check(_libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0))
        if os.getppid() != parent:
            raise SystemExit(CLOSED)  # it died before we asked
        if program:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would hand that down
            os.execv(program[0], program)
    except OSError as error:
        print(f"launch: {way}: {error.strerror}", file=sys.stderr)
        raise SystemExit(CLOSED) from error


def enter_namespace(uid: int, gid: int) -> None:
    """A new user namespace in which the present user is `uid`:`gid`. Raises OSError where the kernel or a sandbox forbids it."""
    outside_uid, outside_gid = os.geteuid(), os.getegid()
    _check(_libc.unshare(CLONE_NEWUSER))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {outside_uid} 1"), ("gid_map", f"{gid} {outside_gid} 1")):
        handle = os.open(f"/proc/self/{name}", os.O_WRONLY)  # no text layer: it may import, from a folder that is out of reach by now
        os.write(handle, text.encode())
        os.close(handle)


def become(uid: int, gid: int) -> None:
    """Root only: become `uid`:`gid` for good, with the weakest capability at hand that passes through closed folders, if any."""
    permitted = _permitted()
    wanted = next((one for one in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE) if permitted >> one & 1), None)
    # Without this, access(2) as the new user ignores capabilities, and initdb asks with it whether it may run its programs.
    keep = wanted is not None and _libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if keep and wanted is not None:
        mask = 1 << wanted
        _set_capabilities(mask)
        _check(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, wanted, 0, 0))


def _permitted() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapPrm")), 0)


def _set_capabilities(mask: int) -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)  # effective, permitted, inheritable; low word, then high word
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(data)))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
