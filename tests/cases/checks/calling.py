"""Group a: calls and results, in the pairs and under the ids that each dialect asks for."""

import re
from typing import Any

import pytest

from tests.cases.checks.registry import expects
from tests.cases.compacting import behind_a_summary
from tests.cases.done import Done
from tests.cases.posting import seeded
from tests.services.world import roles

PAIRS = [("call_QWERT1aaaabbbbccccdddd", "1"), ("call_QWERT2eeeeffffgggghhhh", "2")]


def call_ids(body: Any) -> list[str]:
    """The ids of all calls of a Chat body."""
    return [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]


def results(body: Any) -> list[tuple[str, str]]:
    """The results of a Chat body: id and content."""
    return [(message["tool_call_id"], message["content"]) for message in body["messages"] if message["role"] == "tool"]


def blocks(body: Any, kind: str) -> list[Any]:
    """The blocks of a Messages body that are of a type, in order."""
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


def parts(content: Any, key: str) -> list[Any]:
    """What the parts of a Gemini content say under a key."""
    return [part[key] for part in content["parts"] if key in part]


def pointed_at(found: Any) -> dict[str, int]:
    """Pointer to the seq of the entry that stands there, for whole messages."""
    return {row["pointer"]: row["seq"] for row in found["source_map"]["pointers"] if row["part"] is None}


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


@expects("abort-repair-for-openai-responses", pytest.mark.req("X-21"))
async def a_call_that_was_cut_off(done: Done) -> None:
    """The call's answer is whole, only its result never came: a repair stands in for that."""
    (found,) = done.inputs
    assert [item.get("type", item.get("role")) for item in found["body"]["input"]] == ["user", "function_call", "function_call_output", "user"]
    _, call, result, _ = found["body"]["input"]
    assert (call["call_id"], result["call_id"]) == ("call_r1", "call_r1")
    assert result["output"].strip()
    assert [entry["kind"] for entry in await done.raw()] == ["user_message", "assistant_message", "user_message"]


@expects("parallel-results-merged-into-one-user-message", pytest.mark.req("X-24", "T-19"))
async def parallel_results_are_one_message(done: Done) -> None:
    (found,) = done.inputs
    body = found["body"]
    assert roles(body) == ["user", "assistant", "user"]
    assert [block["id"] for block in body["messages"][1]["content"]] == ["toolu_A", "toolu_B"]
    first, second, text = body["messages"][2]["content"]
    assert [(one["type"], one["tool_use_id"], one["content"]) for one in (first, second)] == [
        ("tool_result", "toolu_A", "one"),
        ("tool_result", "toolu_B", "two"),
    ]
    assert (text["type"], text["text"]) == ("text", "thanks")
    seqs = {entry["body"].get("tool_call_id"): entry["seq"] for entry in await done.raw()}
    places = pointed_at(found)
    assert (places["/messages/2/content/0"], places["/messages/2/content/1"]) == (seqs["toolu_A"], seqs["toolu_B"])


@expects("parallel-results-with-image-stay-contiguous", pytest.mark.req("X-18"))
async def an_image_among_parallel_results(done: Done) -> None:
    body = done.inputs[0]["body"]
    assert roles(body) == ["user", "assistant", "user"]
    first, second, last = body["messages"][2]["content"]
    assert [(one["type"], one.get("tool_use_id")) for one in (first, second, last)] == [
        ("tool_result", "toolu_I1"),
        ("tool_result", "toolu_I2"),
        ("text", None),
    ]
    (image,) = first["content"]
    (given,) = done.case.input["ledger"][2]["parts"]
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": given["b64"]}}


@expects("both-blocks-and-tool-calls-present")
async def one_call_said_twice(done: Done) -> None:
    """Chosen: the call of the format that the file is in counts; the block of another one stays in the record and is not sent."""
    (found,) = done.inputs
    assert [block["id"] for block in blocks(found["body"], "tool_use")] == ["toolu_dup"]
    assert [block["tool_use_id"] for block in blocks(found["body"], "tool_result")] == ["toolu_dup"]
    answer = (await done.raw())[1]
    assert [part["type"] for part in answer["body"]["parts"]].count("tool_call") == 1
    assert done.answers[0].json()["sessions"][0]["lost"] == []


