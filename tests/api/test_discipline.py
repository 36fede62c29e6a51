"""Section 1 of the contract: what every route does with ill-formed requests, foreign callers and its own failures."""

import asyncio
import logging
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.api.problems import PROBLEMS
from app.config.limits import BODY_BYTES_MAX
from tests.api.conftest import AGENT, message, open_session

PROBE = "PROBE-VALIDATION-77"
JSON = {"content-type": "application/json"}


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document, checked for what all of them have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["code"] == code, found
    assert (found["type"], found["status"], found["request_id"]) == (f"/problems/{code}", status, answer.headers["x-request-id"])
    return found


@pytest.mark.req("X-85")
async def test_ids_that_do_not_parse_or_are_unknown_are_not_found(client: httpx.AsyncClient) -> None:
    for path in ("/sessions/ses_01h455vb4pex5vsknk084sn02q", "/sessions/trn_01h455vb4pex5vsknk084sn02q", "/sessions/x", "/sessions/", "/nowhere"):
        problem(await client.get(path), 404, "not-found")


@pytest.mark.req("X-85")
async def test_every_problem_is_served(client: httpx.AsyncClient) -> None:
    for code, row in PROBLEMS.items():
        found = (await client.get(f"/problems/{code}")).json()
        assert (found["status"], found["title"]) == (row.status, row.title)
    problem(await client.get("/problems/no-such"), 404, "not-found")


