"""Plan, skills, agents, approvals and tools of an MCP server in one session, its dialect switched between turns, live with strict fakes.

Each provider takes every body; each call is derived again to the byte; what the ledger holds and a body does not has a row that says why.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from mcp.server.fastmcp import FastMCP

from app.config.secret import Secret
from app.config.settings import Settings
from app.context.passes.receipts import TAG
from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall
from tests.judges.conftest import Providers
from tests.judges.judging import objections
from tests.judges.targets import MODELS, target_of
from tests.judges.test_switching import LIMITS, model_of, present, strings
from tests.outbound.tool_servers.kit import McpPlace, configured, mcp_server
from tests.services.world import text

ROUTES = [
    ("openai-responses", "anthropic-messages", "gemini"),
    ("anthropic-messages", "gemini", "bedrock-converse"),
    ("gemini", "bedrock-converse", "openai-chat"),
    ("bedrock-converse", "openai-chat", "openai-responses"),
    ("openai-chat", "openai-responses", "anthropic-messages"),
]
GUIDE = {"name": "triage-guide", "description": "How to triage.", "text": "Ask for the pulse first."}
MORE = {"name": "doses", "description": "How much of what.", "text": "Never more than the label says."}
STEPS = [{"text": "look", "status": "active"}, {"text": "tell", "status": "pending"}]
SCOPED: list[dict[str, Any]] = [{"renderer": "history", "scope": "session"}]


def define(server: FastMCP, calls: list[Any]) -> None:
    @server.tool()
    async def allergies(patient: str) -> str:
        """The recorded allergies of a patient."""
        calls.append(("allergies", patient))
        return f"{patient}: penicillin"

    @server.tool()
    async def order(drug: str) -> str:
        """Orders a drug."""
        calls.append(("order", drug))
        return f"ordered {drug}"


@pytest_asyncio.fixture
async def notes() -> AsyncIterator[McpPlace]:
    async with mcp_server(define) as place:
        yield place


@pytest.fixture
def settings(database_url: str, notes: McpPlace) -> Settings:
    servers = {"notes": configured(notes.url, "mcp", "notes")}
    return Settings(
        database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5, heartbeat_seconds=0.5, tool_servers=servers
    )


def calls(name: str, said: str = "", /, **arguments: Any) -> tuple[Any, ...]:
    """A call as a model makes it: thought about, with a word beside it."""
    return (Thinking(f"I want {name}."), *([Text(said)] if said else []), ToolCall(name, json.dumps(arguments)))


class Play:
    """What the models say, in the order of the session's calls, whoever is asked; and what was checked so far."""

    def __init__(self, providers: Providers) -> None:
        self.providers = providers
        self.seen = dict.fromkeys(providers.fakes, 0)
        self.verified: list[str] = []

    def says(self, dialect: str, *parts: tuple[Any, ...]) -> None:
        """The next answers of a provider."""
        fake = self.providers.fakes[dialect]
        fake.answers = [Answer(parts[0])] * len(fake.served) + [Answer(each) for each in parts]

    async def checked(self, session: str, turn: Any, *by: str) -> list[Any]:
        """The turn's calls that were not looked at yet, made by these dialects: taken, valid, derived again, and whole but for what is told."""
        world = self.providers.world
        assert {each: fake.refused for each, fake in self.providers.fakes.items() if fake.refused} == {}
        new = [id for id in turn["calls"] if id not in self.verified]
        self.verified += new
        assert len(new) == len(by), turn["error"]
        found = []
        for id, dialect in zip(new, by, strict=True):
            call = (await world.call("GET", f"/sessions/{session}/calls/{id}/model-input", 200)).json()
            body = self.providers.fakes[dialect].served[self.seen[dialect]]
            self.seen[dialect] += 1
            assert (call["dialect"], call["verified"], call["body"], call["violations"]) == (dialect, True, body, [])
            assert objections(dialect, json.dumps(body).encode(), target_of(dialect, **model_of(dialect)["params"])) == []
            await self._whole(session, call)
            found.append(call)
        return found

    async def _whole(self, session: str, call: Any) -> None:
        """Every part of every message is in the body, among the losses, or out by a decision on its message."""
        rows = {row["source"].get("seq"): row for row in call["manifest"]["decisions"] if row["source"]["kind"] == "entry"}
        told = {(loss.get("seq"), loss.get("part")) for loss in call["losses"]}
        said = set(strings(call["body"]))
        kinds = "user_message,agent_message,assistant_message,tool_result"
        for entry in await self.providers.world.ledger(session, kinds=kinds):
            if entry["seq"] > call["head_seq"]:
                continue
            row = rows[entry["seq"]]
            if row["disposition"] == "excluded" and row["reason"] in ("out_of_scope", "open_call_left_out"):
                continue
            for position, part in enumerate(entry["body"]["parts"]):
                assert present(part, said, call["body"]) or (entry["seq"], position) in told, (call["dialect"], entry["seq"], part, call["losses"])


