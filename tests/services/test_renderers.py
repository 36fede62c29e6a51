"""Renderers over HTTP: the vectors of the renderers document, tool gates on every dialect, taps, state inside a turn, failures."""

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from app.context import renderers
from app.context.agents import context as agents_context
from app.entries import lossless
from app.formats.registry import FORMATS
from tests.cases.everywhere import JUDGES
from tests.services.world import LIMITS, World, roles

SYS: dict[str, Any] = {"renderer": "system", "id": "sys", "text": "S"}
HIST: dict[str, Any] = {"renderer": "history"}
SCRIPT = [
    {"reasoning": "Check the record first.", "tool_calls": [{"id": "c1", "name": "lookup", "arguments": '{"patient": "p"}'}]},
    {"text": "Avoid it."},
]
SCHEMA = {"session": {"type": "object", "properties": {"patient_name": {"type": "string"}, "pin": {"type": "string", "writeOnly": True}}}}
TOOLS = [{"name": name, "description": "d", "parameters": {"type": "object"}} for name in ("lookup", "escalate")]


async def run(world: World, context: list[Any], **document: Any) -> tuple[str, list[Any]]:
    """A turn with one tool use, and the session's calls by step."""
    session = await world.session(await world.agent(SCRIPT, context=context, tools=TOOLS, **document))
    turn = await world.turn(session, "Can I take it?")
    assert turn["status"] == "requires_action"
    settled = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "penicillin"}])
    assert settled["status"] == "completed"
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    return session, sorted(calls, key=lambda one: one["step_index"])


async def derived(world: World, session: str, call: Any) -> Any:
    """The call's input, derived again and verified."""
    found = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
    assert found["verified"] is True
    return found


@pytest.mark.req("S4-03", "S4-04", "S4-11", "S4-13", "S4-15", "S4-18", "S4-20", "S4-21", "S4-22", "T-02")
async def test_vector_five_counts(world: World):
    _, calls = await run(world, [SYS, HIST])
    assert [(one["step_index"], one["message_count"], one["tools"]) for one in calls] == [
        (0, 2, ["lookup", "escalate"]),
        (1, 5, ["lookup", "escalate"]),
    ]


@pytest.mark.req("S4-27", "S4-28", "S4-29", "S4-30", "S4-31", "S4-32")
@pytest.mark.parametrize(("context", "n"), [([SYS, HIST], 2), ([HIST, SYS], 1)])
async def test_vectors_six_and_seven_of_selection(world: World, context: list[Any], n: int):
    session, calls = await run(world, [*context, {"renderer": "prune_reasoning"}, {"renderer": "select_recent", "n": n}])
    first, second = [await derived(world, session, one) for one in calls]
    assert roles(first["body"]) == ["system", "user"]
    assert roles(second["body"]) == ["system", "assistant", "tool"]
    assert (first["message_count"], second["message_count"]) == (2, 3)
    question = next(row for row in second["manifest"]["decisions"] if row["source"]["kind"] == "entry")
    assert (question["disposition"], question["reason"]) == ("excluded", "not_recent")
    assert [one["kind"] for one in await world.raw(session)] == ["user_message", "assistant_message", "tool_result", "assistant_message"]


@pytest.mark.req("S4-07", "S4-08", "S1-10")
async def test_without_history_the_ledger_still_records_everything(world: World):
    session, _ = await run(world, [SYS])
    assert roles((await world.input(session))["body"]) == ["system"]
    assert len(await world.raw(session)) == 4


@pytest.mark.req("S4-33", "S4-34", "S4-35", "S4-37", "S4-38", "S4-39", "T-05", "X-32")
async def test_narrowed_tools_in_every_dialect(world: World):
    """Vector 12 on two dialects, and what the others say of a subset; both tools stay declared everywhere."""
    gates = [{"renderer": "limit_tools", "names": ["lookup"]}, {"renderer": "tool_choice", "choice": "required"}]
    session, calls = await run(world, [SYS, HIST, *gates])
    assert [one["tools"] for one in calls] == [["lookup", "escalate"]] * 2
    responses = (await world.input(session, dialect="openai-responses"))["body"]
    assert responses["tool_choice"] == {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "lookup"}]}
    assert len(responses["tools"]) == 2
    chat = (await world.input(session, dialect="openai-chat"))["body"]
    named = {"type": "function", "function": {"name": "lookup"}}
    assert chat["tool_choice"] == {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    assert len(chat["tools"]) == 2
    gemini = (await world.input(session, dialect="gemini"))["body"]
    assert gemini["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["lookup"]}
    anthropic = await world.input(session, dialect="anthropic-messages")
    assert anthropic["body"]["tool_choice"] == {"type": "auto"}, "thinking takes no forced tool"
    assert len(anthropic["body"]["tools"]) == 2
    outside = next(row for row in anthropic["manifest"]["decisions"] if row["source"].get("name") == "escalate")
    assert (outside["disposition"], outside["reason"], outside["also"]) == ("included", "declared", ["narrowed", "not_enforced"])
    bedrock = await world.input(session, dialect="bedrock-converse")
    assert len(bedrock["body"]["toolConfig"]["tools"]) == 2


@pytest.mark.req("S4-36", "S4-45", "S4-46", "S0-10", "T-12")
async def test_a_state_that_changes_inside_a_turn_changes_the_next_call(world: World):
    brief = {"renderer": "system", "template": "Brief on {{ state.patient_name }}.", "when": "state.patient_name is not none"}
    agent = await world.agent(SCRIPT, context=[SYS, brief, HIST], tools=TOOLS, state_schema=SCHEMA)
    session = await world.session(agent)
    turn = await world.turn(session)
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"patient_name": "Ada {{ state.pin }}", "pin": "S3CRET"}})
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "ok"}])
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    first, second = [await derived(world, session, one) for one in sorted(calls, key=lambda one: one["step_index"])]
    assert first["body"]["messages"][0]["content"] == "S"
    assert "Brief on Ada {{ state.pin }}." in str(second["body"]["messages"][:2])
    assert "S3CRET" not in str([first, second])
    assert calls[0]["prefix_digest"] != calls[1]["prefix_digest"]


