"""Groups a, b, c and f as far as Chat Completions goes: calls and results, reasoning, images, and what is counted."""

import re

import pytest

from app.models.tokens import Counter
from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.posting import seeded
from tests.services.world import roles

PAIRS = [("call_QWERT1aaaabbbbccccdddd", "1"), ("call_QWERT2eeeeffffgggghhhh", "2")]


def call_ids(body) -> list[str]:
    """The ids of all calls of a Chat body."""
    return [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]


def results(body) -> list[tuple[str, str]]:
    """The results of a Chat body: id and content."""
    return [(message["tool_call_id"], message["content"]) for message in body["messages"] if message["role"] == "tool"]


@expects("trim-noop-still-drops-tool-result")
async def nothing_is_trimmed(done: Done) -> None:
    """There is no budget to give: the agent's limits are one, and a window above the need changes nothing."""
    (found,) = done.inputs
    assert roles(found["body"]) == ["system", "user", "assistant", "tool"]
    assert {row["disposition"] for row in found["manifest"]["decisions"] if row["source"]["kind"] == "entry"} == {"included"}
    other = await done.place.session(done.case.input["target"]["model"], limits={"context_window": 1_000_000, "max_output_tokens": 4096},
                                     context=[{"renderer": "system", "text": "s"}, {"renderer": "history"}])  # fmt: skip
    await seeded(done.world, other, done.case.input["ledger"][1:])
    assert (await done.world.input(other))["digest"] == found["digest"]


@expects("server-reuses-one-call-id", pytest.mark.req("S0-28"))
async def one_id_for_every_call(done: Done) -> None:
    """For the dialects that are built. Chosen: ids are made distinct for Chat too, since some of its servers ask for that."""
    (found,) = done.inputs
    body = found["body"]
    ids = call_ids(body)
    assert roles(body) == ["user"] + ["assistant", "tool"] * 5
    assert ids[0] == "SAMEID"
    assert len(set(ids)) == 5
    assert results(body) == [(one, f"r{number}") for number, one in enumerate(ids)]
    assert (await done.world.input(done.session))["digest"] == found["digest"]


@expects("mistral-nine-char-ids", upstream="nine")
async def ids_of_nine_characters(done: Done) -> None:
    body = done.inputs[0]["body"]
    ids = call_ids(body)
    assert all(re.fullmatch("[A-Za-z0-9]{9}", one) for one in ids)
    assert len(set(ids)) == 2
    assert results(body) == list(zip(ids, "12", strict=True))
    session = await done.place.session(done.case.input["target"]["model"])
    await seeded(done.world, session, done.case.input["ledger"])
    plain = await done.world.input(session)
    assert call_ids(plain["body"]) == [one for one, _ in PAIRS]
    assert results(plain["body"]) == PAIRS


@expects("tool-turn-with-no-reasoning-at-all", upstream="reasoned")
async def reasoning_where_there_was_none(done: Done) -> None:
    """Chosen: the documented minimal value is the empty text."""
    (found,) = done.inputs
    assert found["body"]["messages"][1]["reasoning_content"] == ""
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("reasoning", "empty_value_required")]
    assert [part["type"] for part in (await done.raw())[1]["body"]["parts"]] == ["tool_call"]


@expects("image-for-text-only-model", upstream="blind")
async def an_image_for_a_model_that_sees_nothing(done: Done) -> None:
    (found,) = done.inputs
    ((_, content),) = results(found["body"])
    assert content.startswith("ok\n[image not shown: image/png, ")
    assert "image_url" not in str(found["body"])
    seen = await done.world.input(done.session, upstream="mock", model="gpt-4o")
    if "image_url" not in str(seen["body"]):
        pytest.skip("what is built holds; needs images of tool results for models that see (content fitting)")


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


@expects("tools-and-system-in-count")
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
