"""docs/agents.md does what it says: its documents are put and run, and the turn that it shows is the turn that happens."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.context.agents.tools import EXECUTORS
from app.context.renderers.history import SCOPES
from tests.services.world import World, text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text("utf-8")
DOCUMENTS: dict[str, Any] = {name: json.loads(body) for name, body in re.findall(r"<!-- agent: (\w+) -->\n```json\n(.*?)```", PAGE, re.DOTALL)}


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose head begins with that column."""
    lines = PAGE.split(f"| {first} |", 1)[1].splitlines()[2:]
    table = lines[: next(at for at, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.req("S4-01", "S4-45", "S4-48", "X-29", "X-71", "X-83")
async def test_the_page_shows_the_turn_that_happens(world: World):
    for name in ("expert", "nurse"):
        await world.call("PUT", f"/agents/{name}", 201, json=DOCUMENTS[name])
    session = await world.session("nurse", state={"session": {"patient_name": "Ada"}})
    turn = await world.turn(session, "Can I take amoxicillin?", skills=["triage-guide"])
    assert [(one["name"], one["needs"]) for one in turn["pending"]] == [("lookup_allergies", "result")]
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"checked": True}})
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "penicillin"}])
    assert [(one["name"], one["needs"]) for one in turn["pending"]] == [("order_drug", "approval")]
    path = f"/sessions/{session}/turns/{turn['id']}/decisions"
    approved = {"decisions": [{"tool_call_id": "c3", "decision": "approve"}]}
    assert json.dumps(approved) in PAGE
    turn = (await world.call("POST", path, 200, json=approved, headers={"accept": "application/json"})).json()
    assert [(one["name"], one["needs"]) for one in turn["pending"]] == [("order_drug", "result")]
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c3", "content": "ordered"}])
    assert turn["status"] == "completed"
    assert text((await world.raw(session))[-1]) == "Take doxycycline; it is ordered."
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    inputs = [(await world.call("GET", f"/sessions/{session}/calls/{one['id']}/model-input", 200)).json() for one in calls]
    assert [found["verified"] for found in inputs] == [True] * 5
    for shown, call, found in zip(rows("call"), calls, inputs, strict=True):
        assert (shown[0], shown[1]) == (str(call["step_index"] + 1), call["agent"])
        system = [message["content"] for message in found["body"]["messages"] if message["role"] == "system"]
        assert system[-1].endswith(shown[2])
        assert may_be_called(found["body"]) == shown[3].strip("`")
    assert "Ask for the pulse first." in str(inputs[-1]["body"])
    assert "The record first." not in str(inputs[-1]["body"])


def may_be_called(body: Any) -> str:
    """The page's word for the tools of a Chat body."""
    if "tools" not in body:
        return "none"
    choice = body.get("tool_choice")
    return "all" if choice is None else "+".join(one["function"]["name"] for one in choice["allowed_tools"]["tools"])


def test_the_page_names_what_there_is():
    assert [row[0].strip("`") for row in rows("`scope`")] == list(SCOPES)
    kinds = {kind for row in rows("`executor`") for kind in re.findall('"kind": "(\\w+)"', row[0])}
    assert kinds == set(EXECUTORS)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "docs/agents.md" in readme
    for page in ("renderers.md", "testing.md"):
        assert f"({page})" in PAGE
        assert (ROOT / "docs" / page).is_file()
