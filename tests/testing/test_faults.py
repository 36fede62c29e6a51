"""Scripts that do not fit what happens: each ends with the step's number and what was there, and none hangs."""

import asyncio
import threading
import time
from contextlib import nullcontext
from typing import cast

import pytest

from app.testing import RunTimeout, ScriptFault, Service, Step, input_for, model, result, tool_call, user
from app.testing import service as start
from tests.testing.conftest import CALLS_LOOKUP, TRIAGE

ANOTHER = "was followed by another call of the model"
EACH = {
    "missing": ([user("Hi."), CALLS_LOOKUP, result("lookup", "x")], rf"step 2, result\('lookup'\) {ANOTHER}; put a model\(…\) step at 3"),
    "none": ([user("Hi.")], rf"step 0, user\('Hi\.'\) {ANOTHER}; put a model\(…\) step at 1"),
    "unused": (
        [user("Hi."), model("One."), model("Two.")],
        r"step 2, model\('Two\.'\): nothing called the model for it; after step 0, .* the turn is completed",
    ),
    "failed early": ([user("Hi."), model(), model("Two.")], r"step 2.*the turn is failed \(empty-answer: "),
    "no call": (
        [user("Hi."), model("One."), result("lookup", "x")],
        r"step 2, .*no call of lookup waits for this; the turn is completed; calls that wait: none",
    ),
    "another call": (
        [user("Hi."), CALLS_LOOKUP, input_for("other", "x")],
        r"step 2, input_for\('other'\): no call of other .* lookup call_\w+ \(needs result\)",
    ),
    "no step": ([user("Hi."), model("One."), cast("Step", "Two.")], r"step 2, Two\.: this is no step; make it by user"),
    "refused": ([user("Hi."), CALLS_LOOKUP, user("Hello?")], r"step 2, user\('Hello\?'\): POST .* was refused: 409 pending-action"),
    "waits": ([user("Hi."), model(tool_calls=[tool_call("lookup")] * 3), model("x")], r"step 2.*the turn is requires_action"),
}


@pytest.mark.req("S4-20")
@pytest.mark.parametrize(("steps", "message"), EACH.values(), ids=EACH)
async def test_a_step_that_does_not_fit_is_named(service: Service, steps, message):
    with pytest.raises(ScriptFault, match=message) as fault:
        await service.run(TRIAGE, steps)
    assert "model steps called for: " in str(fault.value)
    assert "the ledger, once all was stopped: 1 session_opened · 2 " in str(fault.value)


async def test_an_order_that_nothing_can_play_is_refused_before_anything_runs(service: Service):
    with pytest.raises(ScriptFault, match=r"step 0, model\('Hi\.'\): nothing has called the model yet"):
        await service.run(TRIAGE, [model("Hi.")])
    with pytest.raises(ScriptFault, match=r"setting up: PUT /agents/agent was refused: 422 .*/tools/0/name"):
        await service.run({**TRIAGE, "tools": [{"name": "no name"}]}, [user("Hi.")])
    with pytest.raises(ScriptFault, match="at most 999 scripted calls"):
        await service.run(TRIAGE, [user("Hi."), *[model("x")] * 1000])
    with pytest.raises(ValueError, match="name it otherwise"):
        await service.run(TRIAGE, [], agents={"agent": TRIAGE})


@pytest.mark.req("X-89")
async def test_a_model_that_hangs_ends_by_the_timeout_and_its_turn_is_stopped(service: Service):
    began = time.monotonic()
    steps = [user("Hi."), model("One."), user("Slow?"), model("Never.", delay_ms=60_000)]
    with pytest.raises(RunTimeout, match=r"step 2, user\('Slow\?'\) was not over 1 s after the run began") as fault:
        await service.run(TRIAGE, steps, timeout_seconds=1)
    assert time.monotonic() - began < 10
    assert "model steps called for: 2 of 2" in str(fault.value)
    assert "stop_requested" in str(fault.value)
    assert (await service.run(TRIAGE, [user("Hi."), model("One.")])).status == "completed"  # and the service goes on


async def test_a_tool_that_hangs_ends_by_the_timeout_too(service: Service):
    async def lookup(patient: str) -> str:
        await asyncio.sleep(60)
        return patient

    with pytest.raises(RunTimeout, match=r"step 0, user\('Hi\.'\) was not over 0\.5 s after the run began"):
        await service.run(TRIAGE, [user("Hi."), CALLS_LOOKUP], tools={"lookup": lookup}, timeout_seconds=0.5)


@pytest.mark.parametrize("seconds", [0, 0.02, 0.1])
async def test_a_start_that_is_cancelled_leaves_no_service_behind(database_url: str, seconds: float):
    hosting = start(database_url=database_url)
    starting = asyncio.create_task(hosting.__aenter__())
    await asyncio.sleep(seconds)
    in_time = starting.cancel()  # on a quick machine it may have started already
    with pytest.raises(asyncio.CancelledError) if in_time else nullcontext():
        await starting
    if not in_time:
        await hosting.__aexit__(None, None, None)
    assert in_time or seconds
    assert [one.name for one in threading.enumerate() if one.name == "context-ledger-testing"] == []
