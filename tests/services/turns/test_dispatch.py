"""What leaves for a provider, to the byte: one serialisation a call, the same for every attempt, kept nowhere, proved without it."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import asyncpg
import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.openai_chat import FakeOpenAI, fake_openai, refuse
from tests.fakes.serving import Request
from tests.services.world import World

MODEL = {"upstream": "openai", "name": "gpt-4o"}
TOOLS = [{"name": "lookup", "description": "Finds a record.", "parameters": {"type": "object"}}]
OTHER_TOOLS = [{"name": "search", "description": "Another one.", "parameters": {"type": "object"}}]
SCHEMA = {"session": {"type": "object"}}


def stream(delta: dict[str, Any], reason: str, **last: Any) -> bytes:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    chunks = [{**head, "choices": [{"index": 0, "delta": one, "finish_reason": end}]} for one, end in ((delta, None), ({}, reason))]
    chunks[-1] |= last
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


CALL = stream({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}]}, "tool_calls")
DONE = stream({"content": "Done."}, "stop")


class Watched(FakeOpenAI):
    """Keeps the bytes of each request. Its first one is refused as by a server that is busy, after `meanwhile` was done."""

    meanwhile: Callable[[], Awaitable[None]]
    came: list[bytes]

    async def complete(self, request: Request, send: Any) -> None:
        self.came = [*getattr(self, "came", []), request.raw]
        if len(self.came) == 1:
            await self.meanwhile()
            await refuse(send, 503, "Busy.")
        else:
            await super().complete(request, send)


@pytest.mark.req("S0-05", "S0-07", "S0-09", "S0-10", "S0-38", "S3-39", "S4-12", "T-30")
async def test_attempts_send_the_same_bytes_whatever_changes_meanwhile_and_no_table_keeps_them(settings: Settings, migrate_url: str) -> None:
    async with fake_openai([CALL, DONE], Watched) as fake:
        assert isinstance(fake, Watched)
        settings = replace(settings, upstreams={**settings.upstreams, "openai": fake.upstream(retries_max=1)})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            agent = await world.agent(name="watched", model=MODEL, tools=TOOLS, state_schema=SCHEMA)
            session = await world.session(agent)

            async def change() -> None:
                await world.agent(name="watched", model=MODEL, tools=OTHER_TOOLS, state_schema=SCHEMA)
                await world.call("PATCH", f"/sessions/{session}", 200, json={"agent_revision": "latest", "metadata": {"a": "b"}})
                await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"n": 1}})

            fake.meanwhile = change
            turn = await world.turn(session, "first")
            turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
            await world.turn(session, "second")
            one, again, step, later = fake.came
            assert one == again
            sent = [json.loads(body) for body in (again, step, later)]
            assert sent[1]["messages"][:1] == sent[0]["messages"]
            assert [message["role"] for message in sent[1]["messages"]] == ["user", "assistant", "tool"]
            assert [body["tools"][0]["function"]["name"] for body in sent] == ["lookup", "lookup", "search"]
            calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
            assert [call["digest"] for call in calls] == ["sha256:" + sha256(body).hexdigest() for body in (again, step, later)]
            kinds = [entry["kind"] for entry in await world.ledger(session) if entry["turn"] == 1]
            written = ["user_message", "model_call_started", "assistant_message", "model_call_finished", "tool_result"]
            assert [kind for kind in kinds if kind in written] == [*written, *written[1:4]]
    owner = await asyncpg.connect(migrate_url)
    try:
        tables = [row[0] for row in await owner.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'ledger'")]
        assert len(tables) > 5
        for table in tables:
            for piece in ('"stream"', '"role"', "data:"):
                found = await owner.fetchval(f"SELECT count(*) FROM ledger.{table} AS held WHERE strpos(held::text, $1) > 0", piece)
                assert found == 0, (table, piece)
    finally:
        await owner.close()
    async with running(settings) as app, talking(app) as client:  # nobody listens at the provider's address any more
        for call in calls:
            seen = (await World(client).call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
            assert seen["verified"] is True


@pytest.mark.req("X-05")
async def test_a_key_stays_used_where_the_turn_was_over_budget(world: World) -> None:
    session = await world.session(await world.agent(limits={"context_window": 400, "max_output_tokens": 100}))
    for words, expect in (("word " * 400, 200), ("word " * 400, 200), ("short", 422)):
        answer = await world.turn(session, words, expect, headers={"idempotency-key": "k"})
        assert answer.get("number") == (1 if expect == 200 else None)
