"""Group c: content that a provider refuses: blank texts, a last answer, system text in the middle, images of the wrong kind or size."""

import json
from base64 import b64decode
from typing import Any

import pytest

from tests.cases.checks.calling import blocks, in_turns, results
from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.posting import seeded
from tests.services.world import roles, text

IMAGE_BYTES_MAX = 5_242_880


def texts(body: Any) -> list[str]:
    """The texts of a Messages body, in order."""
    return [block["text"] for block in blocks(body, "text")]


def rows(found: Any, reason: str) -> list[Any]:
    """The sources that the manifest gives this reason for."""
    return [row["source"] for row in found["manifest"]["decisions"] if reason in (row["reason"], *row["also"])]


@expects("whitespace-only-text-block")
async def blank_texts(done: Done) -> None:
    """Chosen: the inputs around an answer that said nothing are one message."""
    (found,) = done.inputs
    assert roles(found["body"]) == ["user", "assistant", "user"]
    assert texts(found["body"]) == ["a", "b", "real", "c"]
    first, second = await done.answered()
    assert rows(found, "blank_message") == [{"kind": "entry", "seq": first["seq"]}]
    assert rows(found, "blank_text") == [{"kind": "entry", "seq": second["seq"]}]


@expects("blank-user-message-voice")
async def a_blank_input(done: Done) -> None:
    """Chosen: it is stored as it came, and left out for a model that refuses it."""
    assert [answer.status_code for answer in done.answers] == [201, 201]
    (message,) = done.inputs[0]["body"]["messages"]
    assert (message["role"], texts(done.inputs[0]["body"])) == ("user", ["turn on the lamp"])
    assert [text(entry) for entry in await done.raw()] == ["\n", "turn on the lamp"]


@expects("empty-tool-result-content")
async def a_result_without_output(done: Done) -> None:
    (found,) = done.inputs
    (result,) = blocks(found["body"], "tool_result")
    assert (result["tool_use_id"], result["content"]) == ("toolu_e", "(no output)")
    chat = await done.world.input(done.session, upstream="mock", model="gpt-4o")
    assert results(chat["body"]) == [("toolu_e", "")]
    assert text((await done.raw())[-1]) == ""


@expects("trailing-whitespace-final-assistant")
async def blanks_at_the_very_end(done: Done) -> None:
    """This model goes on with a last answer; that is the model's rule and needs no asking."""
    body = done.inputs[0]["body"]
    assert roles(body) == ["user", "assistant"]
    assert texts(body)[-1] == "The answer is:"
    assert text((await done.raw())[-1]) == "The answer is:\n\n"


@expects("history-ends-with-assistant", turn={"partial_answers": "text"})
async def an_answer_at_the_end(done: Done) -> None:
    """What was said before a stop is kept where the agent says `partial_answers: text`; left to itself it is not sent."""
    (found,) = done.inputs
    assert roles(found["body"]) == ["user", "assistant", "user"]
    assert texts(found["body"])[1] == "partial answer"
    assert texts(found["body"])[2].strip()
    assert found["source_map"]["sources"][-1] == {"type": "rendered", "renderer": "adjacency"}
    assert rows(found, "user_last") == [{"kind": "rendered", "renderer": "adjacency"}]
    assert len(await done.raw()) == 2
    calling: list[dict[str, Any]] = [{"kind": "user", "text": "a"}, {"kind": "assistant", "calls": [{"id": "c", "name": "f", "arguments": "{}"}]}]
    session = await done.place.session(done.case.input["target"]["model"], "anthropic")
    await seeded(done.world, session, calling)
    repaired = await done.world.input(session)
    assert roles(repaired["body"]) == ["user", "assistant", "user"]
    assert [block["type"] for block in repaired["body"]["messages"][-1]["content"]] == ["tool_result"]


@expects("system-only-context-gemini")
async def a_call_before_any_input(done: Done) -> None:
    (found,) = done.inputs
    in_turns(found["body"]["contents"])
    (opening,) = found["body"]["contents"][0]["parts"]
    assert opening["text"].strip()
    assert found["body"]["systemInstruction"] == {"parts": [{"text": "Greet the caller."}]}
    assert rows(found, "user_first") == [{"kind": "rendered", "renderer": "adjacency"}]


@expects("mid-conversation-system", pytest.mark.req("X-31"))
async def system_text_in_the_middle(done: Done) -> None:
    """The documented fallback for every model: text at the tail, as user input, since system text belongs to an agent and not to a ledger."""
    (found,) = done.inputs
    body = found["body"]
    assert [block["text"] for block in body["system"]] == ["S0"]
    assert roles(body) == ["user", "assistant", "user"]
    assert texts(body) == ["a", "b", "c", "From now on answer in French."]
    (late,) = [row for row in found["manifest"]["decisions"] if row["source"]["kind"] == "rendered"]
    assert (late["disposition"], late["pointer"]) == ("included", "/messages/2/content/1")


def _in_order(value: Any) -> list[str]:
    """The texts of a body that are one capital letter, in the order in which a provider reads them: system text, then the list."""
    if isinstance(value, str):
        return [value] if value in ("A", "B", "C") else []
    if isinstance(value, list):
        return [found for item in value for found in _in_order(item)]
    if isinstance(value, dict):
        first = ("system", "instructions", "systemInstruction")
        return _in_order([*(value[key] for key in first if key in value), *(item for key, item in value.items() if key not in first)])
    return []


@expects("non-consecutive-system-messages", pytest.mark.req("X-24", "X-31"))
async def system_text_in_several_places(done: Done) -> None:
    """As for one text in the middle: the first is at the head, those that came later at the tail, in their order."""
    (found,) = done.inputs
    assert _in_order(found["body"]) == ["A", "B", "C"]
    assert found["violations"] == []


@expects("oversized-image-kills-session", pytest.mark.req("X-18"))
async def an_image_that_is_too_large(done: Done) -> None:
    """The note names media type and bytes; which image it is, the manifest tells: its pointer is of the entry with the digest."""
    (found,) = done.inputs
    given = b64decode(done.case.input["ledger"][0]["parts"][1]["b64"])
    assert len(given) > IMAGE_BYTES_MAX
    assert texts(found["body"]) == ["see", f"[image not shown: image/png, {len(given)} bytes]", "cannot", "just text now"]
    assert blocks(found["body"], "image") == []
    entry = (await done.raw())[0]
    assert found["losses"] == [{"what": "image", "why": "image_too_large", "seq": entry["seq"], "part": 1}]
    assert rows(found, "media_not_taken") == [{"kind": "entry", "seq": entry["seq"]}]
    digest = entry["body"]["parts"][1]["blob"]["digest"]
    stored = await done.world.call("GET", f"/sessions/{done.session}/blobs/{digest}", 200)
    assert stored.content == given


@expects("image-for-text-only-model", pytest.mark.req("X-18"), upstream="blind")
async def an_image_for_a_model_that_sees_nothing(done: Done) -> None:
    """Chat takes no image in a result, so for a model that sees it goes behind the results."""
    (found,) = done.inputs
    ((_, content),) = results(found["body"])
    assert content.startswith("ok\n[image not shown: image/png, ")
    assert "image_url" not in json.dumps(found["body"])
    seen = await done.world.input(done.session, upstream="mock", model="gpt-4o")
    given = done.case.input["ledger"][2]["parts"][1]["b64"]
    shown = [
        part
        for message in seen["body"]["messages"]
        if message["role"] == "user" and isinstance(message["content"], list)
        for part in message["content"]
    ]
    assert [part["image_url"]["url"] for part in shown if part["type"] == "image_url"] == [f"data:image/png;base64,{given}"]
