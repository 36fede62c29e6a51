"""What happened, as it comes back: fidelity, views, filters, pages, lines of JSON, live following, blobs."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.api.conftest import message, open_session
from tests.api.frames import frames

HOSTILE = [
    "nul \x00 inside",
    "literal \\u0000 six",
    "sep \u2028 \u2029 end",
    "trailing \n\n",
    "\u202eRTL \u200b zero",
    "👩\u200d👩\u200d👧",
    "{{ mustache }} %s ${x}",
    "<|endoftext|> <|im_start|>",
    "a" * 300_000,
    "é" * 20_000 + "\x00",
    " ",
]


TEXT = {"type": "text", "text": "x"}


async def post(client: httpx.AsyncClient, session: str, *entries: dict[str, Any], **headers: str) -> httpx.Response:
    return await client.post(f"/sessions/{session}/entries", json={"entries": list(entries)}, headers=headers)


async def raw(client: httpx.AsyncClient, session: str, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"/sessions/{session}/raw", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def texts(entries: list[dict[str, Any]]) -> list[str]:
    return ["".join(part["text"] for part in entry["body"]["parts"]) for entry in entries]


@pytest.mark.req("S1-11", "S1-04")
async def test_texts_come_back_as_they_came(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    appended = await post(client, session, *[message(text) for text in HOSTILE])
    assert appended.status_code == 201
    assert texts(appended.json()["entries"]) == HOSTILE
    assert texts(await raw(client, session)) == HOSTILE
    lines = await client.get(f"/sessions/{session}/raw", headers={"Accept": "application/x-ndjson"})
    assert texts([json.loads(line) for line in lines.content.split(b"\n") if line]) == HOSTILE
    kept = await raw(client, session, blobs="ref")
    assert next(part for entry in kept for part in entry["body"]["parts"] if "blob" in part)["blob"]["byte_length"] == 300_000


@pytest.mark.req("X-09", "S1-20")
async def test_lone_surrogates_numbers_and_key_order_survive(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    numbers = b'"attributes":{"z":1,"a":1.0,"big":9223372036854775807,"huge":123456789012345678901234567890,"e":1E2,"m":-0}'
    body = b'{"entries":[{"kind":"user_message","parts":[{"type":"text","text":"lone \\ud83d end"}],' + numbers + b"}]}"
    appended = await client.post(f"/sessions/{session}/entries", content=body, headers={"content-type": "application/json"})
    assert appended.status_code == 201
    for answer in (appended, await client.get(f"/sessions/{session}/raw")):
        assert numbers in answer.content
        assert b"lone \\ud83d end" in answer.content
    long = b'{"entries":[{"kind":"user_message","parts":[{"type":"text","text":"' + b"\\udead" * 20_000 + b'"}]}]}'
    assert (await client.post(f"/sessions/{session}/entries", content=long, headers={"content-type": "application/json"})).status_code == 201
    assert (await client.get(f"/sessions/{session}/raw")).content.count(b"\\udead") == 20_000


@pytest.mark.req("S1-05", "S1-23")
async def test_answers_keep_their_parts_and_the_exact_text_of_arguments(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    arguments = '{"a":1,"a":2, "k\\u0000ey":"v"} trailing'
    parts = [
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_call", "tool_call_id": "c\x001", "name": "write", "arguments": arguments},
        {"type": "text", "text": "done"},
    ]
    answered = {"kind": "assistant_message", "parts": parts, "status": "cancelled", "model": "m", "stop_reason": "finished"}
    result = {"kind": "tool_result", "tool_call_id": "c\x001", "parts": [{"type": "text", "text": "out\x00put"}], "is_error": True}
    assert (await post(client, session, message("x"), answered, result)).status_code == 201
    found = await raw(client, session)
    assert found[1]["body"] == {"parts": parts, "status": "cancelled", "model": "m", "stop_reason": "finished", "call_id": None}
    assert (found[2]["body"]["tool_call_id"], found[2]["body"]["is_error"]) == ("c\x001", True)


@pytest.mark.req("S1-02", "S1-06")
async def test_only_the_contract_s_kinds_and_forms_are_taken(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    wrong = [
        (message("x", "system_message"), "/entries/0/kind"),
        (message("x", "developer"), "/entries/0/kind"),
        ({"parts": [{"type": "text", "text": "x"}]}, "/entries/0/kind"),
        ({"kind": "tool_result", "parts": []}, "/entries/0/tool_call_id"),
        ({"kind": "user_message", "parts": [{"type": "tool_call", "tool_call_id": "c", "name": "n", "arguments": ""}]}, "/entries/0/parts/0/type"),
        ({"kind": "user_message", "parts": []}, "/entries/0/parts"),
        ({"kind": "user_message", "parts": [{"type": "image", "blob": "sha256:" + "0" * 64}]}, "/entries/0/parts/0/blob"),
        ({"kind": "user_message", "parts": [TEXT, {"type": "image", "data": "?", "media_type": "image/png"}]}, "/entries/0/parts/1/data"),
        (message("x", attributes={"k": "v" * 70_000}), "/entries/0/attributes"),
    ]
    for entry, pointer in wrong:
        answer = await post(client, session, entry)
        assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (422, [pointer]), answer.text
    assert (await client.get(f"/sessions/{session}")).json()["head_seq"] == 1


@pytest.mark.req("S1-19", "X-17")
async def test_the_transcript_is_what_a_person_saw(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    await post(client, session, message("a"), message("b", hidden=True), message("c", include_in_context=False), message("d", "agent_message"))
    assert texts(await raw(client, session)) == ["a", "c", "d"]
    everything = await raw(client, session, view="ledger")
    assert [entry["seq"] for entry in everything] == [1, 2, 3, 4, 5]
    assert [entry["message_index"] for entry in everything] == [None, 0, 1, 2, 3]
    assert [entry["kind"] for entry in await raw(client, session, view="ledger", kinds="session_opened,agent_message")] == [
        "session_opened",
        "agent_message",
    ]
    assert await raw(client, session, kinds="session_opened") == []
    assert (await client.get(f"/sessions/{session}/raw", params={"kinds": "nope"})).status_code == 422


@pytest.mark.req("X-07")
async def test_both_walks_give_every_entry_once(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    await post(client, session, *[message(str(n)) for n in range(45)])
    for order, bound in (("asc", "after_seq"), ("desc", "before_seq")):
        seen: list[str] = []
        sizes: list[int] = []
        query: dict[str, Any] = {"limit": 10, "order": order}
        while True:
            page = (await client.get(f"/sessions/{session}/raw", params=query)).json()
            seen += texts(page["data"])
            sizes.append(len(page["data"]))
            if not page["has_more"]:
                break
            query[bound] = page["next"]
        assert sizes == [10, 10, 10, 10, 5]
        assert seen == [str(n) for n in (range(45) if order == "asc" else reversed(range(45)))]
    assert texts(await raw(client, session, after_seq=3, before_seq=6)) == ["2", "3"]
    assert texts(await raw(client, session, at_seq=3)) == ["0", "1"]


@pytest.mark.req("S1-11")
async def test_lines_say_what_pages_say(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever spells them: runs without a blob in the database, runs with one and those in falling order in the service."""
    monkeypatch.setattr("app.storage.ledger.LINES_RUN_ENTRIES", 3)
    monkeypatch.setattr("app.storage.line_pages.LINES_PAGE_ENTRIES", 7)
    session = await open_session(client)
    said = [message(text) for text in ("a", "b", "c", "d", "e" * 50_000, "f", "g", "h", "i", "é\n\u2028", "k" * 40_000, "l")]
    await post(client, session, *said)
    for query in ({}, {"view": "ledger"}, {"view": "ledger", "blobs": "ref"}, {"order": "desc"}, {"after_seq": 3, "before_seq": 9}, {"limit": 4}):
        answer = await client.get(f"/sessions/{session}/raw", params=query, headers={"Accept": "application/x-ndjson"})
        lines = answer.text.split("\n")
        assert lines.pop() == ""
        assert [json.loads(line) for line in lines] == await raw(client, session, **query), query


