"""Scripted runs against the real service: what they play, what they give back, and that they do not meet."""

import asyncio
import logging
import re
from pathlib import Path
from uuid import uuid4

import pytest

from app.testing import (
    NotStarted,
    Piece,
    ScriptFault,
    Service,
    StepRefused,
    approve,
    deny,
    has_entries,
    has_result,
    has_status,
    has_text,
    input_for,
    model,
    result,
    set_state,
    tool_call,
    user,
)
from app.testing import service as start
from tests.testing.conftest import CALLS_LOOKUP, LOOKUP, TRIAGE, WORKED_EXAMPLE


@pytest.mark.req("S4-13", "S4-14", "S4-15", "S4-18", "S4-20", "S4-21")
async def test_the_worked_example(service: Service):
    run = await service.run(TRIAGE, WORKED_EXAMPLE)

    first, second = run.renders
    assert [first.message_count, second.message_count] == [2, 5]
    assert first.pieces == (Piece("system", "You are a triage nurse."), Piece("user", "Can I take amoxicillin?"))
    assert second.pieces[:2] == first.pieces
    assert second.pieces[2:] == (
        Piece("thought", "Check the record first."),
        Piece("tool_call", 'lookup({"patient": "ada"})'),
        Piece("tool_result", '{"allergies": ["penicillin"]}'),
    )
    assert [first.verified, second.verified] == [True, True]
    started = [entry["body"] for entry in run.entries if entry["kind"] == "model_call_started"]
    assert [(body["step_index"], body["message_count"], body["tools"]) for body in started] == [(0, 2, ["lookup"]), (1, 5, ["lookup"])]
    assert (run.status, run.text, run.error, run.pending) == ("completed", "Avoid it.", None, ())
    assert len(run.kinds) > second.message_count  # S4-19: bookkeeping counts in no render


@pytest.mark.req("S4-20")
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"])
async def test_a_render_reads_the_same_in_every_dialect(service: Service, dialect: str):
    two = [{"renderer": "system", "text": "You are a triage nurse."}, {"renderer": "system", "text": "Be brief."}, {"renderer": "history"}]
    run = await service.run({**TRIAGE, "context": two}, WORKED_EXAMPLE, dialect=dialect)
    assert {call["dialect"] for call in run.calls} == {dialect}
    render = run.renders[1]
    assert render.roles == ("system", "system", "user", "thought", "tool_call", "tool_result")
    assert len(render.roles) == render.message_count
    assert render.system_text == "You are a triage nurse.\n\nBe brief."
    assert [piece.text for piece in render.pieces[:3]] == ["You are a triage nurse.", "Be brief.", "Can I take amoxicillin?"]
    assert render.pieces[-1].text == '{"allergies": ["penicillin"]}'
    assert render.tools == ("lookup",)
    assert {row["source"].get("name") for row in render.manifest["decisions"]} >= {"lookup"}


async def test_pieces_of_what_is_no_plain_history(service: Service):
    """A section at the tail is a message; an input that was not stored is there as a blank; a call that was cut has the result that closed it."""
    context = [*TRIAGE["context"], {"renderer": "system", "text": "Be brief.", "placement": "tail"}]
    agent_message = {"kind": "agent_message", "parts": [{"type": "text", "text": "From a colleague."}]}
    steps = [
        user("Not stored.", persist=False, extra_messages=[agent_message]),
        CALLS_LOOKUP,
        user("Never mind.", on_pending="abandon"),
        model("Fine."),
    ]
    first, second = (await service.run({**TRIAGE, "context": context}, steps)).renders
    assert first.pieces[1:] == (Piece("user", "From a colleague."), Piece("user", "…"), Piece("user", "Be brief."))
    assert first.verified == "unverifiable"
    assert second.roles == ("system", "user", "thought", "tool_call", "tool_result", "user", "user")
    assert second.pieces[4].text.endswith("Not executed: the turn was cancelled.")
    assert [len(render.roles) for render in (first, second)] == [first.message_count, second.message_count]


