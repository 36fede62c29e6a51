"""Several serving processes on one socket: started, replaced when one dies, ended together."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

REPLACE_WAIT_SECONDS_MAX = 10.0
HEALTHY_SECONDS = 30.0
LOOK_SECONDS = 0.2

_log = logging.getLogger(__name__)


class Supervisor:
    """Owns the workers. Each one's stdin is a pipe from here, so that it ends when this process does, whatever the way."""

    def __init__(self, listening: socket.socket, workers: int, end_seconds: float) -> None:
        self._listening = listening
        self._count = workers
        self._end_seconds = end_seconds
        self._workers: list[subprocess.Popen[bytes]] = []
        self._ending = False

    def run(self, ready: Callable[[], None]) -> bool:
        """Serves until SIGTERM or SIGINT; `ready` is called once every worker is. False where a worker never came up."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._workers = [self._start() for _ in range(self._count)]
            if not all(_came_up(worker) for worker in self._workers):
                return self._ending
            ready()
            self._watch()
            return True
        finally:
            self._finish()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self) -> subprocess.Popen[bytes]:
        handle = self._listening.fileno()
        words = [sys.executable, "-m", "app.cli.worker", str(handle)]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(handle,), env=os.environ.copy())

    def _end(self, number: int, frame: FrameType | None) -> None:
        """The first signal is handed on once, the second kills."""
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGKILL if self._ending else signal.SIGTERM)
        self._ending = True

    def _watch(self) -> None:
        wait, healthy_from = LOOK_SECONDS, time.monotonic()
        while not self._ending:
            time.sleep(LOOK_SECONDS)
            for place, worker in enumerate(self._workers):
                if worker.poll() is None or self._ending:
                    continue
                _log.error("worker %d ended with code %s; starting another", worker.pid, worker.returncode)
                if time.monotonic() - healthy_from > HEALTHY_SECONDS:
                    wait = LOOK_SECONDS
                time.sleep(wait)
                wait, healthy_from = min(REPLACE_WAIT_SECONDS_MAX, wait * 2), time.monotonic()
                self._workers[place] = self._start()

    def _finish(self) -> None:
        self._ending = True
        end = time.monotonic() + self._end_seconds
        for worker in self._workers:
            if worker.poll() is None:
                worker.terminate()
        for worker in self._workers:
            try:
                worker.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def _came_up(worker: subprocess.Popen[bytes]) -> bool:
    assert worker.stdout is not None
    return worker.stdout.readline().strip() == b"ready"
