"""What the fake providers share: a plain ASGI app on a real socket that reads bodies, plays streams in pieces and fails on demand.

What a provider asks of a body, and the shape of its errors, is each fake's own.
"""

import asyncio
import json
import socket
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import uvicorn

from app.config.secret import Secret
from app.config.upstreams import Timeouts, Upstream

PIECE_BYTES = 700


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came. The path is decoded and has no query, `raw_path` is not decoded; names of headers are in lower case."""

    method: str
    path: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes

    def document(self) -> Any:
        """The body as JSON; None for one that is none."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one answer to a body that is in order.

    With `status`, an error in the provider's shape stands in place of the answer: `kind` is its name for it (None: the usual one of that
    status). Else the stream stops at `stop_at_byte` (None: it does not stop), and `then` the connection is dropped, the answer ends
    as if it were whole, or an error event of that `kind` ends it, at the last border between events before that byte. `pause_seconds` is
    waited before each piece.
    """

    status: int | None = None
    kind: str | None = None
    words: str = "Made to fail."
    headers: Mapping[str, str] = field(default_factory=dict)
    stop_at_byte: int | None = None
    then: Literal["drop", "end", "error"] = "drop"
    pause_seconds: float = 0.0


class FakeServer(ABC):
    """`streams` are played one a request, the last one again and again; of `faults`, each request takes the first, if there is one.

    `served` are the bodies that passed, `refused` those that did not, with what was wrong, `failed` those that a fault's status met.
    """

    dialect: ClassVar[str]
    key: ClassVar[str]
    segment: ClassVar[str] = "/v1"
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    piece_bytes: int = PIECE_BYTES

    def __init__(self, streams: Sequence[bytes] = (), url: str = "") -> None:
        self.streams = list(streams)
        self.url = url
        self.faults: list[Fault | None] = []
        self.served: list[Any] = []
        self.refused: list[tuple[Any, list[Any]]] = []
        self.failed: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", scope["type"]
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        await self.answer(Request(scope["method"], scope["path"], scope["raw_path"].decode("latin-1"), query, headers, await _read(receive)), send)

    @abstractmethod
    async def answer(self, request: Request, send: Any) -> None:
        """Answers one request, whatever its path."""

    @abstractmethod
    async def fail(self, send: Any, fault: Fault) -> None:
        """Answers with the fault's status and headers, in the provider's error shape."""

    @abstractmethod
    def error_event(self, fault: Fault) -> bytes:
        """The event that tells of an error in the middle of a stream."""

    def border(self, stream: bytes, at: int) -> int:
        """The end of the last whole event of `stream[:at]`; of server-sent events unless a fake says otherwise."""
        return stream.rfind(b"\n\n", 0, at) + 2 if b"\n\n" in stream[:at] else 0

    def next_stream(self) -> bytes:
        """The stream of the request that was just put among `served`."""
        return self.streams[min(len(self.served), len(self.streams)) - 1]

    def next_fault(self) -> Fault | None:
        return self.faults.pop(0) if self.faults else None

    async def serve(self, send: Any, body: Any, headers: Mapping[str, str], write: Callable[[], bytes] | None = None) -> None:
        """Answers a body that is in order, unless the next fault forbids it: with what `write` gives, or with the next stream."""
        fault = self.next_fault()
        if fault is not None and fault.status is not None:
            self.failed.append(body)
            await self.fail(send, fault)
            return
        self.served.append(body)
        await self.play(send, write() if write else self.next_stream(), {"content-type": self.stream_type, **headers}, fault or Fault())

    async def play(self, send: Any, stream: bytes, headers: Mapping[str, str], fault: Fault) -> None:
        """A stream in pieces that do not heed the borders of events."""
        stopped = fault.stop_at_byte is not None and fault.stop_at_byte < len(stream)
        if stopped:
            stream = stream[: fault.stop_at_byte]
            if fault.then == "error":
                stream = stream[: self.border(stream, len(stream))] + self.error_event(fault)
        await _start(send, 200, headers)
        for at in range(0, len(stream), self.piece_bytes):
            await asyncio.sleep(fault.pause_seconds)
            await send({"type": "http.response.body", "body": stream[at : at + self.piece_bytes], "more_body": True})
        if not (stopped and fault.then == "drop"):  # an app that returns early makes the server drop the connection
            await send({"type": "http.response.body", "body": b""})

    def upstream(self, name: str | None = None, **more: Any) -> Upstream:
        """This endpoint as the operator would configure it, by default under its dialect's name."""
        facts: dict[str, Any] = {"retries_max": 0, "timeouts": Timeouts(connect_seconds=5, idle_seconds=30)}
        key = Secret(self.key)
        return Upstream(name or self.dialect, self.dialect, f"{self.url}{self.segment}", key, allow_private_network=True, **(facts | more))


class Servable(Protocol):
    """An ASGI app that wants to know where it is served."""

    url: str

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


Fake = TypeVar("Fake", bound=Servable)


async def reply(send: Any, status: int, document: Any, headers: Mapping[str, str] | None = None) -> None:
    """A whole answer in JSON."""
    await _start(send, status, {"content-type": "application/json", **(headers or {})})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})


async def _start(send: Any, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def _read(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


@asynccontextmanager
async def serving(fake: Fake) -> AsyncIterator[Fake]:
    """The app on a free port of this machine."""
    # The protocol is named so that the event loop switches Nagle's algorithm off; without it each answer waits 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    fake.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(fake, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listener]))  # the socket listens already: who connects early waits
    try:
        yield fake
    finally:
        server.should_exit = True
        await task
        listener.close()
