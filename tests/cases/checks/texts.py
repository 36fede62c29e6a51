"""Group d: texts, numbers and arguments that storage refuses or alters elsewhere."""

import json
from typing import Any

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.posting import seeded
from tests.cases.streams import saying_in
from tests.cases.upstream import Play

BIG = 9007199254740993
JSON = {"content-type": "application/json"}


def parts(done: Done, answer: int = -1) -> Any:
    """The parts of the last message of a listing."""
    return done.answers[answer].json()["data"][-1]["body"]["parts"]


@expects("nul-in-text-jsonb", pytest.mark.req("S1-11"))
async def nul(done: Done) -> None:
    """Chosen: lossless. NUL is text like any other."""
    assert done.answers[0].status_code == 201
    assert parts(done) == [{"type": "text", "text": "a\x00b"}]


@expects("literal-backslash-u0000-not-nul", pytest.mark.req("S1-11"))
async def literal_and_real(done: Done) -> None:
    assert done.answers[0].status_code == 201
    assert parts(done)[0]["text"] == "lit \\u0000 nul \x00 bs \\\\u0000"


@expects("nul-in-json-key-and-tool-args", pytest.mark.req("S1-11"))
async def nul_everywhere(done: Done) -> None:
    """Chosen: lossless in texts, arguments, results and attributes; a name and a session's metadata, which are looked up by, refuse NUL."""
    assert done.answers[0].status_code == 201
    _, answer, result = await done.raw()
    (call,) = answer["body"]["parts"]
    assert call["arguments"] == '{"k\\u0000ey":"v\\u0000"}'
    assert result["body"]["parts"][0]["text"] == "out\x00put"
    entry = {"kind": "user_message", "parts": [{"type": "text", "text": "x"}], "attributes": {"k\x00ey": "v\x00"}}
    await done.world.call("POST", f"/sessions/{done.session}/entries", 201, json={"entries": [entry]})
    assert (await done.raw())[-1]["attributes"] == {"k\x00ey": "v\x00"}
    failed = await done.world.client.patch(f"/sessions/{done.session}", json={"title": "t\x00"})
    assert failed.status_code == 422
    metadata = await done.world.client.patch(f"/sessions/{done.session}", json={"metadata": {"k\x00ey": "v\x00"}})
    assert metadata.status_code in (200, 422)
    if metadata.status_code == 200:
        assert metadata.json()["metadata"] == {"k\x00ey": "v\x00"}


@expects("lone-surrogate-ingest", pytest.mark.req("S1-11"))
async def lone_surrogate(done: Done) -> None:
    """Chosen: stored as it came, sent as U+FFFD with a loss."""
    assert done.answers[0].status_code == 201
    assert (await done.raw())[0]["body"]["parts"][0]["text"] == "hi \ud83d end"
    found = done.answers[1].json()
    (block,) = found["body"]["messages"][0]["content"]
    assert block["text"] == "hi � end"
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("text", "lone_surrogate")]
    (row,) = [one for one in found["manifest"]["decisions"] if one["source"].get("kind") == "entry"]
    assert row["pointer"] == "/messages/0"
    pair = b'{"entries":[{"kind":"user_message","parts":[{"type":"text","text":"\\ud83d\\ude00"}]}]}'
    await done.world.call("POST", f"/sessions/{done.session}/entries", 201, content=pair, headers=JSON)
    assert (await done.world.input(done.session))["body"]["messages"][1]["content"] == "😀"


def arguments(found: Any) -> Any:
    """The arguments of the only call of a body, in whichever dialect."""
    body = found["body"]
    if "contents" in body:
        (part,) = body["contents"][1]["parts"]
        return part["functionCall"]["args"]
    message = body["messages"][1]
    (call,) = message.get("tool_calls") or message["content"]
    return call["input"] if "input" in call else call["function"]["arguments"]


@expects("empty-args-zero-param-tool")
async def empty_arguments(done: Done) -> None:
    assert arguments(done.inputs[0]) == ("{}" if done.case.input["target"]["provider"] == "openai-chat" else {})
    assert (await done.raw())[1]["body"]["parts"][0]["arguments"] == ""


