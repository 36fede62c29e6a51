"""Laws of sending answers back: whatever was answered the next request is valid, and what was sound comes back unchanged."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.parts import Part, ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import answer, message, request, target
from tests.formats.openai_responses.streams import call, reasoning
from tests.formats.openai_responses.streams import message as said

CUSTOM = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c9", "name": "patch", "input": "x"}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "c9", "output": "done"}


def search(id: str | None) -> dict[str, Any]:
    found = {"type": "web_search_call", "action": {"type": "search", "query": "q"}, "status": "completed"}
    return found if id is None else found | {"id": id}


ids = st.sampled_from([None, "a", "b", "c"])
texts = st.sampled_from(["", " ", "one", "two \u2028"])
items = st.one_of(
    st.builds(lambda id, encrypted, texts: reasoning(id, encrypted, *texts), ids, st.sampled_from([None, "E"]), st.lists(texts, max_size=2)),
    st.builds(lambda id, texts: said(*texts, id=id), ids, st.lists(texts, min_size=1, max_size=3)),
    st.builds(lambda id, call_id, text: call(call_id, text, id=id), ids, st.sampled_from(["c1", "c2"]), st.sampled_from(["{}", "not json", ""])),
    st.builds(search, ids),
    st.builds(lambda call_id, one: one | {"call_id": call_id}, st.sampled_from(["a", "b"]), st.sampled_from([CUSTOM, OUTPUT])),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.lists(items, max_size=5), st.booleans()), max_size=3))
def test_whatever_a_server_answered_the_next_request_is_valid(answers: list[tuple[list[dict[str, Any]], bool]]):
    """Repeated ids of items and calls, missing ones, reasoning anywhere; parts lost on the way. Call ids are told apart by the pass before."""
    messages = [message("user", "q")]
    number = 0
    for output, shorter in answers:
        parts: list[Part] = []
        for index, part in enumerate(answer(*output).parts):
            number += 1
            if shorter and index % 2:
                continue
            parts.append(replace(part, tool_call_id=f"t{number}") if isinstance(part, ToolCall) else part)
        messages.append(message("assistant", *parts))
        messages += [message("tool", "r", tool_call_id=part.tool_call_id) for part in parts if isinstance(part, ToolCall)]
        messages.append(message("user", "go on"))
    found = write_request(request(*messages), {})
    assert validate(orjson.loads(found.body), target().rules) == []
    assert not objections(found.body)
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    assert told >= {(index, number) for index, one in enumerate(messages) for number in range(len(one.parts))}


phases = st.sampled_from(["commentary", "final_answer", None])
sound = st.one_of(
    st.builds(lambda texts: reasoning("rs", "E", *texts), st.lists(texts, max_size=2)),
    st.builds(lambda texts, phase: said(*texts, id="msg", phase=phase), st.lists(texts, min_size=1, max_size=3), phases),
    st.builds(lambda text: call("call", text, id="fc"), st.sampled_from(["{}", "not json", '{"a": 1e2}'])),
    st.builds(search, st.just("ws")),
)


@pytest.mark.req("X-23")
@settings(max_examples=300, deadline=None)
@given(st.lists(sound, max_size=6))
def test_a_sound_answer_is_the_same_in_the_next_request(output: list[dict[str, Any]]):
    """With an id and a token of its own each item comes back unchanged, but for probabilities and reasoning at the end."""
    numbered = [item | {key: f"{item[key]}_{index}" for key in ("id", "call_id") if key in item} for index, item in enumerate(output)]
    one = answer(*numbered)
    results = [message("tool", "r", tool_call_id=part.tool_call_id) for part in one.parts if isinstance(part, ToolCall)]
    body = orjson.loads(write_request(request(message("user", "q"), one, *results), {}).body)
    expected = json.loads(json.dumps(numbered))
    while expected and expected[-1]["type"] == "reasoning":
        expected.pop()
    for item in expected:
        for part in item["content"] if item["type"] == "message" else ():
            part.pop("logprobs", None)
    assert body["input"][1 : 1 + len(expected)] == expected
    assert len(body["input"]) == 1 + len(expected) + len(results)
