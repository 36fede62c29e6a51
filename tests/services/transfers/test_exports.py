"""Our own export comes back as it was, turns and line included; and the export that other programs read."""

import json
from uuid import uuid4

import pytest

from app.entries.errors import Conflict, Invalid, NotFound
from app.entries.ids import SESSION, format_id, parse_id
from tests.services.transfers.sessions import DOCUMENT, LONG, agents, exported, importing, told, varied


@pytest.mark.req("S0-06", "X-17")
async def test_an_export_imported_elsewhere_exports_the_same(store, tenant):
    session = await varied(store, tenant)
    first = await exported(store, tenant, session)
    elsewhere = uuid4()
    report = await importing(store).import_bytes(elsewhere, "jsonl", None, [first[:1000], first[1000:]])
    (one,) = report["sessions"]
    assert (one["id"], one["messages"], one["already_stored"], one["lost"], one["changed"]) == (format_id(SESSION, session), 5, 0, [], [])
    assert told(await exported(store, elsewhere, session)) == told(first)


async def test_turns_line_and_row_follow_from_the_entries(store, tenant):
    session = await varied(store, tenant)
    elsewhere = uuid4()
    await importing(store).import_bytes(elsewhere, "jsonl", None, [await exported(store, tenant, session)])
    old, new = [await store.sessions.get(who, session) for who in (tenant, elsewhere)]
    for name in (
        "line",
        "last_turn",
        "turn_count",
        "message_count",
        "head_seq",
        "agent",
        "agent_revision",
        "title",
        "metadata",
        "user",
        "external_id",
    ):
        assert getattr(new, name) == getattr(old, name), name
    before, after = [await store.turns.list(who, session, limit=10) for who in (tenant, elsewhere)]
    assert [(t.number, t.status, t.follows, t.input_seq, t.first_seq, t.last_seq) for t in after] == [
        (t.number, t.status, t.follows, t.input_seq, t.first_seq, t.last_seq) for t in before
    ]
    assert json.loads(after[0].error) == json.loads(before[0].error)
    assert (await store.ledger.verify(elsewhere, session)).problems == ()


async def test_the_same_export_again_adds_nothing_and_an_older_one_neither(store, tenant):
    session = await varied(store, tenant)
    export = await exported(store, tenant, session)
    for _ in range(2):
        (one,) = (await importing(store).import_bytes(tenant, "jsonl", None, [export]))["sessions"]
        assert (one["messages"], one["already_stored"]) == (5, 5)
    assert await exported(store, tenant, session) == export


@pytest.mark.parametrize("appends", range(1, 6))
async def test_an_import_that_was_cut_short_goes_on(store, tenant, monkeypatch, appends):
    session = await varied(store, tenant)
    export = await exported(store, tenant, session)
    elsewhere, imports = uuid4(), importing(store)
    real, left = store.ledger.append, appends

    async def failing(*arguments):
        nonlocal left
        if not left:
            raise ConnectionError("the process ends here")
        left -= 1
        return await real(*arguments)

    monkeypatch.setattr(store.ledger, "append", failing)
    try:
        await imports.import_bytes(elsewhere, "jsonl", None, [export])
    except ConnectionError:
        assert not left
    monkeypatch.undo()
    await imports.import_bytes(elsewhere, "jsonl", None, [export])
    assert told(await exported(store, elsewhere, session)) == told(export)
    assert [turn.status for turn in await store.turns.list(elsewhere, session, limit=10)] == ["failed", "completed"]


async def test_an_export_that_tells_another_story_is_refused(store, tenant):
    session = await varied(store, tenant)
    export = (await exported(store, tenant, session)).replace(b"Again.", b"Never.")
    with pytest.raises(Conflict) as refused:
        await importing(store).import_bytes(tenant, "jsonl", None, [export])
    assert refused.value.code == "import-conflict"


async def test_an_agent_that_says_something_else_here_is_not_taken_for_the_same(store, tenant):
    export = await exported(store, tenant, await varied(store, tenant))
    elsewhere = uuid4()
    await agents(store).put(elsewhere, "triage", {**DOCUMENT, "context": []})
    with pytest.raises(Conflict) as refused:
        await importing(store).import_bytes(elsewhere, "jsonl", None, [export])
    assert refused.value.code == "agent-differs"
    await agents(store).put(elsewhere, "mine", DOCUMENT)
    (one,) = (await importing(store).import_bytes(elsewhere, "jsonl", "mine", [export]))["sessions"]
    row = await store.sessions.get(elsewhere, parse_id(SESSION, one["id"]))
    assert (row.agent, row.agent_revision) == ("mine", 1)


async def test_who_may_not_write_agents_makes_none(store, tenant):
    export = await exported(store, tenant, await varied(store, tenant))
    elsewhere = uuid4()
    with pytest.raises(NotFound):
        await importing(store).import_bytes(elsewhere, "jsonl", None, [export], may_put_agents=False)
    assert await store.agents.list(elsewhere, limit=10) == []


async def test_an_export_with_a_hole_is_refused_whole(store, tenant):
    lines = (await exported(store, tenant, await varied(store, tenant))).splitlines(keepends=True)
    elsewhere = uuid4()
    with pytest.raises(Invalid):
        await importing(store).import_bytes(elsewhere, "jsonl", None, [line for line in lines if b'"seq":5,' not in line])


async def test_openai_chat_gives_the_current_line_as_the_dialect_spells_it(store, tenant):
    session = await varied(store, tenant)
    assert json.loads(await exported(store, tenant, session, "openai-chat")) == {
        "messages": [{"role": "user", "content": "Again."}, {"role": "assistant", "content": "Well."}]
    }


async def test_long_texts_leave_with_the_text(store, tenant):
    data = json.dumps({"messages": [{"role": "user", "content": LONG.replace("\ud800", "é")}]}).encode()
    (one,) = (await importing(store).import_bytes(tenant, "openai-chat", None, [data]))["sessions"]
    session = parse_id(SESSION, one["id"])
    assert session is not None
    out = json.loads(await exported(store, tenant, session, "openai-chat"))
    assert out == json.loads(data)


async def test_unknown_sessions_and_formats_are_named_before_the_first_byte(store, tenant):
    session = await varied(store, tenant)
    with pytest.raises(NotFound):
        await exported(store, uuid4(), session)
    with pytest.raises(Invalid):
        await exported(store, tenant, session, "markdown")
