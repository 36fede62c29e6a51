"""What the readers of answers share: one document in place of a stream, limits, and one end, after which nothing is said."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from app.config.limits import ANSWER_BYTES_MAX
from app.entries.deltas import Delta, StreamFailed
from app.formats.framing.sse import EventTooLong, SseEvent, SseReader

_BLANK = b" \t\r\n\xef\xbb\xbf"


class BadAnswer(ValueError):
    """The answer cannot be taken. `detail` is a sentence for whoever asked; without one it is too large."""

    def __init__(self, detail: str = "The answer is larger than the service takes.", *, retryable: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retryable = retryable


class AnswerReader(ABC):
    """One answer, from bytes to deltas. A format reads its own events in `_read`, and says its end with `_over`."""

    DOCUMENT_BEGINS: ClassVar[tuple[bytes, ...]] = (b"{",)
    """What tells a single JSON document from a stream: an error with status 200, or an answer that was not streamed."""

    def __init__(self) -> None:
        self._over = False
        self._sniffed = False
        self._document: list[bytes] | None = None
        self._bytes = 0

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas that these bytes complete; nothing after the last one."""
        return self._tried(self._feed, data)

    def end(self) -> list[Delta]:
        """What is left once the connection is closed."""
        return self._tried(self._last, b"".join(self._document or ()))

    def _tried(self, step: Callable[[bytes, list[Delta]], None], data: bytes) -> list[Delta]:
        found: list[Delta] = []
        if not self._over:
            try:
                step(data, found)
            except EventTooLong:
                self._fail(StreamFailed("upstream-error", BadAnswer().detail), found)
            except BadAnswer as fault:
                self._fail(StreamFailed("upstream-error", fault.detail, retryable=fault.retryable), found)
        return found

    def _feed(self, data: bytes, found: list[Delta]) -> None:
        self._bytes += len(data)
        if self._bytes > ANSWER_BYTES_MAX:
            raise BadAnswer
        if not self._sniffed and (head := data.lstrip(_BLANK)):
            self._sniffed = True
            self._document = [] if head.startswith(self.DOCUMENT_BEGINS) else None
        if self._document is not None:
            self._document.append(data)
        else:
            self._read(data, found)

    def _last(self, document: bytes, found: list[Delta]) -> None:
        if self._document is not None:
            self._whole(document, found)
        if not self._over:
            self._cut(found)

    @abstractmethod
    def _read(self, data: bytes, found: list[Delta]) -> None:
        """The next bytes of a stream, up to the end of the answer."""

    @abstractmethod
    def _whole(self, body: bytes, found: list[Delta]) -> None:
        """An answer that came as one document. What is none is left to `_cut`."""

    def _cut(self, found: list[Delta]) -> None:
        """The connection is closed, and no end was said."""
        self._truncated(found)

    def _truncated(self, found: list[Delta], end: str = "its terminal event") -> None:
        self._fail(StreamFailed("stream-truncated", f"The stream ended without {end}.", retryable=True), found)

    def _fail(self, failed: StreamFailed, found: list[Delta]) -> None:
        found.append(failed)
        self._over = True


class SseAnswerReader(AnswerReader):
    """One answer whose stream is one of server-sent events."""

    def __init__(self) -> None:
        super().__init__()
        self._sse = SseReader()

    def _read(self, data: bytes, found: list[Delta]) -> None:
        for event in self._sse.feed(data):
            self._event(event, found)
            if self._over:
                return

    @abstractmethod
    def _event(self, event: SseEvent, found: list[Delta]) -> None:
        """One event of the stream."""

    def _no_json(self, found: list[Delta]) -> None:
        self._fail(StreamFailed("upstream-error", "The stream holds an event that is no JSON."), found)
