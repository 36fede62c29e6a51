"""Group g: summaries that fail, do not help or say nothing, what they may cover, and calls that do not fit."""

import json
from typing import Any

import pytest

from app.context.telling import TAG
from tests.cases.checks.calling import blocks
from tests.cases.checks.registry import expects
from tests.cases.compacting import PADDING, behind_a_summary
from tests.cases.done import Done
from tests.judges.driven import texts_of, weight
from tests.services.world import text


async def kinds(done: Done) -> list[str]:
    return [entry["kind"] for entry in await done.world.ledger(done.session)]


async def calls(done: Done, purpose: str) -> list[Any]:
    listed = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"]
    return [call for call in listed if call["purpose"] == purpose]


def summarized(done: Done) -> int:
    """How often the summarizer was asked."""
    return len(done.facts["summaries"].seen)


def outcomes(done: Done) -> list[str]:
    return [answer.json()["outcome"] for answer in done.answers if "outcome" in answer.json()]


def same(done: Done) -> None:
    """What is sent after is what was sent before."""
    before, after = done.inputs[0], done.inputs[-1]
    assert (before["digest"], before["body"]) == (after["digest"], after["body"])


@expects("mixed-text-and-result-user-message", pytest.mark.req("X-45"))
async def text_beside_a_result(done: Done) -> None:
    """Words of a user that are kept are an excerpt here."""
    assert outcomes(done) == ["compacted"]
    body = done.inputs[-1]["body"]
    assert (blocks(body, "tool_result"), blocks(body, "tool_use")) == ([], [])
    assert "important constraint: use metric units" in json.dumps(body)
    assert "important constraint: use metric units" in [text(entry) for entry in await done.raw()]


@expects("orphan-call-blocks-compaction-forever", pytest.mark.req("X-45"))
async def a_call_that_was_never_answered_is_covered(done: Done) -> None:
    assert outcomes(done) == ["compacted", "compacted"]
    (lost,) = [entry["seq"] for entry in await done.raw() if "lost1" in json.dumps(entry["body"])]
    first, second = (answer.json()["covers_through_seq"] for answer in done.answers if "outcome" in answer.json())
    assert first < lost < second
    assert "lost1" not in json.dumps((await done.world.input(done.session))["body"])


@expects("threshold-unreachable-fixed-overhead", pytest.mark.req("S3-35", "X-48"))
async def instructions_that_take_the_whole_room(done: Done) -> None:
    """The turn fails; the answer to it is 200, since the turn was taken."""
    assert summarized(done) <= 1
    for answer in done.answers:
        turn = answer.json()
        assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
        assert all(word in turn["error"]["detail"] for word in ("the instructions take", "the tools", "the newest turn"))
    assert [call["status"] for call in await calls(done, "main")] == ["refused", "refused"]
    assert done.played.seen == []


@expects("summary-not-smaller-is-rejected", pytest.mark.req("S1-29", "X-47"))
async def a_summary_that_is_longer(done: Done) -> None:
    (answer,) = [answer.json() for answer in done.answers]
    assert (answer["outcome"], answer["checkpoint_id"]) == ("not_smaller", None)
    assert answer["tokens_after"] >= answer["tokens_before"] > 0
    same(done)
    assert "checkpoint" not in await kinds(done)
    for _ in range(3):
        assert (await done.world.turn(done.session, "and?"))["status"] == "failed"  # nobody plays this session's own model
    assert summarized(done) == 1


@expects("no-progress-guard-by-outcome", pytest.mark.req("X-48"))
async def a_prompt_that_no_summary_makes_fit(done: Done) -> None:
    heads = len(done.answers)
    for answer in done.answers:
        assert (answer.json()["status"], answer.json()["error"]["code"]) == ("failed", "context-over-budget")
    assert summarized(done) <= heads == done.case.input["max_iterations"]
    assert [call["status"] for call in await calls(done, "main")] == ["refused"] * heads
    assert done.played.seen == []
    await done.world.call("PUT", f"/sessions/{done.session}/line", 200, json={"turn": done.answers[0].json()["id"]})
    assert (await done.world.turn(done.session, "something short"))["status"] == "completed"


@expects("double-compaction-concurrent", pytest.mark.req("X-50"))
async def two_compactions_at_once(done: Done) -> None:
    taken, refused = sorted(done.facts["outcomes"], key=lambda answer: answer.status_code)
    assert (taken.status_code, taken.json()["outcome"]) == (200, "compacted")
    assert (refused.status_code, refused.json()["code"]) == (409, "session-busy")
    assert (await kinds(done)).count("checkpoint") == 1


