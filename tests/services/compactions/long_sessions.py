"""Sessions that are long for their window, and what tests ask of compactions."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.services.world import World

SHORT: dict[str, Any] = {"text": "They talked about rivers."}


async def long_session(
    world: World,
    summaries: Sequence[Any] = (SHORT,),
    *,
    turns: int = 6,
    script: Sequence[Any] = ({"text": "answer " * 60},),
    window: int = 8_000,
    words: str = "river " * 40,
    agent: dict[str, Any] | None = None,
    **compaction: Any,
) -> str:
    """A session of that many turns, each of about a hundred tokens, whose summaries play `summaries`."""
    params = {"script": list(script), "compaction_script": list(summaries)}
    document = {
        "limits": {"context_window": window, "max_output_tokens": 512},
        "context": [{"renderer": "system", "text": "S"}, {"renderer": "history"}],
        "compaction": {"keep_recent_tokens": 300, **compaction},
        **(agent or {}),
    }
    name = await world.agent(model={"upstream": "scripted", "name": "scripted", "params": params}, **document)
    session = await world.session(name)
    for number in range(turns):
        await world.turn(session, f"question {number} {words}")
    return session


async def compact(world: World, session: str, expect: int = 200, **body: Any) -> Any:
    headers = body.pop("headers", None)
    return (await world.call("POST", f"/sessions/{session}/compactions", expect, json=body, headers=headers)).json()


async def plan(world: World, session: str, **query: Any) -> Any:
    return (await world.call("GET", f"/sessions/{session}/compactions/plan", 200, params=query)).json()


async def calls(world: World, session: str, purpose: str = "compaction") -> list[Any]:
    data = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    return [call for call in data if call["purpose"] == purpose]


async def until_busy(world: World, session: str) -> None:
    async with asyncio.timeout(20):
        while True:
            if (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "busy":
                return
            await asyncio.sleep(0.02)


async def kinds(world: World, session: str) -> list[str]:
    return [entry["kind"] for entry in await world.ledger(session)]


async def whole(world: World, session: str) -> None:
    """The chain holds, and every call's input is derived again as it was sent."""
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
    for call in (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]:
        if call["attempts"]:
            found = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
            assert found["verified"] is True, (call["purpose"], found.get("mismatch"), found.get("reason"))
            assert found["digest"] == call["digest"]
            one = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}", 200)).json()
            assert one["manifest"], call["purpose"]
            assert one["source_map"], call["purpose"]