@pytest.mark.req("S4-44", "T-25")
@pytest.mark.parametrize(
    ("key", "value", "code", "word"),
    [
        ("template", "Hi {{ state.patient_nmae }}", "template-unknown-key", "patient_nmae"),
        ("template", "Hi {{ state.pin }}", "template-secret-key", "pin"),
        ("template", "Hi {{ state.patient_name", "template-syntax", "Line 1"),
        ("template", "{{ ''.__class__.__mro__ }}", "template-syntax", "Line 1"),
        ("when", "state.patient_nmae", "template-unknown-key", "patient_nmae"),
    ],
)
async def test_a_template_that_is_wrong_stores_nothing(world: World, key: str, value: str, code: str, word: str):
    spec = {"renderer": "system", **({"text": "t"} if key == "when" else {}), key: value}
    document = {"model": {"upstream": "scripted", "name": "scripted"}, "limits": LIMITS, "state_schema": SCHEMA, "context": [HIST, spec]}
    answer = await world.call("PUT", "/agents/typo", 422, json=document)
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == (f"/context/1/{key}", code)
    assert word in fault["detail"]
    await world.call("GET", "/agents/typo", 404)


@pytest.mark.req("S4-06")
async def test_a_what_if_shows_what_its_taps_saw(world: World):
    session, _ = await run(world, [SYS, HIST])
    context = [SYS, HIST, {"renderer": "tap", "id": "before"}, {"renderer": "prune_reasoning"}, {"renderer": "select_recent", "n": 2}]
    bare = (
        await world.call("POST", f"/sessions/{session}/model-input", 200, json={"context": [one for one in context if one["renderer"] != "tap"]})
    ).json()
    tapped = (
        await world.call("POST", f"/sessions/{session}/model-input", 200, json={"context": [*context, {"renderer": "tap", "id": "end"}]})
    ).json()
    assert tapped["digest"] == bare["digest"]
    assert "taps" not in bare
    before, end = tapped["taps"]
    assert [(tap["id"], tap["message_count"]) for tap in (before, end)] == [("before", 6), ("end", 4)]
    assert [message["role"] for message in before["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert [part["type"] for part in before["messages"][1]["parts"]] == ["reasoning", "tool_call"]
    assert before["tools"] == {"declared": ["lookup", "escalate"], "allowed": None, "choice": None}
    assert before["system"] == [{"renderer": "sys", "text": "S"}]
    assert "taps" not in await world.input(session)


async def test_a_renderer_that_fails_sends_nothing_and_says_why(world: World):
    loop = "{% for a in state.list %}{% for b in state.list %}{{ a }}{% endfor %}{% endfor %}"
    schema = {"session": {"type": "object", "properties": {"list": {"type": "array"}}}}
    agent = await world.agent(context=[{"renderer": "system", "id": "big", "template": loop}, HIST], state_schema=schema)
    session = await world.session(agent, state={"session": {"list": list(range(3_000))}})
    found = await world.input(session)
    assert found["violations"][0]["code"] == "template-too-much"
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
    assert "template-too-much" in turn["error"]["detail"]
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert [(one["status"], one["attempts"]) for one in calls] == [("refused", [])]
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"list": [1]}})
    assert (await world.turn(session))["status"] == "completed"


@pytest.mark.req("X-30")
async def test_past_states_are_read_where_a_renderer_asks_for_them(world: World):
    spell = {"renderer": "transform_user", "template": "[{{ state.patient_name }}] {{ message.text }}", "as_of": "message"}
    session = await world.session(await world.agent(context=[HIST, spell], state_schema=SCHEMA))
    await world.turn(session, "one")
    for name in ("Ada", "Bob"):
        await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"patient_name": name}})
        await world.turn(session, name.lower())
    body = (await world.input(session))["body"]
    assert [message["content"] for message in body["messages"] if message["role"] == "user"] == ["[] one", "[Ada] ada", "[Bob] bob"]
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    for call in calls:
        await derived(world, session, call)