@expects("summarizer-error-text-becomes-summary", pytest.mark.req("X-49", "S3-34"))
async def summaries_that_fail(done: Done) -> None:
    assert outcomes(done) == ["failed"] * 3
    same(done)
    assert not [word for word in ("boom", "Partial sum") if word in json.dumps(done.inputs[-1])]
    found = await kinds(done)
    assert (found.count("compaction_failed"), found.count("checkpoint")) == (3, 0)
    made = await calls(done, "compaction")
    assert len(made) == 3
    assert not {"completed", "running"} & {call["status"] for call in made}


@expects("failed-summary-treated-as-checkpoint", pytest.mark.req("X-49"))
async def a_failed_summary_ends_nothing(done: Done) -> None:
    (found,) = done.inputs
    assert outcomes(done) == ["failed"]
    assert len([message for message in found["body"]["messages"] if message["role"] != "system"]) == 9
    assert "trunc" not in json.dumps(found["body"])


@expects("overflow-trim-drops-unsummarised", pytest.mark.req("S1-14", "X-49"))
async def a_summarizer_that_is_too_small(done: Done) -> None:
    """A thousand tokens have no room for one turn beside the instructions: nobody is asked, and everything stays."""
    assert (outcomes(done), summarized(done)) == (["failed"], 0)
    assert "checkpoint" not in await kinds(done)
    sent = [source["seq"] for source in done.inputs[-1]["source_map"]["sources"] if source["type"] == "history"]
    assert sent == [entry["seq"] for entry in await done.raw()]


@expects("previous-summary-not-carried", pytest.mark.req("X-51"))
async def nothing_new_to_summarise(done: Done) -> None:
    assert outcomes(done) == ["compacted", "nothing_to_compact"]
    assert summarized(done) == 0  # of the second summarizer, which was never asked
    assert "FACT: user is called Kim" in json.dumps(done.inputs[-1]["body"])


@expects("manual-compact-during-overflow-recovery", pytest.mark.req("X-60", "X-50"))
async def a_request_beside_a_recovery(done: Done) -> None:
    _, manual = done.facts["outcomes"]
    assert (manual.status_code, manual.json()["code"]) == (409, "session-busy")
    assert done.frames[-1].event == "turn.completed"
    said = [text(entry) for entry in await done.raw()]
    assert (said.count("do it"), said.count("done")) == (1, 1)
    assert (await kinds(done)).count("checkpoint") == 1


@expects("system-prompt-survives", pytest.mark.req("S1-26", "T-16"))
async def the_instructions_stay(done: Done) -> None:
    """Documented: a summary is told as a message of the user's role that says whose it is."""
    _, chat, anthropic = (found["body"] for found in done.inputs)
    rule = "ALWAYS answer in JSON"
    assert json.dumps(chat).count(rule) == json.dumps(anthropic).count(rule) == 1
    assert (chat["messages"][0]["role"], chat["messages"][0]["content"]) == ("system", rule)
    assert rule in json.dumps(anthropic["system"])
    for messages in (chat["messages"][1:], anthropic["messages"]):
        assert messages[0]["role"] == "user"
        assert TAG in json.dumps(messages[0])
        assert json.dumps(messages).count(f"<{TAG}>") == 1
    assert rule not in done.facts["summaries"].seen[0].body.decode()


@expects("server-tool-in-summary-request", pytest.mark.req("X-49"))
async def a_servers_tool_that_was_cut_off(done: Done) -> None:
    assert outcomes(done) == ["compacted"]
    (seen,) = done.facts["summaries"].seen
    (message,) = json.loads(seen.body)["messages"]
    content = message["content"]
    assert isinstance(content, str) or {block["type"] for block in content} == {"text"}


@expects("unconsumed-tool-results-elided", pytest.mark.req("S1-28", "X-45"))
async def results_of_the_newest_turn(done: Done) -> None:
    """Documented: a turn is never split; where it alone is too much, the call is refused by `context-over-budget`."""
    rows = done.case.input["ledger"]
    results = [row["text"] for row in rows if row["kind"] == "tool_result"]
    for found in done.inputs[1:]:
        sent = json.dumps(found["body"])
        assert all(json.dumps(result)[1:-1] in sent for result in results)
        assert sent.count("inspect the files") == 1
        assert "question 0" not in sent
    assert outcomes(done) == ["compacted"]