@pytest.mark.req("S4-23")
async def test_state_is_seeded_and_shown_and_a_run_reports_its_status_and_entries(service: Service):
    schema = {"session": {"type": "object", "properties": {"patient": {"type": "string"}}, "additionalProperties": False}}
    steps = [user("Hello."), model("Hello."), set_state({"session": {"patient": "Grace"}}), user("And now?"), model("Grace.")]
    run = await service.run({**TRIAGE, "state_schema": schema}, steps, state={"session": {"patient": "Ada"}})
    assert run.state == {"session": {"patient": "Grace"}}
    run.check(
        has_status("completed") & has_entries("session_opened", "user_message", "turn_settled", "state_changed", "user_message", "turn_settled")
    )
    assert [turn["status"] for turn in run.turns] == ["completed", "completed"]
    with pytest.raises(StepRefused, match="/state/session/patient") as refused:
        await service.run({**TRIAGE, "state_schema": schema}, [], state={"session": {"patient": 5}})
    assert refused.value.problem["code"] == "invalid-request"


@pytest.mark.req("X-83", "X-89")
async def test_a_turn_that_waits_says_for_which_calls_and_goes_on_with_their_inputs(service: Service):
    both = model(
        tool_calls=[tool_call("lookup", {"patient": "a"}, tool_call_id="first"), tool_call("lookup", {"patient": "b"}, tool_call_id="second")]
    )
    waits = await service.run(TRIAGE, [user("Both?"), both])
    assert waits.status == "requires_action"
    assert [(one["tool_call_id"], one["needs"]) for one in waits.pending] == [("first", "result"), ("second", "result")]
    steps = [
        user("Both?"),
        both,
        input_for("lookup", "nuts", tool_call_id="second"),
        input_for("lookup", [{"type": "text", "text": "none"}], is_error=True),
        model("Nuts."),
    ]
    run = await service.run(TRIAGE, steps)
    assert run.status == "completed"
    results = [entry["body"] for entry in run.entries if entry["kind"] == "tool_result"]
    assert [(body["tool_call_id"], body["is_error"]) for body in results] == [("second", False), ("first", True)]
    with pytest.raises(StepRefused, match="/results/0/content"):
        await service.run(TRIAGE, [user("Both?"), both, input_for("lookup", [{"type": "no such part"}])])


@pytest.mark.req("X-89")
async def test_a_later_run_goes_on_where_an_earlier_one_ended(service: Service):
    first = await service.run(TRIAGE, WORKED_EXAMPLE, user="u-1", external_id="case-7")
    steps = [user("Sure?"), CALLS_LOOKUP, result("lookup", "penicillin"), model("No.")]
    second = await service.run(TRIAGE, steps, tenant=first.tenant, session_id=first.session_id)
    assert second.session_id == first.session_id
    assert second.text == "No."
    assert second.entries[: len(first.entries)] == first.entries
    with pytest.raises(StepRefused, match="409 exists"):
        await service.run(TRIAGE, [], tenant=first.tenant, user="u-1", external_id="case-7")
    with pytest.raises(StepRefused, match="404"):
        await service.run(TRIAGE, [], session_id=first.session_id)
    waits = await service.run(TRIAGE, [user("Can I?"), CALLS_LOOKUP])
    with pytest.raises(ScriptFault, match="the turn is none of this run"):
        await service.run(TRIAGE, [result("lookup", "x")], tenant=waits.tenant, session_id=waits.session_id)


@pytest.mark.req("X-89")
async def test_the_steps_are_played_with_the_scopes_of_the_run(service: Service):
    with pytest.raises(StepRefused, match=re.escape("POST /sessions was refused: 403 scope-missing")):
        await service.run(TRIAGE, [user("Hello.")], scopes=["sessions:read"])
    run = await service.run(TRIAGE, [user("Hello."), model("Hello.")], scopes=["sessions:write"])
    assert run.has(has_text("Hello."))


