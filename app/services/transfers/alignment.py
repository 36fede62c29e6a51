"""What of a file is in a session already: both tell one story, as far as both go, or they do not belong together."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from app.entries.messages import Answer, Entry, NewEntry, decode, encode


class Diverged(Exception):
    """The session holds something else at message `index` of the file."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Alignment:
    """Compares a session's messages, oldest first, with the entries that a file would make.

    The file may go on where the session ends, and the session may go on where the file ends. An answer of which the file has
    become longer since it was stored (a client writes one line a block) stays as it is; what is new of it is a rest to be stored.
    """

    def __init__(self, entries: Iterable[NewEntry]) -> None:
        self._expected = deque(enumerate(entries))
        self._rests: deque[tuple[int, NewEntry]] = deque()
        self.grown: list[int] = []
        """Messages of the file whose answers have a rest."""

    def meet(self, stored: Entry) -> bool:
        """Takes the next message of the session; False where the file has no more to compare. Raises `Diverged`."""
        if self._rests and _equal(stored, self._rests[0][1]):
            self._rests.popleft()
            return True
        if not self._expected:
            if self._rests:
                self._cut(stored, *self._rests.popleft())
                return True
            return False
        index, wanted = self._expected.popleft()
        if not _equal(stored, wanted):
            self._cut(stored, index, wanted)
        return True

    def _cut(self, stored: Entry, index: int, wanted: NewEntry) -> None:
        """Takes a stored answer that is the beginning of the wanted one, or that differs in nothing but why it stopped."""
        old, new = _answer(stored.kind, stored.payload), _answer(wanted.kind, wanted.payload)
        if old is None or new is None or (old.model, old.status) != (new.model, new.status) or old.parts != new.parts[: len(old.parts)]:
            raise Diverged(index)
        parts = new.parts[len(old.parts) :]
        if parts:
            named = tuple([blob.digest for part in parts if (blob := part.blob) is not None])
            rest = replace(wanted, payload=encode(new._replace(parts=parts)), blobs=named, tokens=max(0, wanted.tokens - stored.tokens))
            self._rests.append((index, rest))

    def missing(self) -> tuple[NewEntry, ...]:
        """What is to be stored, in order."""
        self.grown = [index for index, _ in self._rests]
        return (*[rest for _, rest in self._rests], *[entry for _, entry in self._expected])


def _equal(stored: Entry, wanted: NewEntry) -> bool:
    return (stored.kind, stored.payload) == (wanted.kind, wanted.payload)


def _answer(kind: str, payload: str | None) -> Answer | None:
    body = None if payload is None or kind != "assistant_message" else decode(kind, payload)
    return body if isinstance(body, Answer) else None
