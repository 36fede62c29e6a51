"""A repeated key is the same turn, whoever asks and whenever; another body under it is refused."""

import asyncio

import pytest

from tests.services.turns.test_tools import CALL, DONE, waiting
from tests.services.world import World, read_until, said

SLOW = {"text": "slow words " * 10, "chunk_chars": 11, "delay_ms": 30}
KEY = {"idempotency-key": '"k-1"'}


@pytest.mark.req("X-05")
async def test_a_key_attaches_to_the_running_turn_and_to_the_settled_one(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[SLOW, {"text": "Second."}])
    path, body = f"/sessions/{session}/turns", {"input": "same"}
    answers = await asyncio.gather(*(world.client.post(path, json=body, headers={**KEY, "accept": "application/json"}) for _ in range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 3
    async with world.client.stream("POST", path, json=body, headers={**KEY, "accept": "text/event-stream"}) as answer:
        assert answer.headers["idempotent-replayed"] == "true"
        again = await answer.aread()
    assert again.count(b"event: text.delta") == 10
    other = await world.client.post(path, json={"input": "other"}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    assert len(await world.raw(session)) == 2


async def test_a_refused_request_consumes_no_key(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    path = f"/sessions/{session}/turns"
    assert (await world.client.post(path, json={"input": "x"}, headers=KEY)).status_code == 409
    await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "42"}])
    again = await world.client.post(path, json={"input": "y"}, headers={**KEY, "accept": "application/json"})
    assert (again.status_code, "idempotent-replayed" in again.headers) == (200, False)


async def test_results_under_a_key_are_answered_from_where_they_came(socket_world: World) -> None:
    world = socket_world
    session, turn_id = await waiting(world, [CALL, {"text": "Found it."}])
    path = f"/sessions/{session}/turns/{turn_id}/tool-results"
    body = {"results": [{"tool_call_id": "c1", "content": "42"}]}
    seen = []
    for _ in range(2):
        async with world.client.stream("POST", path, json=body, headers={**KEY, "accept": "text/event-stream"}) as answer:
            assert answer.status_code == 200
            seen.append(await read_until(answer, None))
    assert [(one.id, one.event, one.data) for one in seen[0]] == [(one.id, one.event, one.data) for one in seen[1]]
    assert (seen[0][0].event, seen[0][-1].event, said(seen[0])) == ("tool_result.committed", "turn.completed", "Found it.")


async def test_a_retry_under_a_key_is_one_turn(world: World) -> None:
    session = await world.session(script=[{"error": {"status": 400}}, {"text": "Ok."}])
    failed = await world.turn(session)
    path = f"/sessions/{session}/turns/{failed['id']}/retry"
    first, second = [(await world.call("POST", path, 200, json={}, headers={**KEY, "accept": "application/json"})).json() for _ in range(2)]
    assert first["id"] == second["id"]
    assert len((await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]) == 2


@pytest.mark.parametrize("verb", ["cancel", "stop"])
async def test_a_cancel_and_a_stop_under_a_key_are_answered_as_they_were(world: World, verb: str) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    path = f"/sessions/{session}/turns/{turn_id}/cancel" if verb == "cancel" else f"/sessions/{session}/stop"
    first, second = [await world.call("POST", path, 200, json={}, headers=KEY) for _ in range(2)]
    assert first.content == second.content
    assert ("idempotent-replayed" in first.headers, "idempotent-replayed" in second.headers) == (False, True)
