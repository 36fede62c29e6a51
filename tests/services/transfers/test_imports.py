"""Files of other programs: once, again, grown, changed; and every session file of the corpus."""

import asyncio
import json
from uuid import uuid4

import pytest

from app.entries.errors import Conflict, Invalid, NotFound
from app.entries.ids import SESSION, parse_id
from app.formats.registry import IMPORTERS
from app.services.transcripts import RawQuery, Transcripts
from app.services.transfers import imports as imports_module
from app.storage.rows import EntryFilter
from tests.services.transfers.sessions import importing


def chat(*texts: str) -> bytes:
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    return json.dumps({"id": "chat-1", "title": "A chat", "messages": messages}).encode()


def claude(*lines: dict) -> bytes:
    """Lines of a Claude Code session, each with what every one of them has."""
    shared = {"sessionId": "s-1", "isSidechain": False, "timestamp": "2026-02-10T21:11:56.906Z"}
    parents = [None, *[f"u-{at}" for at in range(len(lines))]]
    return b"".join(json.dumps({**shared, "uuid": f"u-{at}", "parentUuid": parents[at], **line}).encode() + b"\n" for at, line in enumerate(lines))


def said(role: str, *content: dict, message: str | None = None) -> dict:
    extra = {"id": message, "model": "m"} if role == "assistant" else {}
    return {"type": role, "message": {"role": role, "content": list(content), **extra}}


async def messages_of(store, tenant, session_id):
    chosen = EntryFilter(line=None, families=("m",))
    return await store.ledger.entries(tenant, parse_id(SESSION, session_id), chosen, 1000)


async def test_the_same_file_again_adds_nothing(store, tenant):
    imports = importing(store)
    first, second = [(await imports.import_bytes(tenant, "openai-chat", None, [chat("a", "b")]))["sessions"][0] for _ in range(2)]
    assert (first["messages"], first["already_stored"]) == (2, 0)
    assert (second["id"], second["already_stored"]) == (first["id"], 2)
    assert len(await messages_of(store, tenant, first["id"])) == 2


async def test_a_file_without_a_name_is_known_by_its_content(store, tenant):
    data = json.dumps([{"role": "user", "content": "Hello."}]).encode()
    first, second = [(await importing(store).import_bytes(tenant, "openai-chat", None, [data]))["sessions"][0]["id"] for _ in range(2)]
    other = (await importing(store).import_bytes(tenant, "openai-chat", None, [data.replace(b"Hello", b"Hallo")]))["sessions"][0]["id"]
    assert first == second != other


async def test_a_file_that_grew_adds_what_is_new_and_one_that_changed_is_refused(store, tenant):
    imports = importing(store)
    (old,) = (await imports.import_bytes(tenant, "openai-chat", None, [chat("a", "b")]))["sessions"]
    (new,) = (await imports.import_bytes(tenant, "openai-chat", None, [chat("a", "b", "c", "d")]))["sessions"]
    assert (new["id"], new["messages"], new["already_stored"]) == (old["id"], 4, 2)
    with pytest.raises(Conflict) as refused:
        await imports.import_bytes(tenant, "openai-chat", None, [chat("a", "x", "c", "d", "e")])
    assert refused.value.code == "import-conflict"
    assert len(await messages_of(store, tenant, old["id"])) == 4