@pytest.mark.req("X-85")
async def test_a_method_that_a_path_does_not_have_is_405_with_those_that_it_has(client: httpx.AsyncClient) -> None:
    answer = await client.delete("/sessions")
    problem(answer, 405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.req("X-85")
async def test_unknown_fields_and_parameters_are_refused_with_pointers(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    found = problem(await client.post(f"/sessions/{session}/turns", json={"inptu": PROBE}), 422, "invalid-request")
    assert {(one["pointer"], one["code"]) for one in found["errors"]} == {("/inptu", "unknown-field"), ("/input", "missing")}
    for query in ("?nope=1", "?limit=0", "?limit=-1", "?limit=1001", "?limit=abc", "?limit=1&limit=2", "?status=open", "?agent=a%00b"):
        assert len(problem(await client.get(f"/sessions{query}"), 422, "invalid-request")["errors"]) == 1


@pytest.mark.req("X-85")
async def test_faults_never_repeat_the_input(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    session = await open_session(client)
    caplog.set_level(logging.DEBUG)
    wrong = [
        {"entries": [{"kind": "user_message", "parts": PROBE}]},
        {"entries": [{"kind": PROBE, "parts": [{"type": "text", "text": PROBE}]}]},
        {"entries": [{"kind": "user_message", "parts": [{"type": PROBE, "text": PROBE}]}]},
        {"entries": [{"kind": "tool_result", "parts": [{"type": "text", "text": PROBE}]}], "expected_head": PROBE},
        {"entries": [{"kind": "user_message", "parts": [{"type": "image", "data": PROBE + "!", "media_type": "image/png"}]}]},
    ]
    for body in wrong:
        answer = await client.post(f"/sessions/{session}/entries", json=body)
        assert problem(answer, 422, "invalid-request")["errors"]
        assert PROBE not in answer.text
    assert PROBE not in caplog.text


@pytest.mark.req("X-85")
async def test_what_is_no_strict_json_is_refused(client: httpx.AsyncClient) -> None:
    wrong = [
        (b'{"agent":"a","agent":"b"}', "duplicate-key"),
        (b'{"agent":NaN}', "not-finite"),
        (b'{"agent":-Infinity}', "not-finite"),
        (b'{"agent":', "invalid-json"),
        (b"", "invalid-json"),
        (b'{"agent":"\xff"}', "invalid-json"),
        (b'{"metadata":' + b'{"a":' * 1000 + b"1" + b"}" * 1000 + b"}", "too-deep"),
        (b"[" * 200_000, "too-deep"),
    ]
    for body, code in wrong:
        found = problem(await client.post("/sessions", content=body, headers=JSON), 422, "invalid-json")
        assert [one["code"] for one in found["errors"]] == [code]


@pytest.mark.req("X-85")
async def test_bodies_need_their_media_type(client: httpx.AsyncClient) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""):
        problem(await client.post("/sessions", content=b"{}", headers={"content-type": media_type}), 415, "unsupported-media-type")


@pytest.mark.req("X-85")
async def test_a_body_is_counted_while_it_streams(client: httpx.AsyncClient) -> None:
    sent = 0

    async def pieces() -> Any:
        nonlocal sent
        for _ in range(100):
            sent += 2**20
            yield b" " * 2**20

    problem(await client.post("/sessions", content=pieces(), headers=JSON), 413, "payload-too-large")
    assert sent == BODY_BYTES_MAX + 2**20
    announced = await client.post("/sessions", content=b"{}", headers={**JSON, "content-length": str(BODY_BYTES_MAX + 1)})
    problem(announced, 413, "payload-too-large")


@pytest.mark.req("X-85")
async def test_request_ids_are_taken_over_where_they_are_harmless(client: httpx.AsyncClient) -> None:
    assert (await client.get("/livez", headers={"X-Request-Id": "a.B_9-"})).headers["x-request-id"] == "a.B_9-"
    for given in ("a%0d%0aSet-Cookie:x=1", "z" * 10_000, "", "a b"):
        answer = await client.get("/sessions/x", headers={"X-Request-Id": given})
        made = problem(answer, 404, "not-found")["request_id"]
        assert made != given
        assert len(made) == 32
        assert "set-cookie" not in answer.headers


@pytest.mark.req("X-85")
async def test_answers_are_not_kept_by_caches(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    assert (await client.get("/sessions")).headers["cache-control"] == "no-store"
    assert (await client.get(f"/sessions/{session}")).headers["cache-control"] == "private, no-cache"
    assert (await client.get("/sessions/x")).headers["cache-control"] == "no-store"


@pytest.mark.req("X-88")
async def test_without_keys_a_foreign_host_is_refused(client: httpx.AsyncClient) -> None:
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.1", ""):
        problem(await client.get("/livez", headers={"Host": host}), 403, "foreign-host")


@pytest.mark.req("X-88")
async def test_without_keys_a_foreign_page_is_refused_and_a_local_one_served(client: httpx.AsyncClient) -> None:
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        problem(await client.get("/sessions", headers={"Origin": origin}), 403, "foreign-origin")
    for host, origin in (("localhost:8080", "http://localhost:3000"), ("[::1]:1", "http://127.0.0.1"), ("127.0.0.2", "http://[::1]:9")):
        answer = await client.get("/sessions", headers={"Host": host, "Origin": origin})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.req("X-85", "X-86")
async def test_an_unexpected_failure_is_one_fixed_sentence(
    app: FastAPI, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("connection to postgresql://app:pw-canary-1@db.internal.test:5432/x failed, see /opt/app/secret.yaml")

    monkeypatch.setattr(type(app.state.services.sessions), "list", broken)
    answer = await client.get("/sessions", headers={"X-Request-Id": "find-me"})
    problem(answer, 500, "internal")
    for secret in ("pw-canary-1", "db.internal.test", "/opt/app", "RuntimeError"):
        assert secret not in answer.text
    assert any(record.getMessage() == "unexpected failure" for record in caplog.records)


@pytest.mark.req("X-85")
async def test_a_database_that_refuses_shows_no_prompt(client: httpx.AsyncClient, migrate_url: str, caplog: pytest.LogCaptureFixture) -> None:
    import asyncpg

    session = await open_session(client)
    connection = await asyncpg.connect(migrate_url)
    try:
        await connection.execute(
            "CREATE FUNCTION public.boom() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'boom %', NEW.payload; END $$"
        )
        await connection.execute("GRANT EXECUTE ON FUNCTION public.boom() TO PUBLIC")
        await connection.execute("CREATE TRIGGER boom BEFORE INSERT ON ledger.entries FOR EACH ROW EXECUTE FUNCTION public.boom()")
    finally:
        await connection.close()
    caplog.set_level(logging.DEBUG)
    answer = await client.post(f"/sessions/{session}/entries", json={"entries": [message("PROBE-CANARY-41f0")]})
    problem(answer, 500, "internal")
    assert "PROBE-CANARY-41f0" not in answer.text + caplog.text
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert "P0001" in record.getMessage()
    assert "StorageFault" in caplog.text


async def test_openapi_and_docs_are_served_without_anything_from_elsewhere(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    page = await client.get("/docs")
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<script" not in page.text
    assert "/sessions/{session_id}/turns" in page.text


async def test_health_and_metrics(client: httpx.AsyncClient) -> None:
    assert (await client.get("/livez")).json() == {"status": "ok", "auth": "local"}
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert set(ready.json()["checks"]) >= {"database", "migrations", "disk"}
    metrics = await client.get("/metrics")
    assert 'context_ledger_requests_total{method="GET",route="/readyz",status="200"} 1.0' in metrics.text


async def test_a_caller_cannot_make_counters(client: httpx.AsyncClient) -> None:
    for method, path in (("BREW", "/livez"), ("BREW", "/nowhere"), ("GET", "/somewhere")):
        await client.request(method, path)
    counted = [line for line in (await client.get("/metrics")).text.splitlines() if line.startswith("context_ledger_requests_total{")]
    assert {line.partition("{")[2].partition(",status")[0] for line in counted} == {'method="other",route="other"'}


async def test_not_ready_while_draining(app: FastAPI, client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    await asyncio.wait_for(app.state.drain(), 5)
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "unready")
    refused = await client.post(f"/sessions/{session}/turns", json={"input": "x"})
    problem(refused, 503, "shutting-down")
    assert int(refused.headers["retry-after"]) >= 1
    assert (await client.get("/livez")).status_code == 200


@pytest.mark.req("S3-05", "S3-06")
async def test_unknown_capacity_is_refused_and_nothing_stored(client: httpx.AsyncClient) -> None:
    model = {"upstream": "scripted", "name": "nobody-knows"}
    problem(await client.put("/agents/unknown", json={"model": model}), 422, "unknown-capacity")
    elsewhere = await client.put("/agents/unknown", json={"model": {"upstream": "nowhere", "name": "x"}})
    assert problem(elsewhere, 422, "unknown-upstream")["errors"][0]["pointer"] == "/model/upstream"
    half = await client.put("/agents/unknown", json={"model": model, "limits": {"context_window": 1000}})
    assert problem(half, 422, "invalid-request")["errors"][0]["pointer"] == "/limits/max_output_tokens"
    problem(await client.get("/agents/unknown"), 404, "not-found")


async def test_what_is_not_built_yet_is_said_and_never_ignored(client: httpx.AsyncClient) -> None:
    wrong = [("PUT", "/agents/a", {**AGENT, "state_schema": {"temp": {}}}, "/state_schema/temp")]
    for method, path, body, pointer in wrong:
        found = problem(await client.request(method, path, json=body), 422, "not-yet-supported")
        assert [one["pointer"] for one in found["errors"]] == [pointer], found
    problem(await client.get("/agents/a"), 404, "not-found")


def test_the_table_knows_every_code_of_the_error_tree() -> None:
    from app.entries import errors

    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LedgerError)}
    assert codes <= PROBLEMS.keys()
