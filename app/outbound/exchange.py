"""One call as it leaves, and what comes back, in words that providers and the scripted upstream share."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from app.config.upstreams import Upstream
from app.entries.deltas import Delta
from app.formats.protocols import Format, StreamReader, UpstreamFault
from app.models.resolve import ModelChoice


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One model call, ready to be sent: every attempt of it sends these bytes and no others (S0-09).

    `new_reader` makes the reader of one attempt. `ordinal` counts the calls of that purpose in the session, from 0; only the
    scripted upstream looks at it and at `model.params`.
    """

    upstream: Upstream
    format: Format
    model: ModelChoice
    body: bytes
    new_reader: Callable[[], StreamReader]
    ordinal: int = 0
    purpose: Literal["main", "compaction"] = "main"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response that began well: its status is 2xx. `chunks` are the bytes of its body as they arrive, cut anywhere."""

    http_status: int
    provider_request_id: str | None
    chunks: AsyncIterator[bytes]


class Channel(Protocol):
    """A way to one kind of upstream."""

    def open(self, outgoing: Outgoing, attempt: int) -> AbstractAsyncContextManager[Reply]:
        """One attempt, numbered from 1. Raises `UpstreamFault` on entry and while its chunks are read; leaving it closes the connection."""


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One network try of a call. Times in milliseconds from `started_at`; None where it did not come to that."""

    n: int
    status: Literal["running", "completed", "failed", "cancelled"]
    http_status: int | None
    provider_request_id: str | None
    started_at: datetime
    first_delta_ms: int | None = None
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """Attempt `n` begins, from 1: from here on a provider may have seen the body."""

    n: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The provider accepted the attempt and will stream."""

    n: int
    http_status: int
    provider_request_id: str | None


@dataclass(frozen=True, slots=True)
class Deltas:
    """What the stream said next; never empty. The last one of a call that succeeded holds `Finished`."""

    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """Attempt `n` failed. `retry_in_ms`: the same bytes are sent again after that wait; None: the call failed, and nothing follows."""

    n: int
    fault: UpstreamFault
    retry_in_ms: int | None


Item = AttemptStarted | Opened | Deltas | AttemptFailed
