"""How the commands speak: results on stdout, everything else on stderr; a moving bar on a terminal only."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from app.entries import lossless

DONE, WRONG, USAGE, IN_USE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130
PLAIN_LINE_SECONDS = 5.0


class Failure(Exception):
    """Something that a person can mend: what happened and what to do, in one or two sentences, without a traceback."""

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class Progress(Protocol):
    """Long work says how far it is."""

    def advance(self, done: int) -> None:
        """`done` more of what the bar counts."""


class _PlainProgress:
    """For logs and pipes: a line every few seconds, and nothing for work that is quick."""

    def __init__(self, label: str, total: int | None, stream: TextIO) -> None:
        self._label = label
        self._total = total
        self._stream = stream
        self._done = 0
        self._said = time.monotonic()

    def advance(self, done: int) -> None:
        self._done += done
        if time.monotonic() - self._said > PLAIN_LINE_SECONDS:
            self._said = time.monotonic()
            of = "" if self._total is None else f" of {self._total}"
            print(f"{self._label}: {self._done}{of}", file=self._stream, flush=True)


class Console:
    """stdout and stderr of one command. `json`: stdout gets exactly one JSON document, by `result`."""

    def __init__(self, json: bool = False) -> None:
        self.json = json

    def say(self, text: str) -> None:
        """A line for people, on stderr."""
        print(text, file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        """A step of something that usually goes without saying: shown on a terminal alone."""
        if sys.stderr.isatty():
            self.say(text)

    def show(self, text: str) -> None:
        """A line of the result for people; nothing where a program reads."""
        if not self.json:
            print(text)

    def result(self, value: Any) -> None:
        """The result for programs; nothing where a person reads."""
        if self.json:
            print(lossless.dumps(value))

    def failed(self, failure: Failure) -> None:
        """Why the command ends early."""
        if self.json:
            print(lossless.dumps({"error": {"detail": failure.message, "exit_code": failure.exit_code}}))
        self.say(f"context-ledger: {failure.message}")

    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Progress]:
        """Counts long work; the bar is drawn where stderr is a terminal."""
        if self.json or not sys.stderr.isatty():
            yield _PlainProgress(label, total, sys.stderr)
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress as Bar

        with Bar(console=RichConsole(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield _RichProgress(bar, task)


class _RichProgress:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self, done: int) -> None:
        self._bar.advance(self._task, done)