async def test_turn_fields_and_failures_of_the_model_are_steps_too(service: Service):
    steps = [
        user("A secret.", hidden=True, attributes={"ui": "web"}),
        model("One", error={"status": 503, "attempts": 1}),
        user("Again."),
        model(error={"status": 401}),
        user("And again."),
        model(),
    ]
    run = await service.run(TRIAGE, steps)
    assert [turn["status"] for turn in run.turns] == ["completed", "failed", "failed"]
    assert [len(call["attempts"]) for call in run.calls] == [2, 1, 1]
    assert run.entries[1]["hidden"]
    run.check(has_status("failed", "empty-answer"))
    for more, message in (({"overrides": {"model": {"name": "another"}}}, "one model, the script"), ({"background": True}, "waits for each")):
        with pytest.raises(ValueError, match=message):
            user("Hello.", **more)


async def test_a_call_that_never_went_out_takes_no_step(service: Service):
    small = {**TRIAGE, "limits": {"context_window": 1_000, "max_output_tokens": 400}, "model": {"upstream": "openai", "name": "some-model"}}
    run = await service.run(small, [user("word " * 2_000), user("Hi.", follows="start"), model("Hello.")])
    assert [turn["status"] for turn in run.turns] == ["failed", "completed"]
    assert run.turns[0]["error"]["code"] == "context-over-budget"
    assert [call["status"] for call in run.calls] == ["refused", "completed"]
    assert run.text == "Hello."


async def test_runs_at_the_same_time_do_not_meet(service: Service):
    """The same name of an agent, the same external id: each run has a tenant of its own. In one tenant each has its own script."""
    scripts = [[user(f"Question {n}"), model(f"Answer {n}", delay_ms=30)] for n in range(6)]
    apart = await asyncio.gather(*(service.run(TRIAGE, script, external_id="same", user="u") for script in scripts))
    tenant = uuid4()
    together = await asyncio.gather(*(service.run(TRIAGE, script, tenant=tenant) for script in scripts))
    for runs in (apart, together):
        assert [run.text for run in runs] == [f"Answer {n}" for n in range(6)]
        assert [run.renders[0].pieces[-1].text for run in runs] == [f"Question {n}" for n in range(6)]
    assert len({run.tenant for run in apart}) == 6


@pytest.mark.req("S4-20", "S4-22")
async def test_the_clients_own_tools_run_for_real(service: Service):
    seen = []

    async def lookup(patient: str) -> dict[str, list[str]]:
        seen.append(patient)
        return {"allergies": ["penicillin"]} if patient == "ada" else {}

    def ask(question: str) -> str:
        raise LookupError(question)

    tools = [LOOKUP, {**LOOKUP, "name": "ask", "parameters": {"type": "object"}}]
    both = [tool_call("lookup", {"patient": "ada"}), tool_call("ask", {"question": "Since when?"})]
    steps = [user("Can I?"), model(tool_calls=both), model(tool_calls=[tool_call("ask", "no JSON"), tool_call("lookup")]), model("Avoid it.")]
    run = await service.run({**TRIAGE, "tools": tools}, steps, tools={"lookup": lookup, "ask": ask})
    assert seen == ["ada"]
    assert [piece.text.removeprefix("[error] ") for piece in run.renders[1].pieces[-2:]] == [
        '{"allergies": ["penicillin"]}',
        "LookupError: Since when?",
    ]
    run.check(has_result("ask", "The arguments are no JSON object.", is_error=True), has_result("lookup", re.compile("^TypeError"), is_error=True))
    assert run.status == "completed"

    mocked = [user("Can I?"), CALLS_LOOKUP, result("lookup", "mocked"), model("Fine.")]
    run = await service.run(TRIAGE, mocked, tools={"lookup": lookup})
    assert run.has(has_result("lookup", "mocked"))
    assert seen == ["ada"]
    with pytest.raises(ValueError, match="no document declares look_up"):
        await service.run(TRIAGE, [], tools={"look_up": lookup})


