"""Server-sent events: an incremental reader after the WHATWG standard, and a writer of single frames.

Rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from app.config.limits import SSE_EVENT_BYTES_MAX

_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """A line or an event of the stream is longer than the limit; nothing more can be read from it."""


class SseEvent(NamedTuple):
    """One dispatched event. `data` is decoded with U+FFFD for what is no UTF-8; `id` is the last id that the stream set.

    A named tuple, because an answer has thousands of them and a frozen dataclass takes twice as long to make.
    """

    data: str
    name: str = "message"
    id: str = ""


_event: Callable[[tuple[str, str, str]], SseEvent] = partial(tuple.__new__, SseEvent)
"""Makes an event from its fields at once."""


class SseReader:
    """Bytes to events, cut anywhere: inside a character, between CR and LF, inside the BOM.

    Only LF, CR and CRLF end a line; U+2028, U+0085, VT and FF are text. An event whose blank line never came is not
    dispatched. Work is linear in the bytes fed.
    """

    __slots__ = ("_data", "_data_bytes", "_event_bytes_max", "_id", "_line", "_line_bytes", "_name", "_skip_lf", "_start")

    def __init__(self, event_bytes_max: int = SSE_EVENT_BYTES_MAX) -> None:
        self._event_bytes_max = event_bytes_max
        self._start: bytes | None = b""
        self._skip_lf = False
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._name = b""
        self._id = b""

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that these bytes complete. Raises `EventTooLong`."""
        if self._start is not None:
            data = self._start + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._start = data
                return []
            self._start = None
            data = data.removeprefix(_BOM)
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._skip_lf = data.endswith(b"\r")
            data = _line_feeds(data)
        *lines, rest = data.split(b"\n")
        if lines and self._line:
            lines[0] = b"".join((*self._line, lines[0]))
            self._line.clear()
            self._line_bytes = 0
        found: list[SseEvent] = []
        most = self._event_bytes_max
        for line in lines:
            if not line:
                if self._data:
                    self._dispatch(found)
                else:
                    self._name = b""
            elif len(line) >= most:
                self._take(line)
            elif line[:6] == b"data: " and not self._data:  # this and a name are what nearly every line is that is not blank
                self._data.append(line[6:])
                self._data_bytes = len(line) - 5
            elif line[:7] == b"event: ":
                self._name = line[7:]
            else:
                self._take(line)
        if rest:
            self._line.append(rest)
            self._line_bytes += len(rest)
            self._check(self._line_bytes)
        return found

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif name == b"event":
            self._name = value
        elif name == b"id" and b"\0" not in value:
            self._id = value
        if len(line) > self._event_bytes_max or self._data_bytes > self._event_bytes_max:
            self._check(max(len(line), self._data_bytes))

    def _dispatch(self, found: list[SseEvent]) -> None:
        name, self._name = self._name, b""
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._data_bytes = 0
        called = name.decode("utf-8", "replace") if name else "message"
        found.append(_event((data.decode("utf-8", "replace"), called, self._id.decode("utf-8", "replace") if self._id else "")))

    def _check(self, length_bytes: int) -> None:
        if length_bytes > self._event_bytes_max:
            raise EventTooLong(f"an event of the stream is longer than {self._event_bytes_max} bytes")


def _line_feeds(data: bytes) -> bytes:
    """Every line end as LF. By lines, since a search for two bytes at once costs several times as much as reading the JSON between them."""
    *lines, rest = data.split(b"\n")
    data = b"\n".join([*[line[:-1] if line.endswith(b"\r") else line for line in lines], rest])
    return data.replace(b"\r", b"\n") if b"\r" in data else data


def frame(id: int | str | None, event: str | None, data: str) -> bytes:
    """One frame. `data` may hold any text: each of its lines gets its own `data:` field, and only LF, CR and CRLF split it.

    Lone surrogates become U+FFFD. Raises `ValueError` for a line break or NUL in id or event, which would forge fields.
    """
    head = ""
    for field, value in (("id", id), ("event", event)):
        if value is None:
            continue
        text = str(value)
        if not text.isprintable():
            raise ValueError(f"an SSE {field} takes printable characters only")
        head += f"{field}: {text}\n"
    if "\r" in data:
        data = data.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" in data:
        data = data.replace("\n", "\ndata: ")
    text = f"{head}data: {data}\n\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def comment(text: str = "") -> bytes:
    """A comment, which keeps a connection alive and reaches no listener. Raises `ValueError` for text that would break the line."""
    if text and not text.isprintable():
        raise ValueError("an SSE comment takes printable characters only")
    return f": {text}\n\n".encode() if text else b":\n\n"
