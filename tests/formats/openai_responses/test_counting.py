"""Counting by the provider's endpoint: the call's body, but for what it does not take."""

import json

import orjson
import pytest

from app.entries.parts import Text
from app.formats.openai_responses import FORMAT
from app.formats.openai_responses.write_request import write_request
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import LOOKUP, answer, message, request, target
from tests.formats.openai_responses.streams import call, reasoning

COUNTING = FORMAT.counting


def test_the_request_of_a_count_is_the_calls_without_what_makes_it_one():
    assert COUNTING is not None
    chosen = target("gpt-5", max_output_tokens=99, reasoning={"effort": "low"}, extra={"text": {"verbosity": "low"}, "metadata": {"k": "v"}})
    asked = (message("user", Text("a\u2028")), answer(reasoning(), call()), message("tool", "r", tool_call_id="call_1"))
    written = write_request(request(*asked, system=("s",), tools=(LOOKUP,), tool_choice="auto", target=chosen), {})
    found = COUNTING.body("m", written.document)
    body = orjson.loads(written.body)
    counted = ("model", "instructions", "tools", "input", "tool_choice", "reasoning", "text")
    assert orjson.loads(found) == {key: body[key] for key in counted}
    assert not objections(found, counting=True)
    assert objections(written.body, counting=True)
    assert COUNTING.path("gpt-5") == "/responses/input_tokens"


def test_odd_numbers_are_counted_as_they_are_sent():
    assert COUNTING is not None
    found = COUNTING.body("m", {"model": "m", "tools": ({"parameters": {"default": 2**70}},), "store": False})
    assert found == b'{"model":"m","tools":[{"parameters":{"default":1180591620717411303424}}]}'


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        ({"object": "response.input_tokens", "input_tokens": 12}, 12),
        ({"input_tokens": 0}, 0),
        ({"input_tokens": None}, None),
        ({"input_tokens": True}, None),
        ({"input_tokens": -1}, None),
        ({}, None),
        ([], None),
    ],
)
def test_the_count_of_an_answer(answer: object, tokens: int | None):
    assert COUNTING is not None
    assert COUNTING.read(json.dumps(answer).encode()) == tokens
    assert COUNTING.read(b"<html>") is None
