"""Group f: what is counted, how, and how long that takes."""

import pytest

from app.models.tokens import Counter
from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.posting import seeded


@expects("special-token-split-attack")
async def pathological_texts(done: Done) -> None:
    """Chosen: counted, not estimated. Each request is timed whole, storing and answering a megabyte included."""
    assert max(done.facts["seconds"]) < 2
    assert min(done.facts["tokens"]) > 1000


@expects("quadratic-bpe")
async def texts_without_a_boundary(done: Done) -> None:
    assert max(done.facts["seconds"]) < 2
    assert len(done.facts["probe"]) > 2
    assert max(done.facts["probe"]) < 0.3
    exact = Counter("o200k_base").count("a" * 65_536) * 100_000 / 65_536
    assert done.facts["tokens"][0] == pytest.approx(exact, rel=0.25)


@expects("counting-blocks-event-loop")
async def counting_without_a_network(done: Done) -> None:
    assert done.facts["counted"] == [1, 1]


@expects("image-counted-as-zero", pytest.mark.req("X-36"))
async def images_are_counted(done: Done) -> None:
    """Each weighs its own estimate and not the length of its base64, which is ten times the least."""
    (found,) = done.inputs
    images = len(done.case.input["ledger"])
    whole = found["budget"]["messages"]
    assert whole >= images * 200
    rules = done.case.input["ledger"][: images // 2]
    half = await done.place.session("claude-sonnet-4-5", "anthropic")
    await seeded(done.world, half, rules)
    assert (await done.world.input(half))["budget"]["messages"] * 2 == whole


@expects("tools-and-system-in-count", pytest.mark.req("X-36"))
async def everything_is_counted(done: Done) -> None:
    count = Counter("o200k_base").count
    full, bare = (found["budget"] for found in done.inputs)
    assert full["system"] == count("rule " * 1000)
    assert full["messages"] == count("hi")
    assert full["tools"] > 30 * count("desc desc desc")
    assert full["total"] == full["system"] + full["tools"] + full["messages"] + full["overhead"]
    assert (bare["tools"], bare["total"]) == (0, full["total"] - full["tools"])
    rows = [
        {"kind": "assistant_message", "parts": [{"type": "tool_call", "tool_call_id": "c", "name": "t_0", "arguments": '{"a": "long long long"}'}]},
        {"kind": "tool_result", "tool_call_id": "c", "parts": [{"type": "text", "text": "word " * 500}]},
    ]
    await done.world.call("POST", f"/sessions/{done.session}/entries", 201, json={"entries": rows})
    later = (await done.world.input(done.session))["budget"]
    assert later["messages"] - bare["messages"] >= count('{"a": "long long long"}') + count("word " * 500)


@expects("cache-tokens-in-context-size", pytest.mark.req("X-42"))
async def figures_that_come_in_two_frames(done: Done) -> None:
    """Input counts what came from the cache and what went into it, which this provider tells beside it."""
    usage = done.turn["usage"]
    assert (usage["input"], usage["cached"], usage["cache_write"], usage["output"]) == (117_015, 110_000, 7_000, 500)
    (ended,) = await done.world.ledger(done.session, kinds="model_call_finished")
    assert ended["body"]["usage_raw"] == done.case.input["frames"]


@expects("estimate-vs-provider-count", pytest.mark.req("X-38", "X-40"))
async def one_size_is_used(done: Done) -> None:
    """Chosen: the estimate. What a provider reported belongs to its call and is no size of the next input, so there is no anchor and the
    case's bounds, which are those of the other choice, do not apply; manifest and budget name the method."""
    (found,) = done.inputs
    budget = found["budget"]
    assert (budget["method"], found["manifest"]["estimator"], budget["error_band"] > 0) == ("heuristic", "heuristic:claude", True)
    assert budget["total"] == budget["system"] + budget["tools"] + budget["messages"] + budget["overhead"]
    assert (done.turn["usage"]["input"], done.turn["usage"]["output"], done.turn["usage"]["source"]) == (1000, 10, "reported")
    unreported = await done.place.session("claude-sonnet-4-5", "anthropic")
    said = [{"kind": entry["kind"], "parts": entry["body"]["parts"]} for entry in await done.raw()]
    await done.world.call("POST", f"/sessions/{unreported}/entries", 201, json={"entries": said})
    assert (await done.world.input(unreported))["budget"]["total"] == budget["total"]


@expects("overhead-not-in-trigger", pytest.mark.req("X-36"))
async def tools_alone_may_be_too_much(done: Done) -> None:
    """The room is the agent's own, so the projection's model is the session's; nothing leaves, and the turn says why."""
    (found,) = done.inputs
    budget = (await done.world.input(done.session))["budget"]
    for one in (found["budget"], budget):
        assert one["total"] == one["system"] + one["tools"] + one["messages"] + one["overhead"]
        assert one["tools"] > 20_000 > one["messages"]
    assert (budget["input_limit"], budget["verdict"]) == (20_000, "over")
    turn = await done.world.turn(done.session, "x")
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    calls = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"]
    assert [(call["status"], call["attempts"]) for call in calls] == [("refused", [])]