@pytest.mark.req("S4-09")
async def test_a_call_of_another_packages_renderer_is_verified_under_its_version_alone(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[2] / "docs" / "examples" / "context-ledger-shout")])
    shout = __import__("context_ledger_shout").KIND
    known = MappingProxyType({**renderers.RENDERERS, "shout": shout})
    monkeypatch.setattr(renderers, "RENDERERS", known)
    monkeypatch.setattr(agents_context, "RENDERERS", known)
    monkeypatch.setattr(renderers, "VERSIONS", {"shout": "shout@0.1.0"})
    session = await world.session(await world.agent(context=[HIST, {"renderer": "shout", "mark": "?"}]))
    await world.turn(session, "hello")
    (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    found = await derived(world, session, call)
    assert found["compiler_version"] == "1+shout@0.1.0"
    assert found["body"]["messages"] == [{"role": "user", "content": "HELLO?"}]
    started = next(one for one in await world.ledger(session) if one["kind"] == "model_call_started")
    assert "1+shout@0.1.0" in lossless.dumps(started["body"])
    path = f"/sessions/{session}/calls/{call['id']}/model-input"
    monkeypatch.setattr(renderers, "VERSIONS", {"shout": "shout@0.2.0"})
    other = (await world.call("GET", path, 200)).json()
    assert (other["verified"], other["reason"], other["compiler_version"]) == ("unverifiable", "compiler_version", "1+shout@0.2.0")
    monkeypatch.setattr(renderers, "VERSIONS", {})
    monkeypatch.setattr(renderers, "RENDERERS", renderers.BUILT)
    gone = (await world.call("GET", path, 200)).json()
    assert (gone["verified"], gone["reason"]) == ("unverifiable", "compiler_version")
    assert [violation["code"] for violation in gone["violations"]] == ["renderer-missing"]


@pytest.mark.req("X-28", "X-27", "T-22")
async def test_changed_sections_are_recorded_with_the_calls_that_had_them(world: World):
    """The first dispatched call records all, later ones what changed and what went; a preview and an unchanged call record nothing."""
    brief = {"renderer": "system", "id": "brief", "template": "On {{ state.patient_name }}.", "when": "state.patient_name is not none"}
    session = await world.session(await world.agent(context=[SYS, brief, HIST], state_schema=SCHEMA))
    for name in ("Ada", "Ada", "Bob", None):
        await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"patient_name": name}})
        await world.input(session)
        await world.turn(session)
    ledger = await world.ledger(session)
    records = [one for one in ledger if one["kind"] == "sections_recorded"]
    assert [(one["body"]["changed"], one["body"]["removed"]) for one in records] == [(["sys", "brief"], []), (["brief"], []), ([], ["brief"])]
    assert list(records[1]["body"]["sections"]) == ["sys", "brief"]
    assert "Ada" not in str(records)
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    for call in calls:
        await derived(world, session, call)
    plain = await world.session(await world.agent(context=[SYS, HIST]))
    for _ in range(2):
        await world.turn(plain)
    assert [one["body"]["changed"] for one in await world.ledger(plain, kinds="sections_recorded")] == [["sys"]]


@pytest.mark.req("S4-02", "S4-05", "S4-34", "S4-35", "S4-36", "S4-39", "S4-42", "S4-48")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_the_triage_agent_on_every_wire(world: World, dialect: str):
    """State, a tool, a pipeline of filters and narrowed tools; each body is held against the fake provider's own rules."""
    context = [
        {"renderer": "system", "text": "You are a triage nurse."},
        {"renderer": "system", "template": "Brief the clinician on {{ state.patient_name }}.", "when": "state.patient_name is not none"},
        HIST,
        {"renderer": "prune_reasoning"},
        {"renderer": "select_recent", "n": 20},
        {"renderer": "limit_tools", "names": ["lookup"]},
        {"renderer": "tool_choice", "choice": "required", "when": "state.patient_name is none"},
    ]
    model = {"upstream": "scripted", "name": "m", "params": {"dialect": dialect, "script": SCRIPT}}
    session = await world.session(await world.agent(model=model, context=context, tools=TOOLS, state_schema=SCHEMA))
    turn = await world.turn(session, "Can I take it?")
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"patient_name": "Ada"}})
    answered = [{"tool_call_id": turn["pending"][0]["tool_call_id"], "content": "penicillin"}]
    assert (await world.results(session, turn["id"], answered))["status"] == "completed"
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert [(one["message_count"], one["tools"]) for one in calls] == [(2, ["lookup", "escalate"]), (5, ["lookup", "escalate"])]
    for call in calls:
        found = await derived(world, session, call)
        assert found["violations"] == []
        assert JUDGES[dialect](found["body"], found["model"]) == []
        assert "Check the record first." not in str(found["body"])
        assert ("Ada" in str(found["body"])) is (call["step_index"] == 1)
        outside = next(row for row in found["manifest"]["decisions"] if row["source"].get("name") == "escalate")
        assert "narrowed" in outside["also"]
