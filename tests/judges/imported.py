"""From a file to the sources of a compile without a database: what an import stores is what its importer gives."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.context.agents.defaults import TOOL_NAME
from app.context.sources import AgentRevision, Sources
from app.entries.kinds import MESSAGE_KINDS
from app.entries.messages import decode
from app.entries.parts import ToolCall
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.registry import IMPORTERS
from app.models.resolve import Target
from tests.judges.recorded import exchanges
from tests.strategies import SYSTEM, Ledger, agent

LAST_WORDS = "And what is left to do?"
PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session of a file, with a user message at its end."""

    name: str
    ledger: Ledger
    blobs: dict[str, bytes]
    called: tuple[str, ...]

    def sources(self, target: Target, revision: AgentRevision) -> Sources:
        return self.ledger.sources(revision, target)

    def revision(self, *, tools: bool) -> AgentRevision:
        """An agent that declares what was called, or nothing."""
        declared = [{"name": name, "description": f"The tool {name}.", "parameters": {"type": "object"}} for name in self.called if tools]
        return agent(context=[SYSTEM, {"renderer": "history"}], tools=declared)


def sessions(format: str, content: Iterable[bytes]) -> list[ImportedSession]:
    """The sessions that an importer makes of a file that have something to say; none where the file is of another format."""
    try:
        return [session for session in IMPORTERS[format](content) if any(entry.kind in MESSAGE_KINDS for entry in session.entries)]
    except UnreadableImport:
        return []


def transcript(name: str, session: ImportedSession) -> Transcript:
    """The ledger that the session becomes."""
    ledger = Ledger()
    called: dict[str, None] = {}
    for entry in session.entries:
        if entry.kind not in MESSAGE_KINDS:
            continue
        body = decode(entry.kind, entry.body) if isinstance(entry.body, str) else entry.body
        ledger.add(entry.kind, body, include_in_context=entry.include_in_context, hidden=entry.hidden, attributes=entry.attributes)
        called |= {part.name: None for part in body.parts if isinstance(part, ToolCall) and TOOL_NAME.fullmatch(part.name)}
    ledger.user(LAST_WORDS)
    return Transcript(name, ledger, {digest: content for digest, (_, content) in session.blobs.items()}, tuple(called))


def transcripts(format: str, root: Path) -> Iterator[Transcript]:
    """Every session that the importer reads out of any file below a folder, in the order of names."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            for number, session in enumerate(sessions(format, pieces(path))):
                yield transcript(f"{path.relative_to(root)} {number}", session)


def recorded_requests(format: str, shared: Path) -> Iterator[Transcript]:
    """Requests that were sent to the endpoint whose bodies the importer reads."""
    for each in exchanges(shared):
        if each.dialect == format:
            for session in sessions(format, [json.dumps(each.request).encode()]):
                yield transcript(f"{each.name} {each.number}", session)


def pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
