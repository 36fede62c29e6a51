"""Turns over HTTP: acceptance, forms of the answer, streams and their resumption, leaving, ending."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.api.conftest import AGENT, open_session
from tests.api.frames import frames

SSE = {"Accept": "text/event-stream"}


def scripted(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"upstream": "scripted", "name": "scripted", "params": {"script": list(steps)}}


SLOW = scripted({"text": "slow words " * 12, "chunk_chars": 11, "delay_ms": 60})
CALLS = scripted(
    {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": '{"q": 1}'}, {"id": "c2", "name": "lookup", "arguments": "{}"}]}, {"text": "found"}
)
TOOL = {"name": "lookup", "description": "d", "parameters": {"type": "object"}}

Frame = tuple[str, str, Any]


async def streamed(
    client: httpx.AsyncClient, path: str, body: dict[str, Any] | None = None, *, leave_after: str = "", headers: dict[str, str] | None = None
) -> list[Frame]:
    found: list[Frame] = []
    async with client.stream("GET" if body is None else "POST", path, json=body, headers={**SSE, **(headers or {})}) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["content-location"].endswith("/events")
        async for frame in frames(answer):
            found.append(frame)
            if frame[1] == leave_after:
                break
    return found


def text_of(events: list[Frame]) -> str:
    return "".join(data["text"] for _, name, data in events if name == "text.delta")


@pytest.mark.req("X-75", "S4-15")
async def test_a_turn_streams_and_every_id_resumes_to_exactly_the_rest(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        session = await open_session(client, model=scripted({"text": "Bonjour. \u2028" * 8, "chunk_chars": 7}))
        events = await streamed(client, f"/sessions/{session}/turns", {"input": "hi"})
        names = [name for _, name, _ in events]
        assert names[:2] == ["turn.started", "call.started"]
        assert names[-1] == "turn.completed"
        assert names.index("context.compiled") < names.index("text.delta")
        assert text_of(events) == "Bonjour. \u2028" * 8
        assert all(data["type"] == name for _, name, data in events)
        ids = [int(number) for number, _, _ in events]
        assert ids == sorted(set(ids))
        turn = events[-1][2]["turn"]
        path = f"/sessions/{session}/turns/{turn['id']}/events"
        assert await streamed(client, path) == events
        for at in range(len(events) - 1):
            assert await streamed(client, path, headers={"Last-Event-ID": events[at][0]}) == events[at + 1 :]
        assert await streamed(client, f"{path}?after={events[3][0]}") == events[4:]
        assert (await client.get(path, headers={**SSE, "Last-Event-ID": events[-1][0]})).status_code == 204
        assert (await client.get(path, headers={**SSE, "Last-Event-ID": "x"})).status_code == 422
        assert (await client.get(path, headers={"Accept": "application/json"})).status_code == 406
        shown = (await client.get(f"/sessions/{session}/turns/{turn['id']}")).json()
        assert shown == turn
        assert (await client.get(f"/sessions/{session}/turns")).json()["data"] == [turn]


async def test_the_form_of_the_answer_is_what_accept_says(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    path = f"/sessions/{session}/turns"
    for accept, form in (
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/event-stream", "text/event-stream; charset=utf-8"),
        ("text/event-stream, */*", "text/event-stream; charset=utf-8"),
        ("application/json;q=0.5, text/event-stream", "text/event-stream; charset=utf-8"),
        ("text/event-stream;q=0, */*", "application/json"),
    ):
        answer = await client.post(path, json={"input": "x"}, headers={} if accept is None else {"Accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (200, form), accept
    before = (await client.get(f"/sessions/{session}")).json()["head_seq"]
    for accept in ("image/png", "application/json;q=0"):
        assert (await client.post(path, json={"input": "x"}, headers={"Accept": accept})).status_code == 406
    assert (await client.get(f"/sessions/{session}")).json()["head_seq"] == before


@pytest.mark.req("X-01", "X-76")
async def test_a_client_that_leaves_loses_nothing(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        session = await open_session(client, model=SLOW)
        first = await streamed(client, f"/sessions/{session}/turns", {"input": "go"}, leave_after="text.delta")
        turn = first[0][2]["turn_id"]
        rest = await streamed(client, f"/sessions/{session}/turns/{turn}/events", headers={"Last-Event-ID": first[-1][0]})
        assert text_of([*first, *rest]) == "slow words " * 12
        assert rest[-1][1] == "turn.completed"


async def test_a_turn_is_cancelled_by_leaving_where_it_was_asked_to(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        session = await open_session(client, model=SLOW)
        body = {"input": "go", "on_disconnect": "cancel"}
        first = await streamed(client, f"/sessions/{session}/turns", body, leave_after="text.delta")
        turn = first[0][2]["turn_id"]
        rest = await streamed(client, f"/sessions/{session}/turns/{turn}/events")
        assert rest[-1][1] == "turn.cancelled"
        kept = (await client.get(f"/sessions/{session}/raw")).json()["data"][-1]["body"]
        assert kept["status"] == "cancelled"
        with pytest.raises(httpx.ReadTimeout):
            await client.post(f"/sessions/{session}/turns", json=body, timeout=0.4)
        turns = (await client.get(f"/sessions/{session}/turns")).json()["data"]
        async with asyncio.timeout(10):
            while turns[-1]["status"] == "running":
                await asyncio.sleep(0.1)
                turns = (await client.get(f"/sessions/{session}/turns")).json()["data"]
        assert turns[-1]["status"] == "cancelled"


@pytest.mark.req("X-05")
async def test_one_turn_at_a_time_and_a_key_is_one_turn(client: httpx.AsyncClient) -> None:
    session = await open_session(client, model=SLOW)
    path = f"/sessions/{session}/turns"
    answers = await asyncio.gather(*[client.post(path, json={"input": f"q{n}"}) for n in range(8)])
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    accepted = next(answer for answer in answers if answer.status_code == 200).json()
    for busy in (answer for answer in answers if answer.status_code == 409):
        assert (busy.json()["code"], busy.json()["turn_id"]) == ("session-busy", accepted["id"])
        assert int(busy.headers["retry-after"]) >= 1
    key = {"Idempotency-Key": "k"}
    same = await asyncio.gather(*[client.post(path, json={"input": "same"}, headers=key) for _ in range(4)])
    assert len({answer.json()["id"] for answer in same}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in same) == 3
    attached = await streamed(client, path, {"input": "same"}, headers=key)
    assert attached[-1][1] == "turn.completed"
    reused = await client.post(path, json={"input": "other"}, headers=key)
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
    assert len((await client.get(path)).json()["data"]) == 2


async def test_background_is_accepted_at_once(client: httpx.AsyncClient) -> None:
    session = await open_session(client, model=SLOW)
    path = f"/sessions/{session}/turns"
    accepted = await client.post(path, json={"input": "go", "background": True}, headers=SSE)
    assert (accepted.status_code, accepted.json()["status"]) == (202, "running")
    assert accepted.headers["location"] == f"{path}/{accepted.json()['id']}"
    together = await client.post(path, json={"input": "x", "background": True, "persist": False})
    assert (together.status_code, together.json()["errors"][0]["pointer"]) == (422, "/persist")
    cancelled = await client.post(f"{path}/{accepted.json()['id']}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    assert (await client.post(f"{path}/{accepted.json()['id']}/cancel", json={})).json() == cancelled.json()
    assert (await client.post(f"/sessions/{session}/stop")).json() == {"object": "stop", "session_id": session, "turn": None}


@pytest.mark.req("X-83")
async def test_client_tools_wait_for_their_results(client: httpx.AsyncClient) -> None:
    session = await open_session(client, model=CALLS, tools=[TOOL])
    path = f"/sessions/{session}/turns"
    events = await streamed(client, path, {"input": "go"})
    assert events[-1][1] == "turn.requires_action"
    turn = events[-1][2]["turn"]
    assert [(one["tool_call_id"], one["arguments"], one["needs"]) for one in turn["pending"]] == [
        ("c1", '{"q": 1}', "result"),
        ("c2", "{}", "result"),
    ]
    pending = await client.post(path, json={"input": "x"})
    assert (pending.status_code, pending.json()["code"], pending.json()["turn_id"]) == (409, "pending-action", turn["id"])
    results = f"{path}/{turn['id']}/tool-results"
    unknown = await client.post(results, json={"results": [{"tool_call_id": "zz", "content": "x"}]})
    assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/results/0/tool_call_id")
    one = {"results": [{"tool_call_id": "c1", "content": "a"}]}
    waiting = await client.post(results, json=one)
    assert (waiting.json()["status"], [left["tool_call_id"] for left in waiting.json()["pending"]]) == ("requires_action", ["c2"])
    assert (await client.post(results, json=one)).status_code == 200
    other = await client.post(results, json={"results": [{"tool_call_id": "c1", "content": "b"}]})
    assert (other.status_code, other.json()["code"]) == (409, "tool-result-conflict")
    rest = await streamed(client, results, {"results": [{"tool_call_id": "c2", "content": [{"type": "text", "text": "b"}], "is_error": True}]})
    assert rest[-1][1] == "turn.completed"
    assert text_of(rest) == "found"
    assert int(rest[0][0]) > int(events[-1][0])
    settled = await client.post(results, json={"results": [{"tool_call_id": "c2", "content": "other"}]})
    assert (settled.status_code, settled.json()["code"]) in ((409, "turn-settled"), (409, "tool-result-conflict"))


async def test_retry_and_regenerate_run_the_input_again(client: httpx.AsyncClient) -> None:
    failing = scripted({"error": {"status": 401, "code": "bad-key"}}, {"text": "better"})
    session = await open_session(client, model=failing)
    path = f"/sessions/{session}/turns"
    failed = (await client.post(path, json={"input": "go"})).json()
    assert (failed["status"], failed["error"]["code"]) == ("failed", "upstream-auth")
    retried = (await client.post(f"{path}/{failed['id']}/retry")).json()
    assert (retried["status"], retried["retry_of"], retried["input_seq"]) == ("completed", failed["id"], failed["input_seq"])
    refused = await client.post(f"{path}/{retried['id']}/retry", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "not-retryable")
    sibling = (await client.post(f"{path}/{retried['id']}/regenerate", json={}, headers={"Idempotency-Key": "r"})).json()
    assert (sibling["status"], sibling["retry_of"]) == ("completed", retried["id"])
    again = await client.post(f"{path}/{retried['id']}/regenerate", json={}, headers={"Idempotency-Key": "r"})
    assert (again.json()["id"], again.headers["idempotent-replayed"]) == (sibling["id"], "true")
    hidden = (await client.post(path, json={"input": "x", "persist": False})).json()
    assert hidden["input_seq"] is None
    unstored = await client.post(f"{path}/{hidden['id']}/regenerate")
    assert (unstored.status_code, unstored.json()["code"]) == (409, "input-not-stored")


async def test_comments_keep_a_silent_stream_open(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        session = await open_session(client, model=scripted({"text": "late", "delay_ms": 1200}))
        raw = b""
        async with client.stream("POST", f"/sessions/{session}/turns", json={"input": "x"}, headers=SSE) as answer:
            async for piece in answer.aiter_bytes():
                raw += piece
        assert raw.startswith(b": open\n\n")
        assert raw.count(b"\n: \n\n") >= 2


async def test_a_turn_of_another_session_is_not_found(client: httpx.AsyncClient) -> None:
    session, other = await open_session(client), await open_session(client)
    turn = (await client.post(f"/sessions/{session}/turns", json={"input": "x"})).json()["id"]
    for path in (f"/sessions/{other}/turns/{turn}", f"/sessions/{other}/turns/{turn}/events", f"/sessions/{session}/turns/x"):
        assert (await client.get(path)).status_code == 404
    assert (await client.post(f"/sessions/{other}/turns", json={"input": "x", "follows": turn})).status_code == 404
    assert (await client.put("/agents/triage", json=AGENT)).status_code in (200, 201)
