"""Agents, sessions, state and line over HTTP."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.api.conftest import AGENT, message, open_session

OTHER = {**AGENT, "model": {"upstream": "scripted", "name": "other", "params": {"script": [{"text": "Hallo."}]}}}
STATE = {"session": {"type": "object", "properties": {"patient": {"type": "string"}, "n": {"type": "integer"}}, "additionalProperties": False}}


async def turn(client: httpx.AsyncClient, session: str, text: str = "hi", **more: Any) -> dict[str, Any]:
    answer = await client.post(f"/sessions/{session}/turns", json={"input": text, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def ledger(client: httpx.AsyncClient, session: str, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/sessions/{session}/raw", params={"view": "ledger", **query})).json()["data"]
    return found


@pytest.mark.req("S3-07")
async def test_equal_documents_make_one_revision_and_old_ones_stay(client: httpx.AsyncClient) -> None:
    first = await client.put("/agents/a", json=AGENT)
    assert (first.status_code, first.json()["revision"]) == (201, 1)
    assert (await client.put("/agents/a", json=AGENT)).status_code == 200
    second = await client.put("/agents/a", json=OTHER)
    assert (second.status_code, second.json()["revision"]) == (201, 2)
    assert (await client.get("/agents/a")).json()["revision"] == 2
    assert (await client.get("/agents/a/revisions/1")).json() == first.json()
    pages = [(await client.get("/agents/a/revisions", params={"limit": 1, "after": after})).json() for after in (0, 1)]
    assert [(page["data"][0]["revision"], page["has_more"], page["next"]) for page in pages] == [(1, True, 1), (2, False, None)]
    for path in ("/agents/a/revisions/3", "/agents/a/revisions/x", "/agents/b", "/agents/b/revisions"):
        assert (await client.get(path)).status_code == 404


@pytest.mark.req("X-10", "X-17")
async def test_a_session_says_where_it_stands(client: httpx.AsyncClient) -> None:
    session = await open_session(client, session={"title": "t", "metadata": {"b": 1, "a": 1.0}, "user": "u", "external_id": "e"})
    found = await client.get(f"/sessions/{session}")
    body = found.json()
    assert (body["head_seq"], body["message_count"], body["status"], body["follows"], body["agent_revision"]) == (1, 0, "idle", True, 1)
    assert '"metadata":{"b":1,"a":1.0}' in found.text
    assert found.headers["etag"] == '"1.0"'
    again = await client.get(f"/sessions/{session}", headers={"If-None-Match": '"1.0"'})
    assert (again.status_code, again.content) == (304, b"")
    assert (await client.get(f"/sessions/{session}", headers={"If-None-Match": '"0.0"'})).status_code == 200


async def test_an_external_id_is_taken_once_for_each_user(client: httpx.AsyncClient) -> None:
    first = await open_session(client, session={"user": "u", "external_id": "e"})
    taken = await client.post("/sessions", json={"agent": "triage", "user": "u", "external_id": "e"})
    assert (taken.status_code, taken.json()["code"]) == (409, "exists")
    given = await client.post("/sessions", json={"agent": "triage", "user": "u", "external_id": "e", "if_exists": "return"})
    assert (given.status_code, given.json()["id"]) == (200, first)
    assert (await open_session(client, session={"user": "v", "external_id": "e"})) != first
    assert (await client.get("/sessions", params={"user": "u", "external_id": "e"})).json()["data"][0]["id"] == first


@pytest.mark.req("X-05")
async def test_a_key_opens_one_session_and_gives_its_first_answer_again(client: httpx.AsyncClient) -> None:
    await client.put("/agents/triage", json=AGENT)
    body, key = {"agent": "triage", "state": {"session": {"x": 1}}}, {"Idempotency-Key": '"k 1"'.replace(" ", "-")}
    answers = await asyncio.gather(*[client.post("/sessions", json=body, headers=key) for _ in range(5)])
    first = answers[0].json()
    await turn(client, first["id"])
    answers.append(await client.post("/sessions", json=body, headers={"Idempotency-Key": "k-1"}))
    assert {answer.status_code for answer in answers} == {201}
    assert all(answer.json() == first for answer in answers)
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 5
    reused = await client.post("/sessions", json={"agent": "triage"}, headers=key)
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
    for bad in ("", '""', "k" * 256, "a b"):
        refused = await client.post("/sessions", json=body, headers={"Idempotency-Key": bad})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid-idempotency-key"), bad


@pytest.mark.req("X-05")
async def test_a_refused_request_consumes_no_key(client: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "k"}
    refused = await client.post("/sessions", json={"agent": "nobody"}, headers=key)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown-agent")
    await client.put("/agents/triage", json=AGENT)
    assert (await client.post("/sessions", json={"agent": "triage"}, headers=key)).status_code == 201


@pytest.mark.req("X-07")
async def test_lists_walk_by_key_and_newest_activity_first(client: httpx.AsyncClient) -> None:
    made = [await open_session(client, session={"metadata": {"case": str(n % 2), "n": n}}) for n in range(7)]
    await client.post(f"/sessions/{made[0]}/entries", json={"entries": [message("hi")]})
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 3}
    sizes = []
    while True:
        page = (await client.get("/sessions", params=query)).json()
        seen += [one["id"] for one in page["data"]]
        sizes.append(len(page["data"]))
        if not page["has_more"]:
            assert page["next"] is None
            break
        query["after"] = page["next"]
    assert sizes == [3, 3, 1]
    assert seen == [made[0], *reversed(made[1:])]
    odd = (await client.get("/sessions", params={"metadata.case": "1"})).json()["data"]
    assert [one["id"] for one in odd] == [made[5], made[3], made[1]]
    assert (await client.get("/sessions", params={"after": "nonsense!"})).status_code == 422


async def test_title_and_metadata_change_the_etag_and_no_entry(client: httpx.AsyncClient) -> None:
    session = await open_session(client, session={"title": "first"})
    changed = await client.patch(f"/sessions/{session}", json={"title": None, "metadata": {"k": "v"}}, headers={"If-Match": '"1.0"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"1.1"')
    assert (changed.json()["title"], changed.json()["metadata"], changed.json()["head_seq"]) == (None, {"k": "v"}, 1)
    stale = await client.patch(f"/sessions/{session}", json={"title": "x"}, headers={"If-Match": '"1.0"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["head_seq"]) == (412, "head-mismatch", 1)
    for good in ("*", "1", '"1"'):
        assert (await client.patch(f"/sessions/{session}", json={"title": good}, headers={"If-Match": good})).status_code == 200
    for bad in ('"x"', "2", "W/1"):
        assert (await client.patch(f"/sessions/{session}", json={"title": "x"}, headers={"If-Match": bad})).status_code == 412


@pytest.mark.req("S1-09")
async def test_agent_and_revision_switch_by_entries(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    await client.put("/agents/triage", json=OTHER)
    await client.put("/agents/other", json=OTHER)
    pinned = (await client.patch(f"/sessions/{session}", json={"agent_revision": 1})).json()
    assert (pinned["agent_revision"], pinned["follows"]) == (1, False)
    latest = (await client.patch(f"/sessions/{session}", json={"agent_revision": "latest"})).json()
    assert (latest["agent_revision"], latest["follows"], latest["model"]["name"]) == (2, True, "other")
    moved = (await client.patch(f"/sessions/{session}", json={"agent": "other"})).json()
    assert (moved["agent"], moved["agent_revision"]) == ("other", 1)
    before = moved["head_seq"]
    for body in ({"agent": "nobody"}, {"agent_revision": 9}, {"agent": "triage", "model": {"upstream": "nope", "name": "x"}, "title": "t"}):
        assert (await client.patch(f"/sessions/{session}", json=body)).status_code == 422
    after = (await client.get(f"/sessions/{session}")).json()
    assert (after["head_seq"], after["title"], after["agent"]) == (before, None, "other")
    assert [entry["kind"] for entry in await ledger(client, session)] == ["session_opened", "agent_adopted", "agent_adopted", "agent_adopted"]


async def test_a_model_switch_lasts_until_a_revision_names_another(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    switched = await client.patch(f"/sessions/{session}", json={"model": {"upstream": "scripted", "name": "gpt-4.1"}})
    assert switched.json()["model"] == {"upstream": "scripted", "name": "gpt-4.1", "params": {}}
    await client.put("/agents/triage", json={**AGENT, "turn": {"max_steps": 3}})
    same_model = (await client.patch(f"/sessions/{session}", json={"agent_revision": 2})).json()
    assert same_model["model"]["name"] == "gpt-4.1"
    await client.put("/agents/triage", json=OTHER)
    other_model = (await client.patch(f"/sessions/{session}", json={"agent_revision": 3})).json()
    assert other_model["model"]["name"] == "other"
    await client.put("/agents/triage", json={**OTHER, "turn": {"max_steps": 4}})
    again = (await client.patch(f"/sessions/{session}", json={"agent_revision": 4})).json()
    sent = (await client.get(f"/sessions/{session}/model-input")).json()
    assert (again["model"]["name"], sent["model"]) == ("other", "other"), "a switch that ended does not come back"


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"top_p": 0.5}, "/params/top_p"),
        ({"reasoning": {"effort": "much"}}, "/params/reasoning/effort"),
        ({"script": [{"txet": "x"}]}, "/params/script/0/txet"),
    ],
)
async def test_parameters_that_no_call_could_follow_are_refused_wherever_they_are_given(
    client: httpx.AsyncClient, params: dict[str, Any], pointer: str
) -> None:
    session = await open_session(client)
    model = {"upstream": "scripted", "name": "scripted", "params": params}
    switched = await client.patch(f"/sessions/{session}", json={"model": model})
    overrides = {"model": {"params": params}}
    posted = await client.post(f"/sessions/{session}/turns", json={"input": "x", "overrides": overrides})
    asked = await client.post(f"/sessions/{session}/model-input", json={"input": "x", "overrides": overrides})
    for answer, place in ((switched, "/model"), (posted, "/overrides/model"), (asked, "/overrides/model")):
        assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (422, [place + pointer]), answer.text
    assert (await client.get(f"/sessions/{session}")).json()["head_seq"] == 1


async def test_state_is_patched_by_scope_against_its_schema(client: httpx.AsyncClient) -> None:
    session = await open_session(client, session={"state": {"session": {"patient": "Ann"}}}, state_schema=STATE)
    path = f"/sessions/{session}/state"
    assert (await client.get(path)).json()["state"] == {"session": {"patient": "Ann"}}
    patched = await client.patch(path, json={"session": {"n": 2, "patient": None}})
    assert (patched.json()["state"], patched.json()["seq"], patched.headers["etag"]) == ({"session": {"n": 2}}, 3, '"3"')
    assert (await client.get(path, params={"at_seq": 2})).json()["state"] == {"session": {"patient": "Ann"}}
    same = await client.patch(path, json={"session": {"n": 2}})
    assert same.json()["head_seq"] == 3
    wrong = [({"session": {"n": "x"}}, "/session/n"), ({"session": {"zz": 1}}, "/session/zz"), ({"user": {}}, "/user"), ({"session": 1}, "/session")]
    for body, pointer in wrong:
        answer = await client.patch(path, json=body)
        assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (422, [pointer])
    assert (await client.post("/sessions", json={"agent": "triage", "state": {"session": {"n": "x"}}})).json()["errors"][0][
        "pointer"
    ] == "/state/session/n"
    assert (await client.patch(path, json={"session": {"n": 3}}, headers={"If-Match": "2"})).status_code == 412


@pytest.mark.req("X-01", "X-03")
async def test_of_concurrent_writers_that_saw_one_title_one_sets_it(app: FastAPI, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await open_session(client)
    path, seen, reading = f"/sessions/{session}", {"If-Match": '"1.0"'}, asyncio.Barrier(5)
    sessions = app.state.services.sessions
    find = sessions.find

    async def together(tenant: Any, session_id: str) -> Any:
        found = await find(tenant, session_id)
        if found.meta_version == 0:
            await reading.wait()
        return found

    monkeypatch.setattr(sessions, "find", together)
    answers = await asyncio.gather(*[client.patch(path, json={"title": f"t{n}"}, headers=seen) for n in range(5)])
    monkeypatch.undo()
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412, 412]
    kept = next(answer for answer in answers if answer.status_code == 200)
    shown = await client.get(path)
    assert (shown.json()["title"], shown.headers["etag"]) == (kept.json()["title"], '"1.1"')


@pytest.mark.req("X-01")
async def test_concurrent_patches_lose_nothing(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    answers = await asyncio.gather(*[client.patch(f"/sessions/{session}/state", json={"session": {f"k{n}": n}}) for n in range(8)])
    assert {answer.status_code for answer in answers} == {200}
    assert (await client.get(f"/sessions/{session}/state")).json()["state"]["session"] == {f"k{n}": n for n in range(8)}


async def test_state_keeps_numbers_as_written(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    body = b'{"session":{"id":9007199254740993,"huge":123456789012345678901234567890,"one":1.0,"exp":1e2,"\\ud83d":"\\u0000"}}'
    await client.patch(f"/sessions/{session}/state", content=body, headers={"content-type": "application/json"})
    assert body[1:-1] in (await client.get(f"/sessions/{session}/state")).content


async def test_state_and_titles_change_beside_a_running_turn(client: httpx.AsyncClient) -> None:
    slow = {"upstream": "scripted", "name": "scripted", "params": {"script": [{"text": "slow " * 20, "chunk_chars": 5, "delay_ms": 50}]}}
    session = await open_session(client, model=slow)
    accepted = await client.post(f"/sessions/{session}/turns", json={"input": "go", "background": True})
    assert accepted.status_code == 202
    shown = (await client.get(f"/sessions/{session}")).json()
    assert (shown["status"], shown["running_turn"]) == ("busy", accepted.json()["id"])
    assert (await client.patch(f"/sessions/{session}/state", json={"session": {"a": 1}})).status_code == 200
    assert (await client.patch(f"/sessions/{session}", json={"title": "t"})).status_code == 200
    busy = await client.post(f"/sessions/{session}/entries", json={"entries": [message("x")]})
    assert (busy.status_code, busy.json()["code"], busy.json()["turn_id"]) == (409, "session-busy", accepted.json()["id"])
    assert int(busy.headers["retry-after"]) >= 1
    assert (await client.put(f"/sessions/{session}/line", json={"turn": accepted.json()["id"]})).status_code == 409
    await client.post(f"/sessions/{session}/stop")


async def test_a_turn_that_was_left_is_made_the_last_again(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    first, second = await turn(client, session, "one"), await turn(client, session, "two")
    edited = await turn(client, session, "two, edited", follows=first["id"])
    raw = f"/sessions/{session}/raw"

    async def said() -> list[str]:
        found = (await client.get(raw, params={"kinds": "user_message"})).json()["data"]
        return [entry["body"]["parts"][0]["text"] for entry in found]

    assert await said() == ["one", "two, edited"]
    back = await client.put(f"/sessions/{session}/line", json={"turn": second["id"]})
    assert back.status_code == 200, back.text
    assert await said() == ["one", "two"]
    await client.put(f"/sessions/{session}/line", json={"turn": edited["id"]})
    assert await said() == ["one", "two, edited"]
    everything = (await client.get(raw, params={"line": "all", "kinds": "user_message"})).json()["data"]
    assert len(everything) == 3
    assert (await client.put(f"/sessions/{session}/line", json={"turn": "trn_01h455vb4pex5vsknk084sn02q"})).status_code == 404
    assert (await client.get(f"/sessions/{session}/verify")).json()["ok"] is True


async def test_verify_walks_the_chain(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    await turn(client, session)
    found = (await client.get(f"/sessions/{session}/verify")).json()
    head = (await client.get(f"/sessions/{session}")).json()
    assert (found["ok"], found["entries"], found["head_digest"], found["problems"]) == (True, head["head_seq"], head["head_digest"], [])


async def test_upstreams_show_no_secret(client: httpx.AsyncClient) -> None:
    assert (await client.get("/upstreams")).json()["data"] == [{"name": "scripted", "dialect": "openai-chat", "has_key": False}]
