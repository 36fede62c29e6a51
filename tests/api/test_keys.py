"""Keys, tenants and cross-origin rules: who may ask, and what others never learn."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.api.app import OPERATIONS
from app.config.settings import Settings
from app.services.minting import new_uuid
from app.services.scope import SCOPES
from tests.api.conftest import AGENT, message, open_session, running, talking, with_keys

BOOT = "boot-" + "k" * 40


@pytest_asyncio.fixture
async def keyed(settings: Settings) -> AsyncIterator[FastAPI]:
    async with running(replace(with_keys(settings, BOOT), cors_origins=("https://app.example",))) as app:
        yield app


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def key_of(app: FastAPI, *scopes: str) -> dict[str, str]:
    """The header of a new key of a tenant of its own."""
    _, token = await app.state.services.keys.create(new_uuid(), "test", scopes)
    return bearer(token.reveal())


@pytest.mark.req("X-88", "X-87")
async def test_a_key_is_needed_and_a_rejected_one_is_never_shown(keyed: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "sk-FAKE-1234567890abcdef"
    async with talking(keyed) as client:
        for headers in (
            {},
            {"Authorization": f"Bearer {secret}"},
            {"Authorization": secret},
            {"Authorization": f"Basic {secret}"},
            {"Authorization": "Bearer "},
        ):
            answer = await client.get("/sessions", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert secret[:12] not in answer.text
        for path in ("/livez", "/readyz", "/openapi.json", "/docs", "/problems/unauthorized"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/livez")).json()["auth"] == "keys"
        assert (await client.get("/sessions", headers={**bearer(BOOT), "Host": "service.example"})).status_code == 200
    assert secret[:12] not in caplog.text


@pytest.mark.req("X-87")
async def test_scopes_are_what_a_key_may_do(keyed: FastAPI) -> None:
    async with talking(keyed, headers=bearer(BOOT)) as boot:
        session = await open_session(boot)
        row, token = await keyed.state.services.keys.create((await keyed.state.services.keys.list())[0].tenant, "reader", ["sessions:read"])
        reader = bearer(token.reveal())
        allowed = [("GET", f"/sessions/{session}"), ("GET", f"/sessions/{session}/raw"), ("GET", f"/sessions/{session}/state")]
        refused: list[tuple[str, str, str]] = [
            ("GET", f"/sessions/{session}/raw?view=ledger", "model-input:read"),
            ("GET", f"/sessions/{session}/model-input", "model-input:read"),
            ("GET", "/agents", "model-input:read"),
            ("PUT", "/agents/x", "agents:write"),
            ("POST", "/sessions", "sessions:write"),
            ("POST", f"/sessions/{session}/turns", "sessions:write"),
            ("GET", "/metrics", "admin"),
        ]
        for method, path in allowed:
            assert (await boot.request(method, path, headers=reader)).status_code == 200
        for method, path, scope in refused:
            answer = await boot.request(method, path, headers=reader)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing"), path
            assert scope in answer.json()["detail"]
        assert await keyed.state.services.keys.revoke(None, row.key_id)
        assert (await boot.get(f"/sessions/{session}", headers=reader)).status_code == 401


@pytest.mark.req("X-87")
async def test_another_tenant_sees_nothing_and_hears_404(keyed: FastAPI) -> None:
    async with talking(keyed, headers=await key_of(keyed, *SCOPES)) as mine, talking(keyed, headers=await key_of(keyed, *SCOPES)) as theirs:
        session = await open_session(mine, session={"external_id": "e", "user": "u"})
        await mine.post(f"/sessions/{session}/entries", json={"entries": [message("PRIVATE")]})
        turn = (await mine.post(f"/sessions/{session}/turns", json={"input": "x"})).json()
        call = turn["calls"][0]
        reads = (
            "",
            "/raw",
            "/raw?view=ledger",
            "/state",
            "/verify",
            "/turns",
            "/model-input",
            "/source-map",
            "/calls",
            f"/calls/{call}",
            f"/calls/{call}/model-input",
        )
        turns = (f"/turns/{turn['id']}", f"/turns/{turn['id']}/events")
        for path in (*reads, *turns):
            answer = await theirs.get(f"/sessions/{session}{path}")
            assert answer.status_code == 404, path
            assert "PRIVATE" not in answer.text
        writes: list[tuple[str, str, Any]] = [
            ("PATCH", "", {"title": "x"}),
            ("PUT", "/line", {"turn": turn["id"]}),
            ("PATCH", "/state", {"session": {}}),
            ("POST", "/entries", {"entries": [message("x")]}),
            ("POST", "/turns", {"input": "x"}),
            ("POST", "/stop", {}),
            ("POST", "/model-input", {}),
            ("POST", f"/turns/{turn['id']}/cancel", {}),
            ("POST", f"/turns/{turn['id']}/retry", {}),
            ("POST", f"/turns/{turn['id']}/regenerate", {}),
            ("POST", f"/turns/{turn['id']}/tool-results", {"results": [{"tool_call_id": "c", "content": "x"}]}),
        ]
        for method, path, body in writes:
            assert (await theirs.request(method, f"/sessions/{session}{path}", json=body)).status_code == 404, path
        assert (await theirs.get("/sessions")).json()["data"] == []
        assert (await theirs.get("/agents/triage")).status_code == 404
        assert (await theirs.post("/sessions", json={"agent": "triage"})).status_code == 422
        assert (await theirs.put("/agents/triage", json=AGENT)).status_code == 201
        other = await theirs.post("/sessions", json={"agent": "triage", "external_id": "e", "user": "u"})
        assert other.status_code == 201
        assert (await theirs.put(f"/sessions/{other.json()['id']}/line", json={"turn": turn["id"]})).status_code == 404
        page = (await mine.get("/sessions", params={"limit": 1})).json()
        assert page["next"] is None


@pytest.mark.req("X-85")
async def test_only_named_origins_are_told_that_they_may_read(keyed: FastAPI) -> None:
    async with talking(keyed) as client:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        allowed = await client.options("/sessions", headers={"Origin": "https://app.example", **asked})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, "https://app.example")
        assert "Authorization" in allowed.headers["access-control-allow-headers"]
        assert {one.method for one in OPERATIONS} <= set(allowed.headers["access-control-allow-methods"].split(", ")), "a page may ask of every route"
        refused = await client.options("/sessions", headers={"Origin": "https://evil.example", **asked})
        assert "access-control-allow-origin" not in refused.headers
        read = await client.get("/sessions", headers={"Origin": "https://app.example", **bearer(BOOT)})
        assert read.headers["access-control-allow-origin"] == "https://app.example"
        assert "X-Request-Id" in read.headers["access-control-expose-headers"]
        assert "access-control-allow-origin" not in (await client.get("/livez", headers={"Origin": "https://evil.example"})).headers
