"""Every route that names something by an id, asked by another tenant: not found, as if it were not there. A new route has to be added here."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.api.app import OPERATIONS
from app.api.routing import Operation
from app.config.settings import Settings
from app.services.minting import new_uuid
from app.services.scope import SCOPES
from app.storage.store import Store
from tests.api.conftest import AGENT, message, open_session, running, talking, with_keys
from tests.services.folded import checkpoint

PRIVATE = "PRIVATE-TO-A"
TOOLS = [{"name": "look"}, {"name": "sign", "approval": "always"}]
ASKED = [{"id": "c1", "name": "look", "arguments": "{}"}, {"id": "c2", "name": "sign", "arguments": "{}"}]
SCRIPT = [{"text": PRIVATE, "tool_calls": ASKED}, {"text": "done"}]
ABOUT_NOBODY = {"/problems/{code}", "/validate/{dialect}"}
"""Routes whose path names nothing that belongs to a tenant."""

BODIES: Mapping[str, Any] = {
    "patch_session": {"title": "x"},
    "patch_state": {"session": {}},
    "post_entries": {"entries": [message("x")]},
    "post_turn": {"input": "x"},
    "post_decisions": {"decisions": [{"tool_call_id": "c2", "decision": "deny"}]},
    "post_tool_results": {"results": [{"tool_call_id": "c1", "content": "x"}]},
    "post_model_input": {"input": "x"},
    "put_agent": {**AGENT, "tools": TOOLS},
    "redact_entry": {"reason": "asked for"},
    "fork_session": {"at_seq": 2},
}
"""Bodies that a route needs, by the operation's name; the others get none."""

QUERIES: Mapping[str, Any] = {"explain_entry": {"seq": "1"}}
"""Queries that a route needs, by the operation's name."""

ERASING = ("redact_entry", "delete_session", "delete_user")
"""Asked last: behind them the others would find nothing."""

NAMED = sorted(
    (one for one in OPERATIONS if "{" in one.path and one.path not in ABOUT_NOBODY),
    key=lambda one: ("", *ERASING).index(one.name if one.name in ERASING else ""),
)
IN_A_SESSION = [one for one in NAMED if "{session_id}" in one.path]


class Tenant:
    """A tenant: its client, and the ids of what it has, by the names that paths give them."""

    def __init__(self, client: httpx.AsyncClient, tenant: UUID, store: Store) -> None:
        self.client = client
        self.tenant = tenant
        self.store = store
        self.ids: dict[str, str] = {}

    async def settle_in(self) -> None:
        """An agent, a session with a blob and a checkpoint, a turn that waits for a result, and its call."""
        model = {**AGENT["model"], "params": {"script": SCRIPT}}
        session = await open_session(self.client, name="private", model=model, tools=TOOLS)
        image = {"type": "image", "data": "aGVsbG8=", "media_type": "image/png"}
        appended = await self.client.post(
            f"/sessions/{session}/entries", json={"entries": [{"kind": "user_message", "parts": [image]}, message(PRIVATE)]}
        )
        made = await checkpoint(self.store, session, appended.json()["entries"][1]["seq"], PRIVATE, self.tenant)
        turn = (await self.client.post(f"/sessions/{session}/turns", json={"input": PRIVATE})).json()
        assert turn["status"] == "requires_action"
        digest = appended.json()["entries"][0]["body"]["parts"][0]["blob"]["digest"]
        self.ids = {"session_id": session, "turn_id": turn["id"], "call_id": turn["calls"][0], "checkpoint_id": made, "digest": digest}
        self.ids |= {"name": "private", "revision": "1"}
        self.ids |= {"seq": "2", "user": "nobody/here"}

    async def ask(self, operation: Operation, ids: Mapping[str, str]) -> httpx.Response:
        """The operation's request with these ids in its path and its body."""
        path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], operation.path)
        body = BODIES.get(operation.name, {})
        if operation.name == "put_line":
            body = {"turn": ids["turn_id"]}
        more = {"params": QUERIES.get(operation.name)} if operation.method == "GET" else {"json": body}
        return await self.client.request(operation.method, path, **more)


@pytest_asyncio.fixture
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    async with running(with_keys(settings)) as found:
        yield found


@pytest_asyncio.fixture
async def tenants(app: FastAPI, store: Store) -> AsyncIterator[tuple[Tenant, Tenant]]:
    """Two tenants with everything that a tenant can have; each key has all scopes."""
    owners = new_uuid(), new_uuid()
    tokens = [(await app.state.services.keys.create(owner, "test", SCOPES))[1].reveal() for owner in owners]
    headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
    async with talking(app, headers=headers[0]) as first, talking(app, headers=headers[1]) as second:
        found = Tenant(first, owners[0], store), Tenant(second, owners[1], store)
        for tenant in found:
            await tenant.settle_in()
        yield found


def not_found(answer: httpx.Response, operation: Operation) -> None:
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), (operation.name, answer.text)
    assert PRIVATE not in answer.text


@pytest.mark.req("X-87")
async def test_no_route_finds_what_is_another_tenants(tenants: tuple[Tenant, Tenant]) -> None:
    ours, theirs = tenants
    before = (await ours.client.get(f"/sessions/{ours.ids['session_id']}")).text
    for operation in IN_A_SESSION:
        not_found(await theirs.ask(operation, ours.ids), operation)
        for child in ("turn_id", "call_id", "checkpoint_id"):  # a session of one's own, and what belongs to another one
            if f"{{{child}}}" in operation.path or (child == "turn_id" and operation.name == "put_line"):
                not_found(await theirs.ask(operation, {**theirs.ids, child: ours.ids[child]}), operation)
    assert (await ours.client.get(f"/sessions/{ours.ids['session_id']}")).text == before


@pytest.mark.req("X-87")
async def test_every_route_finds_what_is_ones_own(tenants: tuple[Tenant, Tenant]) -> None:
    """Otherwise the test above would show nothing. What a waiting turn refuses is a conflict."""
    ours, _ = tenants
    for operation in NAMED:
        answer = await ours.ask(operation, ours.ids)
        assert answer.status_code in (200, 201, 409), (operation.name, answer.text)


@pytest.mark.req("X-87")
async def test_names_are_each_tenants_own(tenants: tuple[Tenant, Tenant]) -> None:
    ours, theirs = tenants
    assert (await ours.client.put("/agents/only-ours", json=AGENT)).status_code == 201
    for operation in NAMED:
        if operation not in IN_A_SESSION and operation.method == "GET":
            not_found(await theirs.ask(operation, {**theirs.ids, "name": "only-ours"}), operation)
    listed = (await theirs.client.get("/sessions")).json()["data"]
    assert [session["id"] for session in listed] == [theirs.ids["session_id"]]
    assert [agent["name"] for agent in (await theirs.client.get("/agents")).json()["data"]] == ["private"]
    (blob,) = [one for one in IN_A_SESSION if "{digest}" in one.path]
    text = {"kind": "user_message", "parts": [{"type": "file", "data": "b25seSBvdXJz", "media_type": "text/plain"}]}
    other = await open_session(ours.client, name="private")
    appended = (await ours.client.post(f"/sessions/{other}/entries", json={"entries": [text]})).json()
    digest = appended["entries"][0]["body"]["parts"][0]["blob"]["digest"]
    assert (await ours.ask(blob, {**ours.ids, "session_id": other, "digest": digest})).content == b"only ours"
    not_found(await theirs.ask(blob, {**theirs.ids, "digest": digest}), blob)
