"""What request writers share: losses, text as UTF-8 can say it, and the tree spelled as bytes once."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import orjson

from app.entries import lossless
from app.formats.protocols import WireLoss


class Writing:
    """One pass over a request. `scrub` is off at first: almost no text needs it, and the serialiser tells when one does."""

    __slots__ = ("losses", "scrub")

    def __init__(self, *, scrub: bool) -> None:
        self.scrub = scrub
        self.losses: list[WireLoss] = []

    def text(self, text: str, source: int | None = None, part: int | None = None) -> str:
        """The text as UTF-8 can say it: lone surrogates become U+FFFD with a loss."""
        if not self.scrub or text.isascii():
            return text
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if clean != text:
            self.losses.append(WireLoss("text", "lone_surrogate", source, part))
        return clean

    def value(self, value: Any, source: int | None = None, part: int | None = None) -> Any:
        """The same for a whole JSON value."""
        if not self.scrub:
            return value
        if isinstance(value, str):
            return self.text(value, source, part)
        if isinstance(value, Mapping):
            return {self.text(key, source, part): self.value(item, source, part) for key, item in value.items()}
        return [self.value(item, source, part) for item in value] if isinstance(value, (list, tuple)) else value


class Writes(Protocol):
    """A writer of one dialect, ready to make its tree."""

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent."""


W = TypeVar("W", bound=Writes)


def spelled(make: Callable[[bool], W]) -> tuple[bytes, dict[str, Any], W]:
    """Bytes and tree of a body, and the writer that made them. `make(scrub)` makes a fresh writer.

    Equal trees give equal bytes. The tree may hold mappings, tuples and `lossless.Number`, which is spelled as it came.
    """
    writer = make(False)
    document = writer.document()
    try:
        return orjson.dumps(document, default=_plain), document, writer
    except TypeError:  # a lone surrogate, which UTF-8 has no form for
        writer = make(True)
        document = writer.document()
    return as_bytes(document), document, writer


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """The bytes of a tree as `spelled` makes them, lone surrogates escaped where a tree still holds any."""
    try:
        return orjson.dumps(document, default=_plain)
    except TypeError:  # integers beyond 64 bits
        return lossless.dumps(_dicts(document)).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, lossless.Number):
        return orjson.Fragment(value.text)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _dicts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _dicts(item) for key, item in value.items()}
    return [_dicts(item) for item in value] if isinstance(value, (list, tuple)) else value
