"""Signatures of calls: the real ones where they arrived, the documented stand-in where one is needed and none is known."""

from typing import Any

import orjson
import pytest

from app.context.draft import NeutralMessage
from app.entries.messages import Status
from app.formats.gemini.rules import SKIP_SIGNATURE
from app.formats.gemini.validate import validate
from app.formats.gemini.write_request import write_request
from app.formats.protocols import WireLoss, Written
from tests.formats.gemini.judge import objections
from tests.formats.gemini.requests import PRODUCER, call, message, request, target
from tests.formats.gemini.streams import call as called
from tests.formats.gemini.streams import data, event, fold, read

MODEL, OLDER = "gemini-3-pro-preview", "gemini-2.5-flash"


def result(tool_call_id: str) -> NeutralMessage:
    return message("tool", "r", tool_call_id=tool_call_id)


def signatures(*messages: NeutralMessage, model: str = MODEL) -> tuple[list[list[str | None]], Written]:
    """The signature of each call, by content with calls."""
    asked = request(*messages, target=target(model))
    found = write_request(asked, {})
    body = orjson.loads(found.body)
    assert not objections(found.body)
    assert not validate(body, asked.target.rules)
    calls = [[part for part in content["parts"] if "functionCall" in part] for content in body["contents"]]
    return [[part.get("thoughtSignature") for part in listed] for listed in calls if listed], found


@pytest.mark.req("X-20")
def test_the_first_call_of_a_step_without_a_signature_gets_the_stand_in_and_the_others_stay_unsigned():
    found, written = signatures(message("user", "q"), message("assistant", call("c1"), call("c2")), result("c1"), result("c2"))
    assert found == [[SKIP_SIGNATURE, None]]
    assert written.losses == (WireLoss("thought_signature", "stand_in_sent", 1, 0),)
    assert SKIP_SIGNATURE == "skip_thought_signature_validator"


def test_models_that_sign_nothing_get_no_stand_in():
    found, written = signatures(message("user", "q"), message("assistant", call("c1")), result("c1"), model=OLDER)
    assert found == [[None]]
    assert not written.losses


@pytest.mark.req("X-23")
def test_a_signature_that_is_known_stays_and_its_siblings_get_none():
    signed = call("c1", thoughtSignature="U0lHTjE=")
    found, written = signatures(message("user", "q"), message("assistant", "text", signed, call("c2")), result("c1"), result("c2"))
    assert found == [["U0lHTjE=", None]]
    assert not written.losses


def test_each_step_of_the_current_turn_needs_one_and_those_of_earlier_turns_do_not():
    step = [message("assistant", call("c1")), result("c1")]
    again = [message("assistant", call("c2")), result("c2"), message("assistant", "hm", call("c3")), result("c3")]
    found, _ = signatures(message("user", "q"), *step, message("user", "more"), *again)
    assert found == [[None], [SKIP_SIGNATURE], [SKIP_SIGNATURE]]
    closed, _ = signatures(message("user", "q"), *step, message("assistant", "done"), message("agent", "next"))
    assert closed == [[None]]


SIGNED = called("a", {}, thoughtSignature="Zm9v")
FIRST = data({"candidates": [{"content": {"role": "model", "parts": [SIGNED]}, "index": 0}]})
SECOND = event(called("b", {}), finish="STOP", usage={"promptTokenCount": 4, "candidatesTokenCount": 6, "totalTokenCount": 10})


def replayed(stream: list[bytes]) -> list[Any]:
    """The parts of the model's content, once its answer was read and is sent again."""
    answer = fold(read(stream, PRODUCER)).answer(Status.COMPLETED)
    results = [message("tool", "r", tool_call_id=getattr(part, "tool_call_id", "")) for part in answer.parts if hasattr(part, "arguments")]
    asked = request(message("user", "q"), message("assistant", *answer.parts), *results)
    return list(orjson.loads(write_request(asked, {}).body)["contents"][1]["parts"])


@pytest.mark.req("X-23")
def test_the_signature_of_the_first_streamed_call_is_kept():
    answer = fold(read([FIRST, SECOND]))
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output) == (4, 6)
    assert replayed([FIRST, SECOND]) == [SIGNED, called("b", {})]


@pytest.mark.req("X-23")
def test_what_an_answer_held_goes_back_part_for_part():
    sent = [
        {"text": "early ", "thoughtSignature": "ZWFybHk="},
        {"text": "said"},
        {"executableCode": {"language": "PYTHON", "code": "1e2"}, "thoughtSignature": "Y29kZQ=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"functionCall": {"name": "f", "args": {"n": 1e2, "big": 12345678901234567890}, "id": "x1"}, "thoughtSignature": "Zm9v"},
        {"functionCall": {"name": "g", "args": {}, "id": "x2"}},
        {"text": "", "thoughtSignature": "bGF0ZQ=="},
    ]
    whole = replayed([event(*sent, finish="STOP")])
    assert whole == sent
    assert replayed([*(event(part) for part in sent), event(finish="STOP")]) == sent


def test_a_thought_goes_back_only_where_it_is_signed():
    signed = {"text": "hm", "thought": True, "thoughtSignature": "dGg="}
    assert replayed([event({"text": "summary", "thought": True}, signed, {"text": "said"}, finish="STOP")]) == [signed, {"text": "said"}]
