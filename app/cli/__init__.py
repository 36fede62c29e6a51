"""The topmost floor: the command line, one file a command, and what they share (`console`, `database`).

Says what people want in the terms of the services below; holds no rule of the ledger. Nothing imports it. Each command's
module is imported when it is named, so that `--help` and a start do not pay for what they do not use.

Exit codes: 0 done · 1 done, and something was found or lost that should not have been · 2 wrong usage or configuration ·
3 somebody else holds the data folder or the port · 4 the database or the service cannot be reached · 130 interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from app.cli.console import DONE, INTERRUPTED, Console, Failure

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("app.cli.serve", "run the service, with an embedded Postgres unless a database is named"),
    "migrate": ("app.cli.migrate", "bring a database's schema up to date"),
    "keys": ("app.cli.keys", "make, list and revoke API keys"),
    "import": ("app.cli.import_sessions", "read sessions from files of this or another program"),
    "export": ("app.cli.export_session", "write a session to a file"),
    "models": ("app.cli.models", "list what is known of models, and how well their tokens were estimated"),
    "verify": ("app.cli.verify", "check the digest chain and the rules of every session"),
}
EXIT_CODES = (
    "exit codes: 0 done; 1 done, but something is wrong or was lost; 2 wrong usage or configuration; "
    "3 the data folder or the port is in use; 4 the database or the service cannot be reached; 130 interrupted"
)


class Command(Protocol):
    """What each command's module offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's own arguments."""

    def run(self, arguments: argparse.Namespace, console: Console) -> int:
        """Does it; returns the exit code. Raises `Failure` for what a person can mend."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="context-ledger", description="A ledger of sessions, and what a model sees of them.", epilog=EXIT_CODES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, meaning) in COMMANDS.items():
        commands.add_parser(name, help=meaning, add_help=False)
    return parser


def _command_parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"context-ledger {name}", description=COMMANDS[name][1][0].upper() + COMMANDS[name][1][1:] + ".")
    parser.epilog = EXIT_CODES
    parser.add_argument("--config", metavar="FILE", help="settings in TOML (default: context-ledger.toml where it exists); environment variables win")
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout, for programs")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; argparse itself exits with 0 for `--help` and 2 for wrong usage."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen, rest = _parser().parse_known_args(words[:1])[0], words[1:]
    parser = _command_parser(chosen.command)
    command: Command = importlib.import_module(COMMANDS[chosen.command][0])
    command.configure(parser)
    arguments = parser.parse_args(rest)
    console = Console(json=arguments.json)
    try:
        return command.run(arguments, console)
    except Failure as failure:
        console.failed(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        console.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read stdout has enough; a second failure while Python ends is of no use to anybody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