@expects("budget-checked-before-each-call", pytest.mark.req("X-46", "T-17"))
async def every_call_of_a_turn_is_measured(done: Done) -> None:
    limit = done.case.input["each"][1]["project_auto_compact"]["budget_tokens"]
    assert len(done.played.seen) > 1
    for call in await calls(done, "main"):
        edge = call["budget"]["total"] * (1 + call["budget"]["error_band"])
        assert (edge <= call["budget"]["input_limit"]) is bool(call["attempts"])
        assert limit <= call["budget"]["input_limit"] <= limit + 1
    assert max(weight(json.loads(seen.body)) for seen in done.played.seen) <= limit
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "context-over-budget")
    own = [entry for entry in await done.world.ledger(done.session) if entry["kind"] == "checkpoint"]
    assert own[0]["body"]["first_kept_seq"] == done.turn["input_seq"]


@expects("over-budget-after-compaction-is-typed", pytest.mark.req("S3-35", "X-48", "T-17"))
async def too_much_after_all_folding(done: Done) -> None:
    (turn,) = [answer.json() for answer in done.answers]
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    (call,) = await calls(done, "main")
    assert (call["status"], call["attempts"], done.played.seen) == ("refused", [], [])
    assert str(call["budget"]["total"]) in turn["error"]["detail"]
    assert str(call["budget"]["input_limit"]) in turn["error"]["detail"]
    assert "the newest turn" in turn["error"]["detail"]
    made = [entry["body"] for entry in await done.world.ledger(done.session) if entry["kind"] == "checkpoint"]
    assert all(one["tokens_after"] < one["tokens_before"] for one in made)
    assert [text(entry) for entry in await done.raw()][-1] == done.facts["held"]


@expects("trim-orphans-tool-result", pytest.mark.req("X-45"))
async def a_pair_is_covered_together(done: Done) -> None:
    """Chosen: nothing is trimmed out of a request; what is over a budget is covered by a summary, in whole turns."""
    before = done.inputs[0]["body"]["messages"]
    paired(before)
    found = await behind_a_summary(done)
    (row,) = [row for row in found["manifest"]["decisions"] if row["source"]["kind"] == "checkpoint"]
    call, result = [entry["seq"] for entry in await done.raw() if "call_a1" in json.dumps(entry["body"])]
    assert row["source"]["from_seq"] <= call < result <= row["source"]["through_seq"]
    messages = found["body"]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user"]
    assert messages[-1]["content"] == "And now?"


def paired(messages: Any) -> None:
    """Each answer with calls is followed by exactly their results."""
    for at, message in enumerate(messages):
        ids = [call["id"] for call in message.get("tool_calls", ())]
        behind = [one.get("tool_call_id") for one in messages[at + 1 : at + 1 + len(ids)]]
        assert sorted(ids) == sorted(behind)
    asked = sum(len(message.get("tool_calls", ())) for message in messages)
    assert asked == sum(message["role"] == "tool" for message in messages)


@expects("trim-keeps-call-loses-one-parallel-result", pytest.mark.req("X-45"))
async def parallel_results_stay_together(done: Done) -> None:
    paired(done.inputs[0]["body"]["messages"])
    found = await behind_a_summary(done)
    paired(found["body"]["messages"])
    assert "tool" not in [message["role"] for message in found["body"]["messages"]]


@expects("synthetic-result-outlives-its-call", pytest.mark.req("X-45"))
async def what_was_put_in_for_a_call_goes_with_it(done: Done) -> None:
    first, second = done.inputs
    assert [block["tool_use_id"] for block in blocks(first["body"], "tool_result")] == ["toolu_s1"]
    assert len(await done.raw()) == 7 + len(PADDING)
    assert (blocks(second["body"], "tool_use"), blocks(second["body"], "tool_result")) == ([], [])
    assert "Summary: a was asked." in json.dumps(second["body"])


@expects("compaction-also-hits-surrogate")
async def half_a_pair_is_summarised(done: Done) -> None:
    (seen,) = done.facts["summaries"].seen
    sent = list(texts_of(json.loads(seen.body.decode("utf-8", "strict"))))
    assert any("half" in one for one in sent)
    assert not [letter for one in sent for letter in one if 0xD800 <= ord(letter) <= 0xDFFF]
    assert outcomes(done) == ["compacted"]
