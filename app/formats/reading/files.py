"""A file as the JSON that it holds: whole documents, or records a line; and what readers make of titles and times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from app.config.limits import IMPORT_LINE_BYTES_MAX
from app.entries.messages import Message
from app.entries.parts import Text
from app.formats.protocols import ImportedMessage, Note, UnreadableImport
from app.formats.reading import lines, value_of, values


def documents(data: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """The JSON documents of a file: all of it is one, or each of its lines holds one or more. With each, where it stands: "" or `line 3 `.

    Raises `UnreadableImport` for a line that is no JSON or too long, and where there is none.
    """
    source = iter(data)
    head, total = list[bytes](), 0
    for piece in source:
        head.append(piece)
        total += len(piece)
        if total > IMPORT_LINE_BYTES_MAX:
            break
    if total <= IMPORT_LINE_BYTES_MAX:
        try:
            whole = value_of(b"".join(head).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
        except ValueError:
            pass
        else:
            yield "", whole
            return
    any_found = False
    for number, line in lines(chain(head, source)):
        if line is None:
            raise UnreadableImport(f"Line {number} is longer than an import takes.")
        try:
            found = values(line)
        except ValueError:
            raise UnreadableImport(f"Line {number} is no JSON.") from None
        for value in found:
            any_found = True
            yield f"line {number} ", value
    if not any_found:
        raise UnreadableImport("The file is empty.")


def records(data: Iterable[bytes]) -> tuple[list[tuple[str, Mapping[str, Any]]], list[Note]]:
    """The objects of a file that holds one a line, each with its place, `line 3` or `line 3 object 2`; and a note for each line that holds none."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    broken: list[Note] = []
    for number, line in lines(data):
        source = f"line {number}"
        if line is None:
            broken.append(Note(source, "line", "longer than an import takes"))
            continue
        try:
            held = values(line)
        except ValueError:
            broken.append(Note(source, "line", "no JSON"))
            continue
        for index, value in enumerate(held):
            place = source if len(held) == 1 else f"{source} object {index + 1}"
            if isinstance(value, Mapping):
                found.append((place, value))
            else:
                broken.append(Note(place, "line", "no record of a session file"))
    return found, broken


def first_words(entries: Sequence[ImportedMessage]) -> str | None:
    """A title: the beginning of what the user said first, by preference not something that a client wraps in tags."""
    said = []
    for entry in entries:
        if entry.kind == "user_message" and not entry.hidden and isinstance(entry.body, Message):
            text = " ".join(next((part.text for part in entry.body.parts if isinstance(part, Text)), "").split())
            if text:
                said.append(text[:80])
    return next((title for title in said if not title.startswith("<")), said[0] if said else None)


def moment(value: object, units_per_second: int = 1) -> datetime | None:
    """The moment that a number of seconds (or of smaller units) since 1970 names, in UTC; None for anything else and outside of the calendar."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value / units_per_second)
    except (ValueError, OverflowError):
        return None
