"""Entries in the making: where each comes from, and the account of every record of a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any

from app.entries import lossless
from app.entries.messages import Answer, Body, Status
from app.entries.parts import Part
from app.formats.protocols import ImportedMessage, ImportedSession, Note


@dataclass(slots=True)
class Entries:
    """The entries of one session. The attributes of each say what it was made of: `{"pi": {"lines": ["line 3"], …}}`.

    `name` is the format's word in the attributes and `places` that of its records. A record is kept or lost, never both; what a kept
    one could not keep of itself is a change.
    """

    name: str
    places: str
    session: ImportedSession = field(default_factory=ImportedSession)
    _facts: list[dict[str, Any]] = field(default_factory=list)
    _more: dict[int, list[Part]] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        body: Body,
        place: str,
        at: datetime | None = None,
        *,
        hidden: bool = False,
        in_context: bool = True,
        facts: Mapping[str, Any] | None = None,
    ) -> int:
        """Puts an entry at the end and gives its position. `facts`: what else the attributes say, by its own words."""
        self.session.entries.append(ImportedMessage(kind, body, at, None, hidden, in_context))
        self._facts.append({self.places: [place], **(facts or {})})
        return len(self._facts) - 1

    def grow(self, index: int, parts: Sequence[Part], place: str) -> None:
        """Another record of the same answer."""
        self._more.setdefault(index, []).extend(parts)
        if place != self._facts[index][self.places][-1]:
            self._facts[index][self.places].append(place)

    def parts(self, index: int) -> Iterator[Part]:
        """The parts of an entry so far."""
        body = self.session.entries[index].body
        assert not isinstance(body, str)
        return chain(body.parts, self._more.get(index, ()))

    def settle(self, index: int, status: Status, stop_reason: str | None = None, why: str | None = None) -> None:
        """How an answer ended; `why` is noted as a change."""
        entry = self.session.entries[index]
        assert isinstance(entry.body, Answer)
        self.session.entries[index] = replace(entry, body=entry.body._replace(status=status, stop_reason=stop_reason or entry.body.stop_reason))
        if why is not None:
            self.change(self.place(index), "answer", why)

    def tell(self, index: int, facts: Mapping[str, Any]) -> None:
        """More for the attributes of an entry."""
        self._facts[index].update(facts)

    def leave_out(self, index: int, what: str, why: str) -> None:
        """The entry stays visible and is in no later model call."""
        self.session.entries[index] = replace(self.session.entries[index], include_in_context=False)
        self.change(self.place(index), what, why)

    def place(self, index: int) -> str:
        """The first record of an entry."""
        return str(self._facts[index][self.places][0])

    def keep(self) -> None:
        """Another record became an entry, whole or in part."""
        self.session.kept += 1

    def change(self, place: str, what: str, why: str) -> None:
        self.session.changed.append(Note(place, what[:64], why))

    def lose(self, place: str, what: str, why: str) -> None:
        self.session.lost.append(Note(place, what[:64], why))

    def finish(self, first: Mapping[str, Any] | None = None) -> ImportedSession:
        """The session, its attributes spelled. `first`: facts of the session as a whole, which stand with its first entry."""
        for index, parts in self._more.items():
            body = self.session.entries[index].body
            assert isinstance(body, Answer)
            self.session.entries[index] = replace(self.session.entries[index], body=body._replace(parts=(*body.parts, *parts)))
        for index, (entry, facts) in enumerate(zip(self.session.entries, self._facts, strict=True)):
            told = {**facts, **first} if first and index == 0 else facts
            self.session.entries[index] = replace(entry, attributes=lossless.dumps({self.name: told}))
        return self.session


def spare(value: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields of a record that nothing reads, in their order, without those that say nothing."""
    return {key: item for key, item in value.items() if key not in known and item not in (None, [], {}, "")}