async def agents(providers: Providers, way: tuple[str, str, str]) -> None:
    """A nurse who plans, asks an expert and hands over to the pharmacy, each on a model of its own: no switch of the session's changes theirs."""
    world = providers.world
    brief = {"renderer": "system", "id": "brief", "template": "You see {{ state.patient }}.", "when": "state.patient is not none"}
    state = {"session": {"type": "object", "properties": {"patient": {"type": "string"}}}}
    tools = [
        {"name": "allergies", "executor": {"kind": "mcp", "server": "notes"}},
        {"name": "order", "executor": {"kind": "mcp", "server": "notes"}, "approval": "always"},
        {"name": "consult", "executor": {"kind": "agent", "agent": "expert", "mode": "call"}},
        {"name": "hand_over", "executor": {"kind": "agent", "agent": "pharmacy", "mode": "transfer"}},
    ]
    await world.agent(name="expert", model=model_of(way[2]), limits=LIMITS, context=SCOPED, tools=[tools[0]])
    await world.agent(name="pharmacy", model=model_of(way[1]), limits=LIMITS, context=SCOPED)
    await world.agent(
        name="nurse",
        model=model_of(way[0]),
        limits=LIMITS,
        context=[{"renderer": "system", "text": "You are a nurse."}, brief, *SCOPED],
        tools=tools,
        skills=[GUIDE, MORE],
        plan={"enabled": True},
        state_schema=state,
    )