@expects("server-reuses-one-call-id", pytest.mark.req("S0-28", "X-20"))
async def one_id_for_every_call(done: Done) -> None:
    """Chosen: ids are made distinct for Chat too, since some of its servers ask for that."""
    (found,) = done.inputs
    body = found["body"]
    ids = call_ids(body)
    assert roles(body) == ["user"] + ["assistant", "tool"] * 5
    assert ids[0] == "SAMEID"
    assert len(set(ids)) == 5
    assert results(body) == [(one, f"r{number}") for number, one in enumerate(ids)]
    assert (await done.world.input(done.session))["digest"] == found["digest"]
    claude = (await done.world.input(done.session, upstream="anthropic", model="claude-sonnet-4-5"))["body"]
    again = (await done.world.input(done.session, upstream="anthropic", model="claude-sonnet-4-5"))["body"]
    assert claude == again
    used = [block["id"] for block in blocks(claude, "tool_use")]
    assert (used[0], len(set(used))) == ("SAMEID", 5)
    assert [(one["tool_use_id"], one["content"]) for one in blocks(claude, "tool_result")] == [(one, f"r{at}") for at, one in enumerate(used)]


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


def in_turns(contents: Any) -> None:
    """The order that Gemini asks for: user input first, and every call answered by as many results right behind it."""
    assert contents[0]["role"] == "user"
    assert not parts(contents[0], "functionResponse")
    for at, content in enumerate(contents):
        if calls := parts(content, "functionCall"):
            answers = parts(contents[at + 1], "functionResponse")
            assert contents[at + 1]["role"] == "user"
            assert [one["name"] for one in answers] == [one["name"] for one in calls]


@expects("gemini-opens-with-function-call")
async def a_list_that_would_open_with_a_call(done: Done) -> None:
    """The budget is what compaction keeps; what other cuts would leave is tried with a session that begins behind one."""
    in_turns(done.inputs[0]["body"]["contents"])
    cut = await done.place.session(done.case.input["target"]["model"], "gemini")
    await seeded(done.world, cut, done.case.input["ledger"][1:])
    contents = (await done.world.input(cut))["body"]["contents"]
    in_turns(contents)
    assert contents[0]["parts"][0]["text"].strip()
    compacted = (await behind_a_summary(done))["body"]["contents"]
    in_turns(compacted)
    assert "old old" not in str(compacted[1:])
    assert compacted[-1]["parts"][-1]["text"] == "next?"


@expects("gemini-orphan-function-response", pytest.mark.req("S0-28", "S0-29", "T-09"))
async def a_result_of_an_unknown_call(done: Done) -> None:
    (found,) = done.inputs
    (answer,) = [one for content in found["body"]["contents"] for one in parts(content, "functionResponse")]
    assert answer["response"] == {"output": "a"}
    in_turns(found["body"]["contents"])
    (orphan,) = [entry for entry in await done.raw() if entry["body"].get("tool_call_id") == "lost9"]
    out = [
        (row["source"]["seq"], row["reason"]) for row in found["manifest"]["decisions"] if row["disposition"] == "excluded" and "seq" in row["source"]
    ]
    assert out == [(orphan["seq"], "orphan_tool_result")]


@expects("id-chars-dots-colons", pytest.mark.req("X-20"))
async def ids_of_other_characters(done: Done) -> None:
    body = done.inputs[0]["body"]
    first, second = (block["id"] for block in blocks(body, "tool_use"))
    assert re.fullmatch("[a-zA-Z0-9_-]+", first)
    assert second == "functions_Bash_0" != first
    assert [(one["tool_use_id"], one["content"]) for one in blocks(body, "tool_result")] == [(first, "a"), (second, "/")]
    answer = (await done.raw())[1]
    assert [part["tool_call_id"] for part in answer["body"]["parts"]] == ["functions.Bash:0", "functions_Bash_0"]


@expects("gemini-parallel-responses-one-content")
async def parallel_responses_are_one_content(done: Done) -> None:
    """Chosen: the next input is a content of its own."""
    asked, model, answered, last = done.inputs[0]["body"]["contents"]
    assert [asked["role"], model["role"], answered["role"], last["role"]] == ["user", "model", "user", "user"]
    assert [one["args"] for one in parts(model, "functionCall")] == [{"i": number} for number in range(6)]
    assert [one["response"] for one in parts(answered, "functionResponse")] == [{"output": f"v{number}"} for number in range(6)]
    assert (len(model["parts"]), len(answered["parts"]), last["parts"]) == (6, 6, [{"text": "n"}])


@expects("tool-history-without-tools-param", upstream="declaring")
async def a_history_with_calls_and_no_tools(done: Done) -> None:
    """Chosen: where the target asks for it, the tool is declared by its name alone, with the choice of none."""
    (found,) = done.inputs
    assert [tool["name"] for tool in found["body"]["tools"]] == ["old_tool"]
    assert found["body"]["tool_choice"] == {"type": "none"}
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("tools", "declared_for_history")]
    plain = (await done.world.input(done.session, upstream="anthropic"))["body"]
    assert not {"tools", "tool_choice"} & plain.keys()
    for body in (found["body"], plain):
        assert [block["id"] for block in blocks(body, "tool_use")] == [block["tool_use_id"] for block in blocks(body, "tool_result")] == ["toolu_1"]