async def test_an_assertion_in_a_tool_is_the_tests_own(service: Service):
    def lookup(patient: str) -> str:
        assert patient == "grace", "another patient"
        return ""

    with pytest.raises(AssertionError, match="another patient"):
        await service.run(TRIAGE, WORKED_EXAMPLE[:2], tools={"lookup": lookup})


@pytest.mark.req("S4-20", "X-89")
async def test_a_mocked_tool_is_the_scripts_whoever_would_run_it(service: Service):
    """The declarations stay as they are; the calls of that tool wait for the script, those of others for whom the document names."""
    executors = [{"kind": "http", "server": "records", "tool": "lookup"}, {"kind": "client"}]
    tools = [{**LOOKUP, "name": name, "executor": executor} for name, executor in zip(("lookup", "ask"), executors, strict=True)]
    calls = model(tool_calls=[tool_call("lookup", {"patient": "ada"}), tool_call("ask", {"patient": "ada"})])
    steps = [user("Can I?"), calls, result("lookup", "penicillin"), input_for("ask", "No."), model("Avoid it.")]
    run = await service.run({**TRIAGE, "tools": tools}, steps)
    assert run.renders[0].tools == ("lookup", "ask")
    assert run.renders[1].roles[-2:] == ("tool_result", "tool_result")
    run.check(has_result("lookup", "penicillin"), has_result("ask", "No."), has_text("Avoid it."))


async def test_the_dialect_is_that_of_the_configured_upstream(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The operator's file counts but for its database and keys; variables of a service are no settings of a test's."""
    monkeypatch.setenv("CONTEXT_LEDGER_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    config = tmp_path / "context-ledger.toml"
    config.write_text('auth = "local"\ndatabase_url = "postgresql://nobody@127.0.0.1:9/none"\n[upstreams.claude]\npreset = "anthropic"\n', "utf-8")
    async with start(database_url=database_url, config=config) as service:
        document = {**TRIAGE, "model": {"upstream": "claude", "name": "some-model"}}
        run = await service.run(document, WORKED_EXAMPLE)
        assert [(call["upstream"], call["dialect"], call["model"]) for call in run.calls] == [("scripted", "anthropic-messages", "some-model")] * 2
        assert (await service.run(document, [user("Hi."), model("Hi.")], dialect="gemini")).calls[0]["dialect"] == "gemini"


def test_logs_are_as_they_were_when_the_service_has_gone(database_url: str):
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    with start(database_url=database_url):
        assert any(handler.get_name() == "context-ledger" for handler in root.handlers)
    assert (root.level, list(root.handlers)) == before


def test_a_service_needs_no_event_loop(service: Service):
    run = service.run_blocking(TRIAGE, [user("Hello."), model("Hello.")], timeout_seconds=20)
    assert run.events[-1].name == "turn.completed"


async def test_decisions_are_steps_for_calls_that_wait_for_approval(service: Service):
    """A call that waits for a result is no call to approve; the message says what waits, and for what."""
    for step in (approve("lookup"), deny("lookup", "Not now.")):
        with pytest.raises(AssertionError, match=r"no call of lookup waits for this.*lookup call_\w+ \(needs result\)"):
            await service.run(TRIAGE, [user("Can I?"), CALLS_LOOKUP, step])


async def test_a_database_that_cannot_be_served_from_is_named_at_once(migrate_url: str, tmp_path: Path):
    with pytest.raises(NotStarted, match="superuser"), start(database_url=migrate_url):
        pass
    with pytest.raises(NotStarted), start(database_url="postgresql://ledger_app@127.0.0.1:9/none"):
        pass
    idle = start(config=tmp_path / "none.toml")
    with pytest.raises(NotStarted, match="`with` block"):
        await idle.run(TRIAGE, [])