async def test_an_answer_that_grew_keeps_its_beginning_and_gets_its_rest_once(store, tenant):
    thought, call = {"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    short = [said("user", {"type": "text", "text": "Look."}), said("assistant", thought, message="msg-1")]
    long = [*short, said("assistant", call, message="msg-1"), said("user", result)]
    imports = importing(store)
    await imports.import_bytes(tenant, "claude-code", None, [claude(*short)])
    (grown,) = (await imports.import_bytes(tenant, "claude-code", None, [claude(*long)]))["sessions"]
    assert [note["what"] for note in grown["changed"] if "longer" in note["why"]] == ["answer"]
    for _ in range(2):
        stored = await messages_of(store, tenant, grown["id"])
        assert [entry.kind for entry in stored] == ["user_message", "assistant_message", "assistant_message", "tool_result"]
        assert '"t1"' in stored[2].payload
        await imports.import_bytes(tenant, "claude-code", None, [claude(*long)])


async def test_a_dry_run_reports_and_writes_nothing(store, tenant):
    (one,) = (await importing(store).import_bytes(tenant, "openai-chat", None, [chat("a", "b")], dry_run=True))["sessions"]
    assert (one["id"], one["messages"]) == (None, 2)
    assert await store.agents.list(tenant, limit=10) == []
    assert await store.sessions.find_external(tenant, None, "openai-chat:chat-1") is None


async def test_an_unknown_agent_an_unknown_format_and_a_file_of_another_kind_are_refused(store, tenant):
    imports = importing(store)
    with pytest.raises(NotFound):
        await imports.import_bytes(tenant, "openai-chat", "nobody", [chat("a")])
    with pytest.raises(Invalid):
        await imports.import_bytes(tenant, "markdown", None, [chat("a")])
    for format in IMPORTERS:
        with pytest.raises(Invalid) as refused:
            await imports.import_bytes(tenant, format, None, [b"\x00\x01 secret words"])
        assert refused.value.code == "unreadable-import"
        assert "secret" not in refused.value.detail


async def test_two_imports_of_one_file_at_once_make_one_session(store, tenant):
    await importing(store).import_bytes(tenant, "openai-chat", None, [chat("other").replace(b"chat-1", b"chat-0")])
    data = chat(*[f"message {at}" for at in range(600)])
    both = await asyncio.gather(*[importing(store).import_bytes(tenant, "openai-chat", None, [data]) for _ in range(2)], return_exceptions=True)
    done = [one for one in both if isinstance(one, dict)]
    assert done
    assert all(isinstance(one, Conflict) for one in both if not isinstance(one, dict))
    assert len(await messages_of(store, tenant, done[0]["sessions"][0]["id"])) == 600


async def test_large_attributes_are_lost_with_a_note_and_the_message_stays(store, tenant, monkeypatch):
    monkeypatch.setattr("app.services.transfers.prepare.ATTRIBUTES_BYTES_MAX", 20)
    (one,) = (await importing(store).import_bytes(tenant, "claude-code", None, [claude(said("user", {"type": "text", "text": "Hi."}))]))["sessions"]
    assert ("message 0", "attributes") in [(note["source"], note["what"]) for note in one["lost"]]
    assert len(await messages_of(store, tenant, one["id"])) == 1


async def test_progress_counts_every_entry(store, tenant):
    heard: list[int] = []
    data = chat(*[f"message {at}" for at in range(300)])
    await importing(store).import_bytes(tenant, "openai-chat", None, [data], progress=heard.append)
    assert sum(heard) == 301
    assert len(heard) == 2
    assert imports_module.TRIES_MAX > 1


@pytest.mark.req("S1-22", "S1-23")
async def test_every_session_file_of_the_corpus_goes_in_and_raw_gives_each_message_back_in_order(store, shared):
    transcripts = Transcripts(store, heartbeat_seconds=15)
    files = sorted((shared / "corpus" / "transcripts" / "claude_code").glob("*.jsonl"))
    assert files
    for path in files:
        tenant = uuid4()
        report = await importing(store).import_bytes(tenant, "claude-code", None, [path.read_bytes()])
        expected = list(IMPORTERS["claude-code"]([path.read_bytes()]))
        assert [one["messages"] for one in report["sessions"]] == [len(session.entries) for session in expected]
        for one, session in zip(report["sessions"], expected, strict=True):
            row = await transcripts.session(tenant, one["id"])
            raw = b"".join([piece async for piece in transcripts.lines(row, RawQuery(view="ledger", kinds=None))])
            lines = [json.loads(line) for line in raw.splitlines()]
            got = [line for line in lines if line["message_index"] is not None]
            assert [(line["kind"], line["hidden"], line["include_in_context"]) for line in got] == [
                (entry.kind, entry.hidden, entry.include_in_context) for entry in session.entries
            ]
            for line, entry in zip(got, session.entries, strict=True):
                assert not isinstance(entry.body, str)
                texts = [part.get("text", part.get("arguments")) for part in line["body"]["parts"]]
                assert texts == [getattr(part, "text", getattr(part, "arguments", None)) for part in entry.body.parts]
                assert len(line["body"]["parts"]) == len(entry.body.parts)
