"""Our own export to sessions: every entry of every kind, with the exact texts of body and attributes."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from app.entries.folds import SkillLoaded
from app.entries.kinds import Family, kind_of
from app.entries.messages import decode
from app.entries.wire import read_timestamp
from app.formats.jsonl.write import VERSION
from app.formats.protocols import ImportedMessage, ImportedSession, Note, UnreadableImport
from app.formats.reading import lines, mapping, store, values


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """The sessions of a file, each once its end was read. Raises `UnreadableImport` for another format or a greater version.

    Entries of a kind or version that is not known, erased ones, and ones whose body is not of their kind are listed as lost.
    """
    session: ImportedSession | None = None
    for number, line in lines(data):
        if line is None:
            raise UnreadableImport(f"Line {number} is longer than an import takes.")
        value = _object(line, number)
        if "context_ledger" in value:
            if session is not None:
                yield _cut(session)
            session = _head(value, number)
        elif session is None:
            raise UnreadableImport("The first line is not the head of an export of this service.")
        elif "blob" in value:
            _blob(value, number, session)
        elif "end" in value:
            expected = mapping(value["end"]).get("entries")
            if expected != len(session.entries) + len(session.lost):
                session.lost.append(Note(f"line {number}", "end", "the file holds another number of entries than its end says"))
            yield session
            session = None
        else:
            _entry(value, number, session)
    if session is not None:
        yield _cut(session)


def _object(line: bytes, number: int) -> Mapping[str, Any]:
    try:
        found = values(line)
    except ValueError:
        raise UnreadableImport(f"Line {number} is no JSON.") from None
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise UnreadableImport(f"Line {number} is no single object.")
    return found[0]


def _cut(session: ImportedSession) -> ImportedSession:
    session.lost.append(Note("end of file", "end", "the file was cut: its end is missing"))
    return session


def _head(value: Mapping[str, Any], number: int) -> ImportedSession:
    version = value["context_ledger"]
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise UnreadableImport(f"Line {number} is of an export version that this build does not read; it reads up to {VERSION}.")
    facts = dict(mapping(value.get("session")))
    title, external_id = facts.pop("title", None), facts.pop("external_id", None)
    return ImportedSession(
        title if isinstance(title, str) else None,
        external_id if isinstance(external_id, str) else None,
        facts=facts,
    )


def _blob(value: Mapping[str, Any], number: int, session: ImportedSession) -> None:
    media_type, data = value.get("media_type"), value.get("data")
    media = store(session, "file", str(media_type), data) if isinstance(data, str) else None
    if media is not None and media.blob is not None and media.blob.digest == value["blob"]:
        return
    if data == "" and value["blob"] == "sha256:" + sha256(b"").hexdigest():
        session.blobs[value["blob"]] = (str(media_type), b"")
        return
    raise UnreadableImport(f"Line {number} holds a blob that is not what its digest says.")


def _entry(value: Mapping[str, Any], number: int, session: ImportedSession) -> None:
    kind, body, place = value.get("kind"), value.get("body"), f"line {number}"
    if not isinstance(kind, str):
        raise UnreadableImport(f"Line {number} is no line of an export of this service.")
    try:
        row = kind_of(kind, value.get("version", 1))
    except (KeyError, TypeError):
        session.lost.append(Note(place, kind[:64], "a kind or version of entry that this build does not know"))
        return
    if not isinstance(body, str):
        session.lost.append(Note(place, kind, "its content was erased"))
        return
    if row.family is Family.MESSAGE or kind == SkillLoaded.kind:
        try:
            _ = SkillLoaded.decode(body) if kind == SkillLoaded.kind else decode(kind, body)
        except (ValueError, KeyError, TypeError, AttributeError):
            session.lost.append(Note(place, kind, "its body is not of its kind"))
            return
    attributes = value.get("attributes")
    session.entries.append(
        ImportedMessage(
            kind,
            body,
            read_timestamp(value.get("at")) or read_timestamp(value.get("recorded_at")),
            attributes if isinstance(attributes, str) else None,
            value.get("hidden") is True,
            value.get("include_in_context") is not False,
            value["seq"] if isinstance(value.get("seq"), int) else None,
            value["turn"] if isinstance(value.get("turn"), int) else None,
            value["agent"] if isinstance(value.get("agent"), str) else None,
            value["invocation"] if isinstance(value.get("invocation"), int) else 0,
        )
    )
    session.kept += 1
