"""Keys and prompts stay out of logs, errors and records: with upstreams that repeat them, and a database that repeats every row it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.cases.place import Place, Places
from tests.cases.streams import said
from tests.cases.upstream import Play
from tests.database.copies import connect
from tests.services.world import LIMITS

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-ECHO-0a1b2c3d4e5f6g7h"
PROMPT = "CANARY-OF-A-PROMPT"
SAID = f"you sent {KEY} and {PROMPT}"
ECHO = json.dumps({"error": {"message": SAID, "type": SAID, "code": KEY, "param": PROMPT}})

ANSWERS: dict[str, Any] = {
    "refused": {"status": 400, "body": ECHO},
    "unauthorized": {"status": 401, "body": ECHO},
    "busy": {"status": 429, "body": ECHO, "headers": {"Retry-After": "3600"}},
    "broken": {"status": 500, "body": ECHO},
    "no-json": {"status": 400, "body": f"<html>{SAID}</html>"},
    "in-stream": {"status": 200, "chunks": [said("x"), f"data: {ECHO}\n\n"]},
    "bad-event": {"status": 200, "chunks": [said("x"), f"data: {{{SAID}\n\n"]},
    "cut": {"status": 200, "chunks": [said("x")], "then": "reset"},
}


async def everything(place: Place, session: str, turn: str) -> dict[str, str]:
    """Every text that the service gives of a turn, by its path, and the log."""
    calls = (await place.world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    paths = [
        f"/sessions/{session}", f"/sessions/{session}/turns/{turn}", f"/sessions/{session}/turns/{turn}/events", f"/sessions/{session}/calls",
        *(f"/sessions/{session}/calls/{call['id']}" for call in calls), f"/sessions/{session}/raw?view=ledger&kinds=model_call_started,"
        "model_call_finished,turn_settled,assistant_message", "/metrics", "/upstreams", "/openapi.json",
    ]  # fmt: skip
    return {path: (await place.world.call("GET", path, 200)).text for path in paths} | {"log": place.log.getvalue()}


@pytest.mark.req("X-86")
async def test_what_an_upstream_repeats_goes_nowhere(places: Places) -> None:
    place = await places.own(key=KEY, log_level="debug")
    for name, answer in ANSWERS.items():
        play = Play([answer])
        session = await place.playing(play)
        turn = await place.world.turn(session, PROMPT)
        assert turn["status"] == "failed", name
        assert play.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in play.seen[0].path
        for path, text in (await everything(place, session, turn["id"])).items():
            assert KEY not in text, (name, path)
            assert PROMPT not in text, (name, path)


STATE = {"session": {"type": "object"}, "user": {"type": "object", "properties": {"k": {"type": "string", "writeOnly": True}}}}


def writes(session: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Requests that write, each with the canary wherever its body takes text."""
    parts = [{"type": "text", "text": PROMPT}]
    yield "POST", f"/sessions/{session}/entries", {"entries": [{"kind": "user_message", "parts": parts, "attributes": {"k": PROMPT}}]}
    yield "POST", f"/sessions/{session}/entries", {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": PROMPT * 4000}]}]}
    yield "POST", f"/sessions/{session}/turns", {"input": PROMPT, "background": True, "attributes": {"k": PROMPT}}
    yield "PATCH", f"/sessions/{session}", {"title": PROMPT, "metadata": {"k": PROMPT}}
    yield "PATCH", f"/sessions/{session}/state", {"session": {"k": PROMPT}}
    yield "PATCH", f"/sessions/{session}/state", {"user": {"k": f"{PROMPT} {session}"}}
    state = {"session": {"k": PROMPT}}
    yield "POST", "/sessions", {"agent": "refusing", "title": PROMPT, "metadata": {"k": PROMPT}, "external_id": f"{PROMPT}-{session}", "state": state}
    model = {"upstream": "scripted", "name": "scripted"}
    context = [{"renderer": "system", "text": f"{PROMPT} {session}"}]
    yield "PUT", "/agents/refusing", {"model": model, "limits": LIMITS, "context": context, "state_schema": STATE}


TABLES = ("entries", "sessions", "turns", "calls", "claims", "deltas", "idempotency", "blobs", "agents", "agent_revisions", "user_states")
SEEN_IN_THE_LOG_ALONE = {"calls", "deltas"}
"""Tables that are written once the request has its answer."""


@asynccontextmanager
async def refusing(place: Place, table: str) -> AsyncIterator[None]:
    """The database refuses every write to a table, with a message that repeats the whole row."""
    connection = await connect(place.migrate_url)
    try:
        await connection.execute(
            f"""
            CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused: %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$;
            GRANT EXECUTE ON FUNCTION public.refuse() TO PUBLIC;
            CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ledger.{table} FOR EACH ROW EXECUTE FUNCTION public.refuse();
            """
        )
        yield
        await connection.execute(f"DROP TRIGGER refuse ON ledger.{table}")
    finally:
        await connection.close()


@pytest.mark.req("X-86", "T-25")
async def test_what_the_database_repeats_goes_nowhere(places: Places) -> None:
    place = await places.own(log_level="debug", drain_seconds=0)
    model = {"upstream": "scripted", "name": "scripted", "params": {"script": [{"text": PROMPT, "chunk_chars": 1, "delay_ms": 20}]}}
    await place.world.agent(model=model, name="refusing", state_schema=STATE)
    for table in TABLES:
        session = await place.world.session("refusing", user=PROMPT)
        before = len(place.log.getvalue())
        async with refusing(place, table):
            answers = [await answered(place, *write, key=f"{PROMPT}-{table}-{at}") for at, write in enumerate(writes(session))]
            await asyncio.sleep(0.5 if table in SEEN_IN_THE_LOG_ALONE else 0)
        codes = {answer.json()["code"] for answer in answers if answer.status_code >= 400}
        assert "internal" in codes or table in SEEN_IN_THE_LOG_ALONE, table
        assert codes <= {"internal", "session-busy"}, table
        assert all(PROMPT not in answer.text for answer in answers if answer.status_code >= 400), table
        told = place.log.getvalue()[before:]
        assert "P0001" in told, table
        assert PROMPT not in told, table


async def answered(place: Place, method: str, path: str, body: dict[str, Any], key: str) -> httpx.Response:
    headers = {"Idempotency-Key": key} if method == "POST" else {}
    return await place.world.client.request(method, path, json=body, headers=headers)
