"""One session of a file as it will be stored: entries, blobs, the row it opens, and its row of the report."""

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.config.limits import ATTRIBUTES_BYTES_MAX, IDENTIFIER_CHARS_MAX, METADATA_BYTES_MAX, TITLE_CHARS_MAX
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.entries.ids import SESSION, parse_id
from app.entries.kinds import MESSAGE_KINDS
from app.entries.messages import Body, NewEntry, blobs_of, decode, with_parts
from app.entries.parts import Media
from app.entries.settings import SessionOpened
from app.formats.protocols import ImportedMessage, ImportedSession, Note
from app.services.transfers.sizes import fitted, lightened
from app.services.write import Draft, Writer, loaded
from app.storage.rows import AgentRow
from app.storage.types import NewBlob, OpenSession

JSONL = "jsonl"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What a column of text cannot hold; the texts of messages can."""


@dataclass(slots=True)
class Prepared:
    """`session`: the id that an export had; `archive`: the entries are all of a session's, from seq 1; `first`: what opens a new one."""

    title: str | None
    entries: tuple[NewEntry, ...]
    blobs: dict[str, NewBlob]
    opening: OpenSession
    kept: int
    changed: list[Note]
    lost: list[Note]
    archive: bool = False
    session: UUID | None = None
    agents: Mapping[str, Any] = field(default_factory=dict)
    first: tuple[NewEntry, ...] = ()
    missing: tuple[NewEntry, ...] = ()
    found: str | None = None

    def opened_for(self, agent: AgentRow | None) -> OpenSession:
        """The row that the first append opens; sets `first` for a session that comes from elsewhere."""
        if self.archive:
            return self.opening
        assert agent is not None
        self.first = (NewEntry(SessionOpened.kind, SessionOpened(agent.name, agent.revision).encode()),)
        return replace(self.opening, agent=agent.name, agent_revision=agent.revision)

    def grown(self, messages: Sequence[int]) -> None:
        """Notes the answers of which only the rest is stored now."""
        why = "the file's answer is longer than when it was stored; what is new stands as an answer of its own"
        self.changed += [Note(f"message {index}", "answer", why) for index in messages]

    def report(self) -> dict[str, Any]:
        """The session's row of the report."""
        return {
            "id": self.found,
            "title": self.title,
            "messages": _messages(self.entries),
            "kept": self.kept,
            "already_stored": max(0, _messages(self.entries) - _messages(self.missing)),
            "changed": [_note(note) for note in self.changed],
            "lost": [_note(note) for note in self.lost],
        }


async def prepare(writer: Writer, format: str, session: ImportedSession) -> Prepared:
    """Counts, encodes and names a session of that format. Raises `Invalid` for an export without its first entries."""
    lost, changed = list(session.lost), list(session.changed)
    title = None if session.title is None else _UNSTORABLE.sub("\ufffd", session.title)
    if title is not None and len(title) > TITLE_CHARS_MAX:
        title = title[:TITLE_CHARS_MAX]
        changed.append(Note("title", "length", f"cut to {TITLE_CHARS_MAX} characters"))
    drafts = await asyncio.to_thread(lambda: [_draft(number, message, session, changed, lost) for number, message in enumerate(session.entries)])
    entries, made = await writer.prepare(drafts)
    blobs = {digest: NewBlob(digest, media_type, content) for digest, (media_type, content) in session.blobs.items()}
    blobs |= {blob.digest: blob for blob in made}
    if format == JSONL:
        return _archive(session, title, entries, blobs, changed, lost)
    fitting = fitted(entries, lost)
    opening = OpenSession(title=title, external_id=_external_id(format, session, entries))
    return Prepared(title, fitting, blobs, opening, session.kept, changed, lost)


