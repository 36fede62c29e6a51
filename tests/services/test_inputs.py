"""What the model sees, asked of a running service: valid whatever was stored, every source with its place, by the target's own rules."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given
from hypothesis import settings as drawing
from hypothesis import strategies as st

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.formats.openai_chat.judge import objections
from tests.services.world import World

TOOLS = [
    {"name": "lookup", "description": "Finds a record.", "parameters": {"type": "object"}},
    {"name": "hidden", "enabled": False},
    {"name": "escalate", "description": "Calls a doctor."},
]
CONTEXT = [{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}, {"renderer": "system", "id": "last", "text": "Be kind."}]
PIXEL = "iVBORw0KGgo="

texts = st.sampled_from(["", " \n", "words", "nul \x00", "lone \ud83d", "sep \u2028", "<|endoftext|>", "{{ x }}", "\U0001f525"]) | st.text(max_size=8)
call_ids = st.sampled_from(["c1", "c2", "a.b", "\ud83d", "é", "id with blank", "x" * 41, "x" * 512, "null"])
filenames = st.sampled_from(["scan.pdf", "\ud83d.pdf", '"\\'])
media = st.fixed_dictionaries(
    {"type": st.sampled_from(["image", "file"])},
    optional={"filename": filenames},
).flatmap(
    lambda part: st.sampled_from(
        [
            {**part, "url": "https://example.org/x"},
            *({**part, "data": PIXEL, "media_type": kind} for kind in ("image/png", "image/svg+xml", "application/pdf", "audio/wav", "a/b;c=d")),
        ]
    )
)
said = st.builds(lambda text: {"type": "text", "text": text}, texts)
calls = st.builds(
    lambda tool_call_id, name, arguments: {"type": "tool_call", "tool_call_id": tool_call_id, "name": name, "arguments": arguments},
    call_ids,
    st.sampled_from(["lookup", "no such tool", "n" * 65, "\ud83d", "look.up"]),
    st.sampled_from(["", " ", "{}", "{not json", '{"a": "\ud83d"}', "[1, 1.0]"]),
)
thoughts = st.builds(lambda text: {"type": "reasoning", "text": text}, texts)
flags: dict[str, Any] = {"hidden": st.booleans(), "include_in_context": st.booleans()}
inputs = st.fixed_dictionaries(
    {"kind": st.sampled_from(["user_message", "agent_message"]), "parts": st.lists(said | media, min_size=1, max_size=3)}, optional=flags
)
answers = st.fixed_dictionaries(
    {"kind": st.just("assistant_message"), "parts": st.lists(said | thoughts | calls | calls | media, min_size=1, max_size=5)},
    optional={"status": st.sampled_from(["completed", "failed", "cancelled", "interrupted"]), **flags},
)
results = st.fixed_dictionaries(
    {"kind": st.just("tool_result"), "tool_call_id": call_ids, "parts": st.lists(said | media, max_size=2)}, optional={"is_error": st.booleans()}
)


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5)


@pytest_asyncio.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    async with running(settings) as app, talking(app) as client:
        yield World(client)


def at(body: Any, pointer: str) -> Any:
    """What an RFC 6901 pointer names. Raises where it names nothing."""
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


def with_quirks(settings: Settings, **quirks: Any) -> Settings:
    return replace(settings, upstreams={**settings.upstreams, "scripted": replace(settings.upstreams["scripted"], quirks=quirks)})


@pytest.mark.req("S0-30", "S0-28", "S0-29", "S2-11", "S2-17")
@drawing(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(inputs | answers | results, min_size=1, max_size=12))
async def test_whatever_was_appended_the_input_is_valid_and_each_message_is_accounted_for(world: World, entries: list[Any]) -> None:
    session = await world.session(await world.agent(name="hostile", tools=TOOLS, context=CONTEXT))
    body, headers = json.dumps({"entries": entries}), {"content-type": "application/json"}
    await world.call("POST", f"/sessions/{session}/entries", 201, content=body, headers=headers)
    seen = await world.input(session)
    assert seen["violations"] == []
    assert objections(json.dumps(seen["body"], ensure_ascii=False).encode()) == []  # UTF-8 takes no lone surrogate
    rows = seen["manifest"]["decisions"]
    assert [row["source"]["seq"] for row in rows if row["source"]["kind"] == "entry"] == [entry["seq"] for entry in await world.ledger(session)][1:]
    assert seen["source_map"]["history_message_count"] == len(entries)
    assert len(seen["source_map"]["sources"]) == len(seen["body"]["messages"]) - 1
    for place in [row["pointer"] for row in rows] + [row["pointer"] for row in seen["source_map"]["pointers"]]:
        assert place is None or at(seen["body"], place) is not None or place.endswith("/content")
    sent = [row for row in rows if row["disposition"] != "excluded"]
    assert all(row["pointer"] is not None for row in sent)
    assert all(row["pointer"] is None for row in rows if row["disposition"] == "excluded")


@pytest.mark.req("S3-16", "S2-07")
async def test_each_source_has_one_decision_and_what_is_sent_has_its_place(world: World) -> None:
    session = await world.session(await world.agent([{"text": "Hm."}], tools=TOOLS, context=CONTEXT))
    turn = await world.turn(session)
    call = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()
    for told in (await world.input(session), call):
        rows = [(*row["source"].values(), row["disposition"], row["reason"], row["pointer"]) for row in told["manifest"]["decisions"]]
        assert [row for row in rows if row[0] != "entry"] == [
            ("system", "system-0", "included", "rendered", "/messages/0/content"),
            ("system", "last", "included", "rendered", "/messages/0/content"),
            ("tool", "lookup", "included", "declared", "/tools/0"),
            ("tool", "hidden", "excluded", "disabled", None),
            ("tool", "escalate", "included", "declared", "/tools/1"),
            *[(kind, "excluded", "absent", None) for kind in ("checkpoint", "plan", "skills", "state")],
        ]


@pytest.mark.req("S0-30", "S3-39", "S3-40", "S1-23")
async def test_a_servers_own_rules_say_what_is_valid_and_are_part_of_the_target(settings: Settings) -> None:
    long = "x" * 60
    script = [{"tool_calls": [{"id": long, "name": "look.up", "arguments": "{}"}]}, {"text": "Done."}]
    async with running(with_quirks(settings, call_id_chars_max=64, name_pattern="[a-z.]{1,64}")) as app, talking(app) as client:
        world = World(client)
        session = await world.session(await world.agent(script, tools=TOOLS[:1]))
        turn = await world.turn(session)
        assert turn["status"] == "completed", turn["error"]
        seen = await world.input(session)
        assert (seen["violations"], seen["body"]["messages"][1]["tool_calls"][0]["id"]) == ([], long)
        path = f"/sessions/{session}/calls/{turn['calls'][1]}/model-input"
        assert (await world.call("GET", path, 200)).json()["verified"] is True
    async with running(with_quirks(settings, tool_choice=False)) as app, talking(app) as client:
        seen = (await World(client).call("GET", path, 200)).json()
        assert (seen["verified"], seen["mismatch"], seen["violations"]) == (False, {"source": "target"}, [])
        assert len(seen["body"]["messages"][1]["tool_calls"][0]["id"]) <= 40


@pytest.mark.req("S0-30")
async def test_what_no_rule_admits_is_shown_and_never_sent(settings: Settings) -> None:
    script = [{"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}, {"text": "Done."}]
    tools = [{"name": "lookup", "description": "d" * 2_000}]
    for quirks, codes in (
        ({"call_id_pattern": "id_[0-9]", "description_chars_max": 2_000}, ["call-id-invalid", "call-id-invalid"]),
        ({"tools_max": 0}, ["tools-too-many", "description-too-long"]),
    ):
        async with running(with_quirks(settings, **quirks)) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent(script, tools=tools))
            turn = await world.turn(session)
            if turn["pending"]:
                turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
            assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
            assert [violation["code"] for violation in (await world.input(session))["violations"]] == codes
            calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
            assert (calls[-1]["status"], calls[-1]["attempts"]) == ("refused", [])


@pytest.mark.req("T-13", "T-24")
async def test_a_switched_model_holds_in_what_ifs_until_a_revision_that_names_another(world: World) -> None:
    agent = await world.agent(name="held")
    session = await world.session(agent, agent_revision=1)
    await world.agent(name="held", context=CONTEXT)
    await world.agent(name="held", context=CONTEXT, model={"upstream": "scripted", "name": "gpt-4.1"}, limits=None)
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4o"}})

    async def asked(body: Any, **query: Any) -> Any:
        return (await world.call("POST", f"/sessions/{session}/model-input", 200, json=body, params=query)).json()["model"]

    assert await asked({}) == "gpt-4o"
    assert await asked({"context": CONTEXT}) == "gpt-4o"
    assert await asked({}, agent_revision=2) == "gpt-4o"
    assert await asked({}, agent_revision=3) == "gpt-4.1"
    assert await asked({"context": CONTEXT}, agent_revision=3) == "gpt-4.1"
    assert await asked({"overrides": {"model": {"name": "gpt-4.1-mini"}}, "context": CONTEXT}) == "gpt-4.1-mini"


async def test_what_is_not_there_is_refused_by_name(world: World) -> None:
    session = await world.session()
    path = f"/sessions/{session}/model-input"
    fault = (await world.call("GET", path, 422, params={"dialect": "nobodys"})).json()["errors"][0]
    assert (fault["pointer"], fault["code"]) == ("/dialect", "unknown-dialect")
    for seq in (0, 2):
        fault = (await world.call("GET", path, 422, params={"at_seq": seq})).json()["errors"][0]
        assert (fault["pointer"], fault["code"]) == ("/at_seq", "out-of-range")
    for query, pointer in (({"upstream": "nowhere"}, "/upstream"), ({"model": "unheard-of"}, "/model")):
        assert [fault["pointer"] for fault in (await world.call("GET", path, 422, params=query)).json()["errors"]] == [pointer]
    for model, pointer in (
        ({"upstream": "nowhere"}, "/overrides/model/upstream"),
        ({"name": "unheard-of"}, "/overrides/model"),
        ({"params": {"dialect": "nobodys"}}, "/overrides/model/params/dialect"),
    ):
        found = (await world.call("POST", path, 422, json={"overrides": {"model": model}})).json()
        assert [fault["pointer"] for fault in found["errors"]] == [pointer]
    turn = await world.turn(session, expect=422, overrides={"model": {"upstream": "nowhere"}})
    assert [(fault["pointer"], fault["code"]) for fault in turn["errors"]] == [("/overrides/model/upstream", "unknown-upstream")]
    turn = await world.turn(session, expect=422, overrides={"model": {"name": "unheard-of"}})
    assert [(fault["pointer"], fault["code"]) for fault in turn["errors"]] == [("/overrides/model", "unknown-capacity")]
    put = (await world.client.put("/agents/x", json={"model": {"upstream": "scripted", "name": "unheard-of"}})).json()
    assert [(fault["pointer"], fault["code"]) for fault in put["errors"]] == [("/limits", "unknown-capacity")]


@pytest.mark.req("S3-39", "S1-09")
async def test_a_turns_overrides_are_part_of_its_calls_and_of_what_comes_next(world: World) -> None:
    script = [{"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}, {"text": "Done."}]
    session = await world.session(await world.agent(script, tools=TOOLS))
    turn = await world.turn(session, overrides={"masked_tools": ["escalate"], "tool_choice": "required"})
    path = f"/sessions/{session}/model-input"
    for asked, names in (({}, ["lookup"]), ({"overrides": {"masked_tools": ["lookup"]}}, ["escalate"])):
        body = (await world.call("POST", path, 200, json=asked)).json()["body"]
        assert ([tool["function"]["name"] for tool in body["tools"]], body["tool_choice"]) == (names, "required")
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    for call in turn["calls"]:
        assert (await world.call("GET", f"/sessions/{session}/calls/{call}/model-input", 200)).json()["verified"] is True
    assert "tool_choice" not in (await world.input(session))["body"]


@pytest.mark.req("T-13")
async def test_a_revision_that_names_another_model_ends_a_switch(world: World) -> None:
    session = await world.session(await world.agent(name="first"))
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4o"}})
    await world.agent(name="same", context=CONTEXT)
    await world.agent(name="other", model={"upstream": "scripted", "name": "gpt-4.1"}, limits=None)
    for agent, model in (("same", "gpt-4o"), ("other", "gpt-4.1")):
        await world.call("PATCH", f"/sessions/{session}", 200, json={"agent": agent})
        assert (await world.input(session))["model"] == model


async def test_parameters_stay_with_the_model_that_they_are_of(world: World) -> None:
    session = await world.session(await world.agent(model={"upstream": "scripted", "name": "gpt-5.4", "params": {"temperature": 0.5}}))
    for model, params in (({"params": {"reasoning": {"effort": "low"}}}, {"temperature", "reasoning_effort"}), ({"name": "gpt-4.1"}, set())):
        asked = {"overrides": {"model": model}}
        body = (await world.call("POST", f"/sessions/{session}/model-input", 200, json=asked)).json()["body"]
        assert body.keys() & {"temperature", "reasoning_effort"} == params


async def test_a_what_if_of_a_state_that_the_schema_refuses_is_refused(world: World) -> None:
    schema = {"session": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    session = await world.session(await world.agent(state_schema=schema))
    path = f"/sessions/{session}/model-input"
    await world.call("POST", path, 200, json={"state": {"session": {"n": 1}}})
    fault = (await world.call("POST", path, 422, json={"state": {"session": {"n": "one"}}})).json()["errors"][0]
    assert fault["pointer"] == "/state/session/n"