async def test_raw_is_asked_for_again_by_its_head(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    first = await client.get(f"/sessions/{session}/raw")
    assert first.headers["etag"] == '"1"'
    assert (await client.get(f"/sessions/{session}/raw", headers={"If-None-Match": 'W/"1", "x"'})).status_code == 304
    await post(client, session, message("x"))
    assert (await client.get(f"/sessions/{session}/raw", headers={"If-None-Match": '"1"'})).status_code == 200
    assert (await client.get(f"/sessions/{session}/raw", headers={"Accept": "image/png"})).status_code == 406


@pytest.mark.req("X-05")
async def test_a_key_appends_once(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    answers = await asyncio.gather(*[post(client, session, message("once"), message("a" * 40_000), **{"Idempotency-Key": "k"}) for _ in range(5)])
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 4
    await post(client, session, message("other"))
    late = await post(client, session, message("once"), message("a" * 40_000), **{"Idempotency-Key": '"k"'})
    assert late.text == answers[0].text
    assert len(await raw(client, session)) == 3
    reused = await post(client, session, message("twice"), **{"Idempotency-Key": "k"})
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
    assert texts(await raw(client, session))[0] == "once"


@pytest.mark.req("X-03")
async def test_a_stale_head_writes_nothing(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    assert (await post(client, session, message("a"), **{"If-Match": '"1"'})).status_code == 201
    stale = await post(client, session, message("b"), **{"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["head_seq"]) == (412, "head-mismatch", 2)
    both = await client.post(f"/sessions/{session}/entries", json={"entries": [message("b")], "expected_head": 1}, headers={"If-Match": "2"})
    assert both.status_code == 412
    assert texts(await raw(client, session)) == ["a"]


async def test_media_are_references_and_blobs_are_served_safely(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    image = {"type": "image", "data": "aGVsbG8=", "media_type": "text/html"}
    other = {"type": "file", "url": "https://example.com/a.pdf", "filename": "a\x00.pdf"}
    await post(client, session, {"kind": "user_message", "parts": [image, {"type": "text", "text": "see"}, other]})
    parts = (await raw(client, session))[0]["body"]["parts"]
    assert [part["type"] for part in parts] == ["image", "text", "file"]
    assert parts[2] == other
    digest = parts[0]["blob"]["digest"]
    found = await client.get(f"/sessions/{session}/blobs/{digest}")
    assert (found.content, found.headers["content-disposition"], found.headers["x-content-type-options"]) == (b"hello", "attachment", "nosniff")
    assert "sandbox" in found.headers["content-security-policy"]
    known = await client.get(f"/sessions/{session}/blobs/{digest}", headers={"If-None-Match": found.headers["etag"]})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", found.headers["etag"])
    again = await post(client, session, {"kind": "user_message", "parts": [{"type": "image", "blob": digest}]})
    assert again.json()["entries"][0]["body"]["parts"][0]["blob"] == parts[0]["blob"]
    elsewhere = await open_session(client)
    for path in (f"/sessions/{elsewhere}/blobs/{digest}", f"/sessions/{session}/blobs/sha256:{'0' * 64}", f"/sessions/{session}/blobs/x"):
        assert (await client.get(path)).status_code == 404


async def test_following_live_goes_on_after_the_last_seq(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        session = await open_session(client)
        await post(client, session, message("a"), message("b"))
        seen: list[tuple[str, str]] = []

        async def follow(last: str | None, most: int) -> None:
            headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
            async with client.stream("GET", f"/sessions/{session}/raw", headers=headers) as answer:
                assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
                async for number, name, data in frames(answer):
                    assert name == "entry"
                    seen.append((number, data["body"]["parts"][0]["text"]))
                    if len(seen) == most:
                        return

        await follow(None, 2)
        following = asyncio.create_task(follow(seen[-1][0], 4))
        await asyncio.sleep(0.5)
        await post(client, session, message("c"))
        await post(client, session, message("hidden", hidden=True), message("d"))
        await asyncio.wait_for(following, 10)
    assert seen == [("2", "a"), ("3", "b"), ("4", "c"), ("6", "d")]