@expects("non-object-args")
async def arguments_that_are_no_object(done: Done) -> None:
    """Chosen: what is no object is wrapped under one key, a text that spells one included; line breaks in strings are escaped."""
    written = done.case.input["ledger"][1]["calls"][0]["arguments"]
    wrapped = {"rawInvalidInput": written}
    assert arguments(done.inputs[0]) == ({"a": "line1\nline2"} if done.case.part == 3 else wrapped)
    assert [(loss["what"], loss["why"]) for loss in done.inputs[0]["losses"]] == [
        ("arguments", "control_characters" if done.case.part == 3 else "no_object")
    ]
    assert (await done.raw())[1]["body"]["parts"][0]["arguments"] == written


@expects("truncate-splits-surrogate-pair", pytest.mark.req("X-58"))
async def a_long_result_is_cut_between_characters(done: Done) -> None:
    """Sent whole where there is room. What is shortened under pressure keeps a thousand characters at each end, whatever stands at the cut."""
    (result,) = [block for block in done.inputs[0]["body"]["messages"][2]["content"] if block["type"] == "tool_result"]
    assert result["content"] == done.case.input["ledger"][2]["text"]
    fire = "\N{FIRE}"
    assert fire in result["content"]
    for before in (998, 999, 1_000):
        play = Play([saying_in("anthropic-messages", "ok")])
        pruning = {"trigger_fraction": 0.1, "protect_recent_tokens": 0}
        session = await done.place.playing(play, "anthropic", limits={"context_window": 16_000, "max_output_tokens": 500}, pruning=pruning)
        rows = done.case.input["ledger"][:3]
        text = "x" * before + fire * 4_000 + "y" * before
        await seeded(done.world, session, [*rows[:2], {**rows[2], "text": text}])
        assert (await done.world.turn(session, "b"))["status"] == "completed"
        (sent,) = [json.loads(seen.body.decode("utf-8", "strict")) for seen in play.seen]
        (cut,) = [block["content"] for message in sent["messages"] for block in message["content"] if block["type"] == "tool_result"]
        assert "was left out here" in str(cut)
        assert not [letter for letter in str(cut) if 0xD800 <= ord(letter) <= 0xDFFF]
        assert str(cut).count(fire) == 2 * (1_000 - before)


@expects("int64-in-tool-result-and-state", pytest.mark.req("S1-11"))
async def large_integer(done: Done) -> None:
    assert str(BIG) in done.answers[-1].text
    assert json.loads(parts(done)[0]["text"]) == {"id": BIG, "f": 0.1}
    agent = await done.world.agent(state_schema={"session": {"type": "object"}})
    session = (
        await done.world.call("POST", "/sessions", 201, json={"agent": agent, "state": {"session": {"id": BIG}}, "metadata": {"id": BIG}})
    ).json()
    assert session["metadata"] == {"id": BIG}
    for _ in range(2):
        state = await done.world.call("GET", f"/sessions/{session['id']}/state", 200)
        assert state.json()["state"]["session"] == {"id": BIG}
        await done.world.call("PATCH", f"/sessions/{session['id']}/state", 200, json={"session": {"id": BIG}})


@expects("nan-infinity-in-trace")
async def not_finite(done: Done) -> None:
    """The contract's code for what is no JSON is `invalid-json`. What the service computes itself is tested with the serialiser."""
    (answer,) = done.answers
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-json")
    assert await done.raw() == []


@expects("duplicate-keys-in-json", pytest.mark.req("S1-11"))
async def duplicate_keys(done: Done) -> None:
    """In a tool's arguments, which are the model's own text, keys may repeat; in a request they may not."""
    assert done.answers[0].status_code == 201
    answer, _ = await done.raw()
    assert answer["body"]["parts"][0]["arguments"] == '{"a":1,"a":2}'
    assert answer["digest"] == done.answers[0].json()["entries"][0]["digest"] == (await done.raw())[0]["digest"]
    verified = (await done.world.call("GET", f"/sessions/{done.session}/verify", 200)).json()
    assert (verified["ok"], verified["problems"]) == (True, [])


@expects("deep-json-body")
async def deep_bodies(done: Done) -> None:
    """The limit is `JSON_DEPTH_MAX`, one number for every parser, schema and version of Python."""
    for answer in done.answers:
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-json")
        assert [fault["code"] for fault in answer.json()["errors"]] == ["too-deep"]
        assert answer.elapsed.total_seconds() < 1
    await done.world.call("GET", "/livez", 200)
    assert await done.raw() == []