@pytest.mark.req("S2-25", "S3-23", "S4-24", "X-20", "X-25", "X-29", "X-71", "T-12", "T-23")
@pytest.mark.parametrize("way", ROUTES, ids=[" ".join(dialect[:4] for dialect in way) for way in ROUTES])
async def test_everything_that_an_agent_may_do_in_one_session(providers: Providers, notes: McpPlace, way: tuple[str, str, str]):
    world, play, (first, second, third) = providers.world, Play(providers), way
    await agents(providers, way)
    session = await world.session("nurse")

    plan = ToolCall("update_plan", json.dumps({"operation": "create", "objective": "Help.", "steps": STEPS}))
    play.says(first, (*calls("allergies", patient="Ada"), plan), calls("load_skill", "One more thing.", name="doses"), (Text("You are allergic."),))
    turn = await world.turn(session, "Can I take amoxicillin?", skills=["triage-guide"])
    assert (turn["status"], turn["error"]) == ("completed", None)
    opened, after_tool, after_skill = await play.checked(session, turn, first, first, first)
    assert any(GUIDE["text"] in said for said in strings(opened["body"]))
    assert any(TAG in said and "Help." in said for said in strings(after_tool["body"])), "the plan as it is told to the model"
    assert any(MORE["text"] in said for said in strings(after_skill["body"]))

    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model_of(second)})
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"patient": "Ada"}})
    play.says(second, calls("order", "I order it.", drug="doxycycline"), calls("consult", question="Is it safe?"))
    turn = await world.turn(session, "Then order something else.")
    assert [(one["name"], one["needs"]) for one in turn["pending"]] == [("order", "approval")]
    await play.checked(session, turn, second)
    assert notes.calls == [("allergies", "Ada")]
    play.says(third, calls("allergies", patient="Ada"), (Thinking("Fine."), Redacted(), Text("It is safe.")))
    done = ToolCall("update_plan", json.dumps({"operation": "abandon"}))
    play.says(second, calls("consult", question="Is it safe?"), (Thinking("Good."), Text("Ordered, and it is safe."), done))
    decisions = [{"tool_call_id": turn["pending"][0]["tool_call_id"], "decision": "approve"}]
    path = f"/sessions/{session}/turns/{turn['id']}/decisions"
    turn = (await world.call("POST", path, 200, json={"decisions": decisions}, headers={"accept": "application/json"})).json()
    assert (turn["status"], turn["error"]) == ("completed", None)
    *_, inner, back = await play.checked(session, turn, second, third, third, second)
    assert notes.calls == [("allergies", "Ada"), ("order", "doxycycline"), ("allergies", "Ada")]
    assert (inner["agent"]["name"], back["agent"]["name"]) == ("expert", "nurse")
    assert any("You see Ada." in said for said in strings(back["body"]))

    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model_of(third)})
    play.says(third, calls("hand_over", "They know more."))
    play.says(second, (Thinking("So."), Text("Pharmacy here.")))
    turn = await world.turn(session, "And what does it cost?")
    assert (turn["status"], turn["error"]) == ("completed", None)
    await play.checked(session, turn, third, second)
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model_of(first)})
    play.says(first, (Text("Bye."),))
    turn = await world.turn(session, "Thanks.")
    (last,) = await play.checked(session, turn, first)
    assert last["agent"]["name"] == "pharmacy"
    answers = [text(entry) for entry in await world.raw(session) if entry["kind"] == "assistant_message" and text(entry)]
    assert answers[-3:] == ["They know more.", "Pharmacy here.", "Bye."]
    assert (await world.call("GET", f"/sessions/{session}/plan", 200)).json()["plan"]["status"] == "abandoned"
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


@pytest.mark.req("S3-24", "X-25", "X-23")
@pytest.mark.parametrize("dialect", MODELS)
async def test_a_control_among_thoughts_and_calls_leaves_what_its_provider_takes(providers: Providers, dialect: str):
    """A control is no item of the ledger; what led to it, or was thought behind it, was given with it and cannot go back without it."""
    world, play = providers.world, Play(providers)
    document: dict[str, Any] = {"model": model_of(dialect), "limits": LIMITS, "context": SCOPED, "plan": {"enabled": True}}
    session = await world.session(await world.agent(name="nurse", tools=[{"name": "allergies"}], **document))
    think, call = calls("allergies", patient="Ada")
    asked: list[dict[str, Any]] = [{"operation": "create", "objective": "Help.", "steps": STEPS}, *[{"operation": "revise", "steps": STEPS}] * 3]
    plan, *more = [ToolCall("update_plan", json.dumps(one)) for one in asked]
    progress = ToolCall("report_progress", '{"text": "Looking"}')
    for parts in ((think, plan, call), (think, call, more[0]), (Thinking("A plan."), more[1], think, progress, call), (think, more[2])):
        play.says(dialect, parts, (Thinking("So."), Text("Done.")))
        turn = await world.turn(session, "And?")
        if turn["status"] == "requires_action":
            results = [{"tool_call_id": one["tool_call_id"], "content": "penicillin"} for one in turn["pending"]]
            turn = await world.results(session, turn["id"], results)
        assert (turn["status"], turn["error"]) == ("completed", None), providers.fakes[dialect].refused
        await play.checked(session, turn, dialect, dialect)
    assert (await world.call("GET", f"/sessions/{session}/plan", 200)).json()["plan"]["revision"] == len(asked)