def _archive(
    session: ImportedSession, title: str | None, entries: Sequence[NewEntry], blobs: dict[str, NewBlob], changed: list[Note], lost: list[Note]
) -> Prepared:
    """A session of our own export, entry by entry as it was. What is lost of one is lost whole, since seqs must not move."""
    seqs = [message.seq for message in session.entries]
    if not seqs or seqs != list(range(1, len(seqs) + 1)):
        raise Invalid(
            [Fault("", "unreadable", "Entries are missing, erased or not understood by this release.")],
            "The export does not hold every entry of its session, so it cannot be stored as it was.",
            "unreadable-import",
        )
    facts = session.facts
    exact = tuple([_exact(entry, message) for entry, message in zip(entries, session.entries, strict=True)])
    model, metadata = facts.get("model"), lossless.dumps(facts.get("metadata") or {})
    if len(metadata.encode()) > METADATA_BYTES_MAX:
        lost.append(Note("session", "metadata", f"larger than {METADATA_BYTES_MAX} bytes"))
        metadata = "{}"
    opening = OpenSession(
        agent=_text(facts, "agent"),
        agent_revision=facts["agent_revision"] if isinstance(facts.get("agent_revision"), int) else None,
        agent_follows=facts.get("agent_follows") is not False,
        model=None if model is None else lossless.dumps(model),
        title=title,
        metadata=metadata,
        user=_text(facts, "user"),
        external_id=session.external_id,
    )
    agents = facts.get("agents")
    named = parse_id(SESSION, _text(facts, "id") or "")
    return Prepared(title, exact, blobs, opening, session.kept, changed, lost, True, named, agents if isinstance(agents, Mapping) else {})


def _draft(number: int, message: ImportedMessage, session: ImportedSession, changed: list[Note], lost: list[Note]) -> Draft:
    attributes = message.attributes
    if attributes is not None and len(attributes.encode()) > ATTRIBUTES_BYTES_MAX:
        lost.append(Note(f"message {number}", "attributes", f"larger than {ATTRIBUTES_BYTES_MAX} bytes"))
        attributes = None
    body: Body | str = message.body
    if isinstance(body, str) and message.kind in MESSAGE_KINDS:
        body = _whole(decode(message.kind, body), session.blobs)
    elif not isinstance(body, str):
        body = lightened(body, number, changed)
    return Draft(
        message.kind,
        body,
        message.turn,
        message.hidden,
        message.include_in_context,
        attributes,
        message.at,
        message.agent,
        message.invocation,
    )


def _whole(body: Body, blobs: Mapping[str, tuple[str, bytes]]) -> Body:
    """The body with its long texts in it, so that their tokens are counted."""
    parts = tuple(
        [part if isinstance(part, Media) or part.blob is None or part.blob.digest not in blobs else loaded(part, blobs) for part in body.parts]
    )
    return with_parts(body, parts)


def _exact(entry: NewEntry, message: ImportedMessage) -> NewEntry:
    """The entry with the very text of its body, as the export has it."""
    if not isinstance(message.body, str) or entry.payload == message.body:
        return entry
    named = tuple([blob.digest for blob in blobs_of(decode(message.kind, message.body))])
    return replace(entry, payload=message.body, blobs=named)


def _external_id(format: str, session: ImportedSession, entries: Sequence[NewEntry]) -> str:
    """By what the file calls the session, else by its content, so that the same file again finds it."""
    name = session.external_id
    if name is None or len(name) + len(format) >= IDENTIFIER_CHARS_MAX or _UNSTORABLE.search(name):
        content = hashlib.sha256()
        for entry in entries:
            content.update(f"{entry.kind}\n{entry.payload}\n".encode())
        name = f"sha256:{content.hexdigest()}"
    return f"{format}:{name}"


def _text(facts: Mapping[str, Any], name: str) -> str | None:
    value = facts.get(name)
    return value if isinstance(value, str) and value and "\0" not in value else None


def _messages(entries: Sequence[NewEntry]) -> int:
    return sum(entry.kind in MESSAGE_KINDS for entry in entries)


def _note(note: Note) -> dict[str, str]:
    return {"source": note.source, "what": note.what, "why": note.why}
