"""Skills over a running service: selected, mentioned or loaded by the model, read once, kept with the line, never permission."""

import json
from typing import Any

import pytest

from app.config.settings import Settings
from app.context.skills import expansion, framed, revision_of
from app.entries.errors import Unavailable
from app.formats.registry import FORMATS
from app.storage.types import Append, Appended
from tests.api.conftest import running, talking
from tests.services.turns.faulty import Real, around_appends, inside, kinds
from tests.services.world import World

GUIDE = {"name": "triage-guide", "description": "How to triage.", "text": "Ask for the pulse first."}
BRIEF = {"name": "brief", "text": "Answer in one line."}
SKILLS = [GUIDE, BRIEF]
OK = [{"text": "Ok."}]


def contents(body: Any) -> list[Any]:
    return [message["content"] for message in body["messages"] if message["role"] == "user"]


def spelled(content: Any) -> str:
    """The text of a Chat message, however many parts it has."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


async def snapshots(world: World, session: str) -> list[Any]:
    return list((await world.call("GET", f"/sessions/{session}/skill-snapshots", 200)).json()["data"])


async def called(world: World, session: str, call: str) -> Any:
    return (await world.call("GET", f"/sessions/{session}/calls/{call}", 200)).json()


@pytest.mark.req("S0-39", "S2-10", "S2-46", "S2-47", "X-71", "T-20", "S2-37")
async def test_a_selected_skill_is_stored_before_the_call_and_stands_before_the_words(world: World) -> None:
    session = await world.session(await world.agent(OK, skills=SKILLS))
    turn = await world.turn(session, "It hurts.", skills=["triage-guide", "brief"])
    kinds = [(entry["kind"], entry["seq"]) for entry in await world.ledger(session)]
    assert kinds[1:5] == [("skill_loaded", 2), ("skill_loaded", 3), ("user_message", 4), ("model_call_started", 5)]
    assert turn["input_seq"] == 4
    user = (await world.raw(session))[0]
    assert user["body"]["parts"] == [{"type": "text", "text": "It hurts."}], "the stored message is what was said"
    found = await snapshots(world, session)
    assert [(one["name"], one["seq"], one["turn"], one["anchor"], one["placement"], one["selected_by"]) for one in found] == [
        ("triage-guide", 2, 1, {"seq": 4}, "user", "request"),
        ("brief", 3, 1, {"seq": 4}, "user", "request"),
    ]
    assert (found[0]["text"], found[0]["revision"]) == (GUIDE["text"], revision_of(GUIDE["text"]))
    call = await called(world, session, turn["calls"][0])
    assert call["source_map"]["skill_expansions"] == [
        {"message_index": 0, "snapshot_index": 0, "skills": [{"id": one["name"], "revision": revision_of(one["text"])} for one in SKILLS]}
    ]
    assert [source["type"] for source in call["source_map"]["sources"]] == ["history"]
    rows = [row for row in call["manifest"]["decisions"] if row["source"]["kind"] == "skill"]
    assert [(row["source"]["seq"], row["disposition"], row["reason"], row["pointer"]) for row in rows] == [
        (seq, "included", "skill_expanded", "/messages/0") for seq in (2, 3)
    ]
    assert GUIDE["text"] not in json.dumps(call), "names and revisions alone (S2-19)"
    seen = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}/model-input", 200)).json()
    assert seen["verified"] is True
    assert spelled(contents(seen["body"])[0]).startswith(expansion([(one["name"], one["text"]) for one in SKILLS]))
    assert spelled(contents(seen["body"])[0]).endswith("It hurts.")


@pytest.mark.req("S2-17", "S2-22", "S2-23", "S2-46", "S2-47", "S2-30")
async def test_vector_2_over_http_a_failed_answer_between_two_inputs_with_skills(world: World) -> None:
    session = await world.session(await world.agent([{"text": "half an answer", "cut_after_chars": 6}, {"text": "Ok."}], skills=SKILLS))
    assert (await world.turn(session, "first", skills=["triage-guide"]))["status"] == "failed"
    turn = await world.turn(session, "second", skills=["brief"])
    told = (await world.call("GET", f"/sessions/{session}/source-map", 200)).json()
    assert [(one["type"], one["message_index"]) for one in told["sources"]] == [("history", 0), ("history", 2)]
    assert [(one["message_index"], one["snapshot_index"], one["skills"][0]["id"]) for one in told["skill_expansions"]] == [
        (0, 0, "triage-guide"),
        (2, 1, "brief"),
    ]
    assert told["history_message_count"] == 3
    assert turn["status"] == "completed"


@pytest.mark.req("S2-46")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_an_expanded_message_is_valid_on_every_wire_and_its_pointers_tell_skill_from_words(world: World, dialect: str) -> None:
    model = {"upstream": "scripted", "name": "m", "params": {"dialect": dialect, "script": OK}}
    session = await world.session(await world.agent(model=model, skills=SKILLS))
    turn = await world.turn(session, "It hurts.", skills=["brief"])
    assert turn["status"] == "completed", turn
    seen = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}/model-input", 200)).json()
    assert (seen["violations"], seen["verified"]) == ([], True)
    parts = [row["part"] for row in seen["source_map"]["pointers"] if row["source"] == 0]
    assert [part for part in parts if part is not None] == [0]
    assert seen["body"] == json.loads(json.dumps(seen["body"]))
    assert BRIEF["text"] in json.dumps(seen["body"])


@pytest.mark.req("X-73")
async def test_a_mention_loads_and_a_plain_occurrence_does_not(world: World) -> None:
    session = await world.session(await world.agent(OK, skills=SKILLS))
    await world.turn(session, "brief triage-guide $nobody a$brief")
    assert await snapshots(world, session) == []
    parts = [{"type": "text", "text": "Use @skill:brief."}, {"type": "text", "text": "And $triage-guide and $brief"}]
    turn = await world.turn(session, parts, skills=["triage-guide"])
    assert turn["status"] == "completed"
    assert [(one["name"], one["selected_by"]) for one in await snapshots(world, session)] == [("triage-guide", "request"), ("brief", "mention")]


@pytest.mark.req("X-71")
async def test_at_most_eight_skills_and_what_is_mentioned_beyond_is_left_alone(world: World) -> None:
    skills = [{"name": f"s{number}", "text": f"text {number}"} for number in range(12)]
    session = await world.session(await world.agent(OK, skills=skills))
    await world.turn(session, " ".join(f"$s{number}" for number in range(12)), skills=["s11"])
    assert [one["name"] for one in await snapshots(world, session)] == ["s11", *[f"s{number}" for number in range(7)]]
    refused = await world.turn(session, "x", 422, skills=[f"s{number}" for number in range(9)])
    assert refused["errors"][0]["pointer"] == "/skills"


async def test_a_selection_that_cannot_be_is_refused_and_nothing_is_written(world: World) -> None:
    session = await world.session(await world.agent(OK, skills=SKILLS))
    for body, pointer, code in (
        ({"skills": ["brief", "nobody"]}, "/skills/1", "unknown-skill"),
        ({"skills": ["brief", "brief"]}, "/skills/1", "duplicate"),
        ({"skills": ["brief"], "persist": False}, "/skills", "not-with-persist"),
        ({"skills": [3]}, "/skills/0", "wrong-type"),
    ):
        refused = await world.turn(session, "hello", 422, **body)
        assert [(one["pointer"], one["code"]) for one in refused["errors"]] == [(pointer, code)]
    assert [entry["kind"] for entry in await world.ledger(session)] == ["session_opened"]
    await world.turn(session, "$brief", persist=False)
    assert await snapshots(world, session) == [], "nothing can be anchored to what is not stored"


@pytest.mark.req("X-71", "S2-37")
async def test_a_snapshot_keeps_its_text_when_the_agent_has_another_one_and_the_service_was_restarted(settings: Settings) -> None:
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        session = await world.session(await world.agent(OK, name="guided", skills=SKILLS))
        first = await world.turn(session, "It hurts.", skills=["brief"])
        await world.agent(OK, name="guided", skills=[{**BRIEF, "text": "Answer at length."}])
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        await world.turn(session, "And now?", skills=["brief"])
        one, other = map(spelled, contents((await world.input(session))["body"]))
        assert (BRIEF["text"] in one, "Answer at length." in one) == (True, False)
        assert (BRIEF["text"] in other, "Answer at length." in other) == (False, True)
        assert [part["revision"] for part in await snapshots(world, session)] == [revision_of(BRIEF["text"]), revision_of("Answer at length.")]
        path = f"/sessions/{session}/calls/{first['calls'][0]}/model-input"
        assert (await world.call("GET", path, 200)).json()["verified"] is True
        await world.agent(OK, name="guided", skills=[])
        assert BRIEF["text"] in spelled(contents((await world.input(session))["body"])[0]), "no new loads; what was loaded stays"
        assert (await world.turn(session, "x", 422, skills=["brief"]))["errors"][0]["pointer"] == "/skills/0"


@pytest.mark.req("X-71")
async def test_what_is_answered_again_has_the_skills_of_its_input_and_a_line_that_is_left_takes_them_along(world: World) -> None:
    session = await world.session(await world.agent(OK, skills=SKILLS))
    first = await world.turn(session, "It hurts.", skills=["brief"])
    again = (await world.call("POST", f"/sessions/{session}/turns/{first['id']}/regenerate", 200, json={})).json()
    assert (again["status"], again["input_seq"]) == ("completed", first["input_seq"])
    seen = (await world.call("GET", f"/sessions/{session}/calls/{again['calls'][0]}/model-input", 200)).json()
    assert [BRIEF["text"] in spelled(one) for one in contents(seen["body"])] == [True]
    assert len(await snapshots(world, session)) == 1
    await world.turn(session, "Other words.", follows="start", skills=["triage-guide"])
    assert [one["name"] for one in await snapshots(world, session)] == ["triage-guide"]
    seen = await world.input(session)
    assert BRIEF["text"] not in json.dumps(seen["body"])
    assert seen["source_map"]["skill_expansions"][0]["snapshot_index"] == 0
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": first["id"]})
    assert [one["name"] for one in await snapshots(world, session)] == ["brief"]


@pytest.mark.req("S2-02", "X-36", "X-37")
async def test_a_skill_that_pushes_the_request_over_budget_is_a_refusal_and_nothing_is_sent(world: World) -> None:
    long = {"name": "long", "text": "word " * 4_000}
    limits = {"context_window": 4_000, "max_output_tokens": 400}
    model = {"upstream": "scripted", "name": "scripted", "params": {"script": OK}}
    await world.client.put("/agents/small", json={"model": model, "limits": limits, "skills": [long]})
    session = await world.session("small")
    assert (await world.turn(session, "hello"))["status"] == "completed"
    turn = await world.turn(session, "hello", skills=["long"])
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    assert (await called(world, session, turn["calls"][0]))["attempts"] == []


@pytest.mark.req("S2-20", "X-73", "X-72", "S0-18")
async def test_a_model_loads_a_skill_as_it_calls_any_tool(world: World) -> None:
    script = [
        {"tool_calls": [{"id": "c1", "name": "load_skill", "arguments": '{"name": "brief"}'}], "stop": "tool_calls"},
        {"tool_calls": [{"id": "c2", "name": "load_skill", "arguments": '{"name": "nobody"}'}], "stop": "tool_calls"},
        {"text": "Ok."},
    ]
    agent = await world.agent(script, skills=SKILLS)
    session = await world.session(agent)
    turn = await world.turn(session, "hello")
    assert turn["status"] == "completed", turn
    results = [entry["body"] for entry in await world.raw(session) if entry["kind"] == "tool_result"]
    assert [(one["name"], one["is_error"]) for one in results] == [("load_skill", False), ("load_skill", True)]
    assert results[0]["parts"] == [{"type": "text", "text": framed("brief", BRIEF["text"])}]
    call = await called(world, session, turn["calls"][-1])
    assert {source["type"] for source in call["source_map"]["sources"]} == {"history"}
    assert call["tools"] == ["load_skill"]
    masked = await world.turn(await world.session(agent), "hello", overrides={"masked_tools": ["load_skill"]})
    assert masked["status"] == "completed"
    rejected = [entry["body"] for entry in await world.ledger(masked["session_id"], kinds="tool_rejected")]
    assert {one["code"] for one in rejected} == {"tool-masked"}


@pytest.mark.req("S2-20", "S2-21", "S0-27")
async def test_a_skill_is_loaded_beside_a_clients_tool_and_what_that_one_calls_inside_is_no_message(world: World) -> None:
    calls = [
        {"id": "c1", "name": "run_code", "arguments": '{"code": "a(); b()"}'},
        {"id": "c2", "name": "load_skill", "arguments": '{"name":"brief"}'},
    ]
    script = [{"tool_calls": calls, "stop": "tool_calls"}, {"text": "Ok."}]
    session = await world.session(await world.agent(script, skills=SKILLS, tools=[{"name": "run_code"}]))
    turn = await world.turn(session, "hello")
    assert (turn["status"], [one["tool_call_id"] for one in turn["pending"]]) == ("requires_action", ["c1"])
    inner = {"stdout": "2", "calls": [{"tool": "a", "result": 1}, {"tool": "b", "result": 1}]}
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": json.dumps(inner)}])
    assert turn["status"] == "completed", turn
    call = await called(world, session, turn["calls"][1])
    assert [(one["type"], one["message_index"]) for one in call["source_map"]["sources"]] == [("history", at) for at in range(4)]
    results = [entry["body"] for entry in await world.raw(session) if entry["kind"] == "tool_result"]
    assert [one["name"] for one in results] == ["load_skill", "run_code"]


@pytest.mark.req("S2-10", "S2-09")
async def test_snapshots_are_read_in_pages_and_an_earlier_head_has_none_of_the_words_to_come(world: World) -> None:
    session = await world.session(await world.agent(OK, skills=SKILLS))
    await world.turn(session, "first", skills=["triage-guide", "brief"])
    path = f"/sessions/{session}/skill-snapshots"
    page = (await world.call("GET", path, 200, params={"limit": 1})).json()
    assert ([one["name"] for one in page["data"]], page["has_more"], page["next"]) == (["triage-guide"], True, 2)
    rest = (await world.call("GET", path, 200, params={"limit": 1, "after": page["next"]})).json()
    assert ([one["name"] for one in rest["data"]], rest["has_more"], rest["next"]) == (["brief"], False, None)
    await world.call("GET", f"/sessions/{session[:-1]}/skill-snapshots", 404)
    seen = await world.input(session, at_seq=2)
    rows = [(row["source"]["seq"], row["disposition"], row["reason"]) for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "skill"]
    assert rows == [(2, "excluded", "anchor_absent")]
    assert (seen["body"]["messages"], seen["source_map"]["skill_expansions"]) == ([], [])


@pytest.mark.req("S2-38", "S0-39")
async def test_words_and_their_skills_are_written_together_or_not_at_all(settings: Settings) -> None:
    async with inside(settings) as here:
        world, together = here.world, list[set[str]]()

        async def away_once(append: Append, real: Real) -> Appended:
            if "user_message" in kinds(append):
                together.append(kinds(append))
                if len(together) == 1:
                    raise Unavailable("away")
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, away_once)
        session = await world.session(await world.agent(OK, skills=SKILLS))
        await world.turn(session, "It hurts.", 503, skills=["brief"])
        assert [entry["kind"] for entry in await world.ledger(session)] == ["session_opened"]
        await world.turn(session, "It hurts.", skills=["brief"])
        assert together == [{"skill_loaded", "user_message"}] * 2
        assert [entry["kind"] for entry in await world.ledger(session)].count("model_call_started") == 1
