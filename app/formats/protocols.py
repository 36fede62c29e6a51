"""The directions of a format, as protocols, and what they exchange."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from app.context.draft import NeutralRequest
from app.entries.deltas import Delta
from app.entries.messages import Body
from app.models.wire_rules import WireRules


class Pointer(NamedTuple):
    """Where a piece of the neutral list stands in the body: RFC 6901 `pointer` → message `source`, and `part` of it or None for all of it.

    A tuple, because a body has several hundred of them and a frozen dataclass takes three times as long to make.
    """

    pointer: str
    source: int
    part: int | None = None


@dataclass(frozen=True, slots=True)
class WireLoss:
    """Something of the neutral request that the wire format cannot say. `what` and `why` are words of a closed set; never content.

    `source` and `part` name a neutral message and its part; None for what belongs to the request as a whole.
    """

    what: str
    why: str
    source: int | None = None
    part: int | None = None


@dataclass(frozen=True)
class Written:
    """A serialised request. `document` is the tree that `body` spells. `sections[i]` and `tools[i]` are the pointers of system section and tool i."""

    body: bytes
    document: Mapping[str, Any] = field(compare=False, repr=False)
    locate: Callable[[], tuple[Pointer, ...]] = field(compare=False, repr=False)
    losses: tuple[WireLoss, ...] = ()
    sections: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @cached_property
    def pointers(self) -> tuple[Pointer, ...]:
        """Of each message, and of each part that was sent. Made when first asked for: a call needs none of the several hundred, a report all."""
        return self.locate()


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a body breaks. `detail` names limits and ids of rules, never content."""

    pointer: str
    code: str
    detail: str


class UpstreamFault(Exception):
    """A provider refused or failed. `detail` is our own sentence: no prompt text, no secret, no vendor prose.

    code               upstream-error, upstream-auth, upstream-rate-limited or upstream-overflow
    retryable          whether the same bytes may be sent again
    retry_after_ms     how long the provider asked to wait; None where it did not say
    http_status        None where no response came
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        retryable: bool = False,
        retry_after_ms: int | None = None,
        http_status: int | None = None,
        provider_request_id: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.http_status = http_status
        self.provider_request_id = provider_request_id


class StreamReader(Protocol):
    """Reads one answer's stream. Bytes may be cut anywhere; after `Finished` or `StreamFailed` nothing more comes out."""

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""

    def end(self) -> list[Delta]:
        """The rest, once the connection is closed: `Finished`, or `StreamFailed("stream-truncated")` without a terminal mark."""


class StreamWriter(Protocol):
    """Writes one answer's stream, the inverse of `StreamReader` for everything that the dialect can say."""

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta; empty where the dialect has no word for it."""

    def end(self) -> bytes:
        """The terminal frames."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an import changed or could not keep. `source` names the place (`line 12`, `message 3`), `what` a field, `why` a reason."""

    source: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One entry of an import. `body` is decoded, or the exact JSON text from a file of our own format, of any kind.

    `attributes` is JSON text or None; media bytes lie in the session's `blobs`. The last four are set by our own format alone.
    """

    kind: str
    body: Body | str
    at: datetime | None = None
    attributes: str | None = None
    hidden: bool = False
    include_in_context: bool = True
    seq: int | None = None
    turn: int | None = None
    agent: str | None = None
    invocation: int = 0


@dataclass(slots=True)
class ImportedSession:
    """One session of a file, in order.

    `kept` counts the source records that became entries, whole or in part; every other record has a note in `lost`.
    `blobs`: digest → (media type, bytes). `facts` is what our own format says of the session besides.
    """

    title: str | None = None
    external_id: str | None = None
    entries: list[ImportedMessage] = field(default_factory=list)
    kept: int = 0
    changed: list[Note] = field(default_factory=list)
    lost: list[Note] = field(default_factory=list)
    blobs: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class UnreadableImport(ValueError):
    """The file as a whole is not of the format that was named. The message says where and never repeats content."""


class Validate(Protocol):
    """Holds a parsed body against a dialect's rules: all that it breaks. `rules`: a target's own, where they differ from the defaults."""

    def __call__(self, body: Mapping[str, Any], rules: WireRules = ..., /) -> list[Violation]: ...


Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "aws"]
"""How a key is sent: as `Authorization: Bearer`, in a header of that name, or by signing (AWS; a bearer key where there is one)."""


@dataclass(frozen=True, slots=True)
class Counting:
    """A provider's own endpoint for the tokens of a request.

    `path(model)` is what follows the base URL, `body(model, document)` makes its request of the tree of a model call's, which need not
    name the model, and `read` its answer's count.
    """

    path: Callable[[str], str]
    body: Callable[[str, Mapping[str, Any]], bytes]
    read: Callable[[bytes], int | None]


@dataclass(frozen=True, slots=True)
class Format:
    """One dialect's directions.

    `path(model)` is what follows the base URL, a query included. `rules_for(model)` are the dialect's rules for a model, before any
    quirk. `new_reader(producer)` and `new_writer(model, stream_id, created_epoch_seconds)` make one per stream.
    `write_error(status, code)` is the body of a refusal as a server of the dialect spells it, `code` being the vendor's word or None.
    `prompt_order` names the body's keys in the order in which the provider builds its prompt from them, for `formats/prefix.py`.
    `headers` go with every request, `accept` is what the stream comes as; `counting` is None where no endpoint counts.
    """

    dialect: str
    path: Callable[[str], str]
    rules_for: Callable[[str], WireRules]
    write_request: Callable[[NeutralRequest, Mapping[str, bytes]], Written]
    new_reader: Callable[[str], StreamReader]
    new_writer: Callable[[str, str, int], StreamWriter]
    read_error: Callable[[int, Mapping[str, str], bytes], UpstreamFault]
    write_error: Callable[[int, str | None], bytes]
    validate: Validate
    auth: Auth = "bearer"
    accept: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    counting: Counting | None = None
    prompt_order: tuple[str, ...] = ("tools", "messages")


Importer = Callable[[Iterable[bytes]], Iterator[ImportedSession]]
"""Reads a file, given as pieces of bytes cut anywhere. Raises `UnreadableImport`."""
