"""Pictures in a turn: brought as bytes, named by digest, handed on as URLs; stored once, and never looked for where they are not."""

import base64
import hashlib

import pytest

from tests.services.turns.test_tools import CALL, DONE, TOOLS
from tests.services.world import World

PNG = base64.b64encode(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")).decode()
IMAGE = {"type": "image", "data": PNG, "media_type": "image/png"}
OK = {"text": "Ok."}


def pictures(body: object) -> list[str]:
    assert isinstance(body, dict)
    parts = [part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


@pytest.mark.req("S1-04", "X-18")
async def test_a_picture_is_stored_once_and_named_from_then_on(world: World) -> None:
    session = await world.session(script=[OK])
    await world.turn(session, [{"type": "text", "text": "What is this?"}, IMAGE])
    part = (await world.raw(session))[0]["body"]["parts"][1]
    assert (part["type"], part["blob"]["media_type"], part["blob"]["byte_length"]) == ("image", "image/png", len(base64.b64decode(PNG)))
    blob = await world.call("GET", f"/sessions/{session}/blobs/{part['blob']['digest']}", 200)
    assert blob.content == base64.b64decode(PNG)
    await world.turn(session, [{"type": "text", "text": "And this again?"}, {"type": "image", "blob": part["blob"]["digest"]}])
    again = (await world.raw(session))[2]["body"]["parts"][1]
    assert again["blob"] == part["blob"]
    assert pictures((await world.input(session))["body"]) == [f"data:image/png;base64,{PNG}"] * 2


async def test_a_picture_that_is_not_stored_is_sent_in_its_own_turn(world: World) -> None:
    session = await world.session(script=[OK])
    shown = (await world.call("POST", f"/sessions/{session}/model-input", 200, json={"input": [IMAGE]})).json()
    assert pictures(shown["body"]) == [f"data:image/png;base64,{PNG}"]
    turn = await world.turn(session, [{"type": "text", "text": "Look, then forget."}, IMAGE], persist=False)
    call = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()
    assert call["message_count"] == 1
    assert call["budget"]["messages"] > 50
    digest = "sha256:" + hashlib.sha256(base64.b64decode(PNG)).hexdigest()
    await world.call("GET", f"/sessions/{session}/blobs/{digest}", 404)


async def test_a_picture_that_the_session_does_not_hold_is_refused_where_it_is_named(world: World) -> None:
    session = await world.session(await world.agent([CALL, DONE], tools=TOOLS))
    unknown = {"type": "image", "blob": "sha256:" + "0" * 64}
    refused = await world.turn(session, [{"type": "text", "text": "x"}, unknown], 422)
    assert [(fault["pointer"], fault["code"]) for fault in refused["errors"]] == [("/input/1/blob", "unknown-blob")]
    turn = await world.turn(session, "now wait")
    refused = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": [unknown]}], 422)
    assert [(fault["pointer"], fault["code"]) for fault in refused["errors"]] == [("/results/0/content/0/blob", "unknown-blob")]
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "pending"
