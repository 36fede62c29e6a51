"""A turn with a plan, an approval, a tool of a server, a called agent and a hand-over, disturbed at each of its appends in turn."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.entries.messages import NewEntry
from app.entries.trace import StopRequested
from app.storage.types import Append, Appended
from tests.outbound.tool_servers.kit import Endpoint, endpoint
from tests.services.turns.faulty import Inside, Real, around_appends, inside
from tests.services.turns.test_agents_in_turns import call, put, tool
from tests.services.turns.test_approvals import with_desk
from tests.services.turns.test_plans import plan
from tests.services.world import World

TWO = {"tool_calls": [{"id": "pay", "name": "pay", "arguments": "{}"}, {"id": "ask", "name": "lookup", "arguments": "{}"}]}
SCRIPT = [
    plan(),
    TWO,
    call("consult", 1, q="x"),
    call("lookup", 2),
    {"text": "Inner."},
    call("hand_over", 3),
    call("look", 4),
    {"text": "Done."},
]
MODELS_CALLED = len(SCRIPT)
ENDS = {
    "cut off": {"completed"},
    "unheard": {"completed", "interrupted", "twice"},
    "beside": {"completed"},
    "stopped": {"completed", "cancelled"},
    "killed before": {"completed", "interrupted"},
    "killed after": {"completed", "interrupted"},
}
"""What may become of the turn; one whose claim was taken unheard is let go, and what a client sent is sent again."""
BESIDE = {"state_changed", "stop_requested"}


@dataclass
class Trouble:
    """Does something at the append number `at` of a turn, counted from 0."""

    here: Inside
    how: str = "calm"
    at: int = -1
    seen: int = 0
    session: str = ""
    held: list[Any] = field(default_factory=list)

    async def around(self, append: Append, real: Real) -> Appended:
        if append.turn is None and append.fence is None:
            return await real()  # not the turn's: what is done beside it
        number, self.seen = self.seen, self.seen + 1
        if number != self.at:
            return await real()
        running = next(iter(self.here.desk.running.values()), None)
        match self.how:
            case "cut off":
                raise Unavailable("cut off")
            case "unheard":
                await real()
                raise Unavailable("unheard")
            case "beside":
                await self.here.world.call("PATCH", f"/sessions/{self.session}/state", 200, json={"session": {"n": number}})
            case "stopped" if running is not None:
                entry = NewEntry(StopRequested.kind, StopRequested("cancel").encode(), running.number)
                beside = Append(entries=(entry,), beside=True, stop_turn=running.number)
                await self.here.store.ledger.append(running.facts.key.tenant, running.facts.key.session, beside)
            case "killed before" | "killed after" if running is not None:
                if self.how == "killed after":
                    await real()
                self.held = [(running.facts.key.session, running.fence)]
                raise asyncio.CancelledError
        return await real()


@asynccontextmanager
async def scene(settings: Settings) -> AsyncIterator[tuple[Inside, Endpoint, Trouble]]:
    async with endpoint() as place, inside(with_desk(settings, place)) as here:
        desk = {"kind": "http", "server": "desk"}
        state = {"session": {"type": "object"}}
        await put(here.world, "expert", SCRIPT, [{"name": "lookup"}], plan={"enabled": True})
        await put(here.world, "pharmacy", SCRIPT, [{"name": "look", "executor": desk}], state_schema=state)
        tools = [
            {"name": "pay", "executor": desk, "approval": "always"},
            {"name": "lookup"},
            tool("consult", "expert", "call"),
            tool("hand_over", "pharmacy", "transfer"),
        ]
        await put(here.world, "nurse", SCRIPT, tools, plan={"enabled": True}, state_schema=state)
        trouble = Trouble(here)
        around_appends(here.store.ledger, trouble.around)
        yield here, place, trouble


async def patient(world: World, path: str, body: Any) -> Any:
    """What a client does: the same again while the service is away; refusals are told as they are."""
    for _ in range(5):
        answer = await world.client.post(path, json=body, headers={"accept": "application/json"})
        if answer.status_code != 503:
            return answer.json()
    raise AssertionError("the service stays away")


async def lived(here: Inside, trouble: Trouble, how: str, at: int) -> str:
    """Runs the turn to its end with one trouble; the session."""
    world = here.world
    session = await world.session("nurse")
    trouble.how, trouble.at, trouble.seen, trouble.session, trouble.held = how, at, 0, session, []
    path = f"/sessions/{session}/turns"
    view = await patient(world, path, {"input": "go", "on_busy": "interrupt", "background": True})
    async with asyncio.timeout(30):
        while True:
            if trouble.held:
                await here.store.claims.renew(here.desk.holder, trouble.held, 0)
                await here.keeper.recover()
                trouble.held = []
            view = (await world.call("GET", f"{path}/{view['id']}", 200)).json()
            if view["status"] == "running":
                await asyncio.sleep(0.02)
            elif view["status"] != "requires_action":
                return session
            else:
                needs = {one["needs"]: one["tool_call_id"] for one in view["pending"]}
                if "approval" in needs:
                    given = {"decisions": [{"tool_call_id": needs["approval"], "decision": "approve"}], "background": True}
                    await patient(world, f"{path}/{view['id']}/decisions", given)
                else:
                    given = {"results": [{"tool_call_id": needs["result"], "content": "42"}], "background": True}
                    await patient(world, f"{path}/{view['id']}/tool-results", given)


async def check(here: Inside, place: Endpoint, session: str) -> tuple[str, list[Any]]:
    """What holds of every life of the turn; its status (`twice`: it was accepted unheard, and sent again), and its entries but those beside."""
    world = here.world
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
    entries = await world.ledger(session)
    turns = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]
    turn = turns[-1]
    kinds = Counter(entry["kind"] for entry in entries)
    assert kinds["model_call_started"] == kinds["model_call_finished"] <= MODELS_CALLED
    asked = [part["tool_call_id"] for entry in entries for part in entry["body"].get("parts", ()) if part["type"] == "tool_call"]
    answered = [entry["body"]["tool_call_id"] for entry in entries if entry["kind"] == "tool_result"]
    assert sorted(asked) == sorted(answered)
    begun = {entry["body"]["tool_call_id"]: entry["seq"] for entry in entries if entry["kind"] == "tool_started"}
    runs = Counter(one["tool_call_id"] for one in place.taken if one["session_id"] == session)
    assert set(runs.values()) <= {1}, runs
    assert set(runs) <= set(begun), "durable before it runs"
    decided = {entry["body"]["tool_call_id"] for entry in entries if entry["kind"] == "approval_decided"}
    assert "pay" not in runs or "pay" in decided
    inner = [entry for entry in entries if entry["invocation"] == 1 and entry["kind"] not in BESIDE]
    assert all(entry["hidden"] and entry["agent"] == "expert" for entry in inner)
    handed = any(entry["kind"] == "tool_started" and entry["body"]["mode"] == "transfer" for entry in entries)
    view = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (view["agent"], view["status"]) == ("pharmacy" if handed else "nurse", "idle")
    assert (await world.input(session))["violations"] == []
    events = await world.events(session, turn["id"])
    assert [frame.id for frame in events] == sorted({frame.id for frame in events})
    told = [frame.data["seq"] for frame in events if frame.event in ("message.committed", "tool_result.committed", "plan.changed")]
    of_turn = [entry for entry in entries if entry["turn"] == turn["number"]]
    shown = ("assistant_message", "agent_message", "tool_result", "plan_changed")
    assert told == [entry["seq"] for entry in of_turn if entry["kind"] in shown]
    assert events[-1].event == f"turn.{turn['status']}"
    assert events[-1].data["turn"]["entry_seqs"] == [entry["seq"] for entry in of_turn]
    return turn["status"] if len(turns) == 1 else "twice", [entry for entry in entries if entry["kind"] not in BESIDE]


def told_alike(entries: list[Any]) -> list[Any]:
    return [(entry["kind"], entry["agent"], entry["invocation"], entry["hidden"], entry["turn"]) for entry in entries]


@pytest.mark.timeout(240)
@pytest.mark.req("X-01", "X-06", "X-78", "X-79", "S0-40", "T-23")
@pytest.mark.parametrize("how", ["cut off", "unheard", "beside", "stopped", "killed before", "killed after"])
async def test_a_turn_of_several_agents_holds_whatever_happens_at_any_append(settings: Settings, how: str) -> None:
    async with scene(settings) as (here, place, trouble):
        session = await lived(here, trouble, "calm", -1)
        appends = trouble.seen
        status, calm = await check(here, place, session)
        assert status == "completed"
        ends: Counter[str] = Counter()
        for at in range(appends):
            session = await lived(here, trouble, how, at)
            status, entries = await check(here, place, session)
            ends[status] += 1
            if status == "completed":
                assert told_alike(entries) == told_alike(calm), at
        assert ends.total() == appends
        assert ends.keys() == ENDS[how]
