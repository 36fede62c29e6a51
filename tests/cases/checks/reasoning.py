"""Group b: what a provider put into an answer, back to where it came from, byte for byte, and to nobody else."""

import json
from typing import Any

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.posting import seeded
from tests.services.world import roles

SKIP = "skip_thought_signature_validator"


def said(body: Any) -> list[list[Any]]:
    """The blocks of each answer of a Messages body, cache marks left out."""
    answers = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    return [[{key: value for key, value in block.items() if key != "cache_control"} for block in content] for content in answers]


def thinking(text: str, signature: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def spoken(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@expects("signature-lost-on-persist", pytest.mark.req("X-23"), tools=[{"name": "read"}])
async def a_signature_that_comes_after_its_text(done: Done) -> None:
    ((signed, call),) = said(done.facts["sent"])
    assert json.dumps(signed) == json.dumps(thinking("Need the file. ", "EqQBabc+/=="))
    assert call == {"type": "tool_use", "id": "toolu_t1", "name": "read", "input": {"p": "a"}}
    assert done.facts["sent"]["thinking"] == done.case.input["project"]["params"]["thinking"]
    assert done.turn["status"] == "completed"


@expects("cross-model-thinking-dropped", pytest.mark.req("X-20", "X-23", "S2-25"))
async def thinking_of_another_model(done: Done) -> None:
    """The contract's reason in the manifest is `reasoning_left_out`; why is the loss's word, `signed_by_other_model`."""
    (found,) = done.inputs
    assert said(found["body"]) == [[spoken("x")], [thinking("T2", "SIG_OPUS"), spoken("y")]]
    other = await done.world.input(done.session, model="claude-sonnet-4-5")
    assert said(other["body"]) == [[thinking("T1", "SIG_SONNET"), spoken("x")], [spoken("y")]]
    of_sonnet, of_opus = (entry["seq"] for entry in await done.answered())
    for one, seq in ((found, of_sonnet), (other, of_opus)):
        assert [(loss["what"], loss["why"], loss["seq"]) for loss in one["losses"]] == [("reasoning", "signed_by_other_model", seq)]
        changed = [row["source"]["seq"] for row in one["manifest"]["decisions"] if row["reason"] == "reasoning_left_out"]
        assert changed == [seq]


@expects("reasoning-summary-not-sent-as-thinking", pytest.mark.req("X-20"))
async def a_summary_of_another_provider(done: Done) -> None:
    """Chosen: a summary that came in a provider's own item is that provider's, and is not sent as text either."""
    (found,) = done.inputs
    assert said(found["body"]) == [[spoken("x")]]
    assert "thinking" not in json.dumps(found["body"])
    assert "resp_1" not in json.dumps(found["body"])
    assert (await done.answered())[0]["attributes"] == {"previous_response_id": "resp_1"}
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("reasoning", "signed_by_other_model")]


@expects("multi-block-thinking-not-merged", pytest.mark.req("X-23"))
async def several_blocks_of_thinking(done: Done) -> None:
    assert said(done.inputs[0]["body"]) == [
        [
            thinking("one", "S1"),
            {"type": "redacted_thinking", "data": "ENC=="},
            spoken("mid"),
            thinking("two", "S2"),
            {"type": "tool_use", "id": "toolu_m", "name": "t", "input": {}},
        ]
    ]
    assert done.inputs[0]["losses"] == []


def paired(done: Done, encrypted: str) -> None:
    """x without the id that stands for its reasoning, which has nothing to be sent; y behind its own."""
    (found,) = done.inputs
    body = found["body"]
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert [item.get("type", item.get("role")) for item in body["input"]] == ["user", "message", "user", "reasoning", "message", "user"]
    _, first, _, reasoning, second, _ = body["input"]
    assert "id" not in first
    assert (first["content"][0]["text"], second["content"][0]["text"]) == ("x", "y")
    assert reasoning == {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": encrypted}
    assert second["id"] == "msg_2"
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("reasoning", "no_encrypted_content")]


@expects("responses-store-false-needs-encrypted-content", pytest.mark.req("X-23"))
async def reasoning_that_nobody_stored(done: Done) -> None:
    """`store: false` needs no asking: no call of ours is stored by the provider."""
    paired(done, "gAAAA_enc")


@expects("assistant-id-without-its-reasoning", pytest.mark.req("X-23"))
async def an_id_whose_reasoning_is_gone(done: Done) -> None:
    """Chosen: the message behind its reasoning keeps its id."""
    paired(done, "E2")


@expects("orphan-reasoning-when-call-dropped", pytest.mark.req("X-21", "X-23", "T-10"))
async def reasoning_without_what_it_led_to(done: Done) -> None:
    """A stopped answer goes out as a whole, always; the case's other choice is that of an answer which ended well."""
    (found,) = done.inputs
    assert found["body"]["input"] == [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    first, answer, last = done.case.input["ledger"]
    ended = {key: value for key, value in answer.items() if key != "status"}
    session = await done.place.session(done.case.input["target"]["model"], "responses")
    await seeded(done.world, session, [first, ended, last])
    items = (await done.world.input(session))["body"]["input"]
    assert [item.get("type", item.get("role")) for item in items] == ["user", "reasoning", "function_call", "function_call_output", "user"]
    assert (items[1]["id"], items[2]["call_id"], items[3]["call_id"]) == ("rs_1", "call_gone", "call_gone")


@expects("gemini-signature-only-first-parallel", pytest.mark.req("X-23"))
async def one_signature_for_parallel_calls(done: Done) -> None:
    (found,) = done.inputs
    _, model, answered = found["body"]["contents"]
    assert model["parts"] == [{"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "SIGN1=="}, {"functionCall": {"name": "b", "args": {}}}]
    assert [one["functionResponse"]["name"] for one in answered["parts"]] == ["a", "b"]
    assert found["losses"] == []


@expects("gemini-imported-history-needs-skip-marker", pytest.mark.req("X-20"))
async def calls_that_nobody_signed(done: Done) -> None:
    (found,) = done.inputs
    first, second = found["body"]["contents"][1]["parts"]
    assert (first["thoughtSignature"], "thoughtSignature" in second) == (SKIP, False)
    assert [(loss["what"], loss["why"], loss["part"]) for loss in found["losses"]] == [("thought_signature", "stand_in_sent", 0)]
    older = await done.world.input(done.session, model="gemini-2.5-flash")
    assert "ignature" not in json.dumps(older["body"])
    assert [sorted(part) for part in (await done.answered())[0]["body"]["parts"]] == [["arguments", "name", "tool_call_id", "type"]] * 2


@expects("signature-on-stream-first-call-kept", pytest.mark.req("X-23"), tools=[{"name": "a"}, {"name": "b"}])
async def a_signature_on_the_first_of_two_events(done: Done) -> None:
    model = done.facts["sent"]["contents"][1]
    assert model["parts"] == [{"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "Zm9v"}, {"functionCall": {"name": "b", "args": {}}}]
    assert len(set(done.facts["pending"])) == 2
    first = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"][0]
    assert (first["usage"]["input"], first["usage"]["output"], first["usage"]["source"]) == (4, 6, "reported")


@expects("tool-turn-with-no-reasoning-at-all", upstream="reasoned")
async def reasoning_where_there_was_none(done: Done) -> None:
    """Chosen: the documented minimal value is the empty text."""
    (found,) = done.inputs
    assert roles(found["body"]) == ["user", "assistant", "tool"]
    assert found["body"]["messages"][1]["reasoning_content"] == ""
    assert [(loss["what"], loss["why"]) for loss in found["losses"]] == [("reasoning", "empty_value_required")]
    assert [part["type"] for part in (await done.raw())[1]["body"]["parts"]] == ["tool_call"]
