"""Sessions to export and import, and how two of them are compared."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.config.settings import Settings
from app.entries.folds import Rewound
from app.entries.ids import SESSION, blob_digest, format_id
from app.entries.line import PLAIN, rewound
from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Blob, Media, Text, ToolCall
from app.entries.settings import SessionOpened, StateChanged
from app.entries.trace import TurnError, TurnSettled
from app.outbound.client import Clients
from app.outbound.tool_servers.servers import ToolServers
from app.services.agents import Agents
from app.services.minting import new_uuid
from app.services.targets import Targets
from app.services.transfers import Exports, Imports
from app.services.write import Draft, Writer
from app.storage.store import Store
from app.storage.types import NEW_TURN, Append, OpenSession, SessionPatch, TurnWrite

DOCUMENT: dict[str, Any] = {
    "model": {"upstream": "scripted", "name": "scripted", "params": {"temperature": 1.0}},
    "limits": {"context_window": 100_000, "max_output_tokens": 1_000},
}
PICTURE = b"\x89PNG not really"
LONG = "long \ud800 text \0 " * 4_000
AT = datetime(2025, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)


def importing(store: Store) -> Imports:
    targets = Targets(Settings().upstreams)
    return Imports(store, Writer(store.ledger, lambda text: len(text) // 4), Agents(store.agents, targets, ToolServers(Clients(), {})))


def agents(store: Store) -> Agents:
    return Agents(store.agents, Targets(Settings().upstreams), ToolServers(Clients(), {}))


async def exported(store: Store, tenant: UUID, session: UUID, format: str = "jsonl") -> bytes:
    return b"".join([piece async for piece in Exports(store).export(tenant, format_id(SESSION, session), format)])


def told(export: bytes) -> list[dict[str, Any]]:
    """The lines of an export without what an import cannot keep: when an entry was recorded and its salted digest."""
    lines = [json.loads(line) for line in export.splitlines()]
    for line in lines:
        if "seq" in line:
            line["at"] = line["at"] or line["recorded_at"]
            del line["recorded_at"], line["digest"]
    return lines


async def varied(store: Store, tenant: UUID) -> UUID:
    """A session with two turns, the second one an edit of the first, a long text, a picture, a call, and a state with hard numbers."""
    await agents(store).put(tenant, "triage", DOCUMENT)
    await agents(store).put(tenant, "triage", {**DOCUMENT, "context": [{"renderer": "history"}]})
    writer = Writer(store.ledger, lambda text: len(text) // 4)
    session = new_uuid()
    opened = Draft(SessionOpened.kind, SessionOpened("triage", 2).encode())
    row = OpenSession("triage", 2, title="A visit", metadata='{"ward":1e2}', user="u-1", external_id="ext-1")
    await writer.append(tenant, session, [opened], Append(open=row))
    picture = Blob(blob_digest(PICTURE), "image/png", len(PICTURE))
    user = Draft(
        "user_message",
        Message((Text(LONG), Media("image", picture))),
        NEW_TURN,
        attributes='{"ui":1.0}',
        at=AT,
        media={picture.digest: ("image/png", PICTURE)},
    )
    await writer.append(tenant, session, [user], Append(turn=TurnWrite(new=True, turn_id=new_uuid(), status="running", input_offset=0)))
    answer = Answer((Text("…"), ToolCall("call_1", "lookup", '{"key": 1e400}')), model="scripted", stop_reason="tool_calls")
    rest = [
        Draft("assistant_message", answer, 1, agent="triage"),
        Draft(StateChanged.kind, '{"state":{"session":{"n":12345678901234567890123,"f":1.0}}}'),
        Draft("tool_result", ToolResult("call_1", (Text("found"),), "lookup", True), 1, hidden=True, include_in_context=False),
        Draft(TurnSettled.kind, TurnSettled("failed", TurnError("max-steps", "Too many.")).encode(), 1),
    ]
    settle = TurnWrite(number=1, status="failed", error='{"code":"max-steps","detail":"Too many."}', settled=True)
    head = (await writer.append(tenant, session, rest, Append(turn=settle))).last_seq
    again = [
        Draft(Rewound.kind, Rewound(0, 1).encode(), NEW_TURN, line=rewound(PLAIN, 1, head + 1).encode()),
        Draft("user_message", Message((Text("Again."),)), NEW_TURN),
        Draft("assistant_message", Answer((Text("Well."),), model="scripted", stop_reason="finished"), NEW_TURN),
        Draft(TurnSettled.kind, TurnSettled("completed").encode(), NEW_TURN),
    ]
    write = TurnWrite(new=True, turn_id=new_uuid(), status="completed", follows=0, input_offset=1, settled=True)
    await writer.append(tenant, session, again, Append(turn=write, session=SessionPatch(last_turn=2)))
    return session
