"""What scripts do with approvals, with agents that call one another and with tools that the service runs itself."""

from pathlib import Path

import pytest

from app.testing import Service, approve, deny, has_entries, has_result, has_tool_call, model, result, tool_call, user
from app.testing import service as start
from tests.outbound.tool_servers.kit import SIGNING_KEY, TOKEN, Endpoint, served
from tests.testing.conftest import CALLS_LOOKUP, LOOKUP, TRIAGE

GUARDED = {**TRIAGE, "tools": [{**LOOKUP, "approval": "always"}]}


@pytest.mark.req("X-83", "X-89")
async def test_a_call_that_needs_approval_is_decided_by_a_step(service: Service):
    waits = await service.run(GUARDED, [user("Can I?"), CALLS_LOOKUP])
    assert [(one["name"], one["needs"]) for one in waits.pending] == [("lookup", "approval")]

    approved = [user("Can I?"), CALLS_LOOKUP, approve("lookup"), result("lookup", "penicillin"), model("Avoid it.")]
    run = await service.run(GUARDED, approved)
    run.check(has_entries("approval_requested", "approval_decided", "tool_result", "turn_settled"), has_result("lookup", "penicillin"))

    seen: list[str] = []
    denied = [user("Can I?"), CALLS_LOOKUP, deny("lookup", "Not now."), model("Very well.")]
    run = await service.run(GUARDED, denied, tools={"lookup": seen.append})
    run.check(has_result("lookup", lambda text: "Not now." in str(text), is_error=True))
    assert (run.text, seen) == ("Very well.", [])


@pytest.mark.req("S4-20", "X-89")
async def test_an_agent_that_calls_another_shares_its_script(service: Service):
    advises = {"name": "advise", "parameters": {"type": "object"}, "executor": {"kind": "agent", "agent": "advisor", "mode": "call"}}
    steps = [user("Can I?"), model(tool_calls=[tool_call("advise", {"question": "Amoxicillin?"})]), model("No."), model("Avoid it.")]
    run = await service.run({**TRIAGE, "tools": [advises]}, steps, agents={"advisor": {"context": [{"renderer": "history"}]}}, name="nurse")
    assert [call["agent"] for call in run.calls] == ["nurse", "advisor", "nurse"]
    run.check(has_tool_call("advise"), has_result("advise", "No."))
    assert run.text == "Avoid it."


@pytest.mark.req("S4-22", "X-89")
async def test_a_servers_tool_runs_for_real_unless_a_step_mocks_it(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DESK_KEY", SIGNING_KEY.reveal())
    monkeypatch.setenv("DESK_TOKEN", TOKEN)
    endpoint = Endpoint(answer=b'{"content":"penicillin"}')
    document = {**TRIAGE, "tools": [{**LOOKUP, "executor": {"kind": "http", "server": "desk", "tool": "find"}}]}
    async with served(endpoint) as (url, _):
        config = tmp_path / "context-ledger.toml"
        lines = ["[tool_servers.desk]", 'kind = "http"', f'url = "{url}"', 'signing_key_env = "DESK_KEY"', "allow_private_network = true"]
        config.write_text("\n".join([*lines, 'headers_env = { "Authorization" = "DESK_TOKEN" }']), "utf-8")
        async with start(database_url=database_url, config=config) as service:
            run = await service.run(document, [user("Can I?"), CALLS_LOOKUP, model("Avoid it.")])
            run.check(has_result("lookup", "penicillin", is_error=False), has_entries("tool_started", "tool_result"))
            assert run.renders[1].pieces[-1].text == "penicillin"
            assert [(taken["tool"], taken["arguments"]) for taken in endpoint.taken] == [("find", {"patient": "ada"})]

            run = await service.run(document, [user("Can I?"), CALLS_LOOKUP, result("lookup", "nuts"), model("Fine.")])
            assert run.has(has_result("lookup", "nuts"))
            assert len(endpoint.taken) == 1
