"""Laws of sending answers back: whatever was answered the next request is valid, and what was sound comes back unchanged."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.entries.messages import Status
from app.entries.parts import Part, ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from tests.fakes.openai_responses_rules import breaches
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import answer, message, request, target
from tests.formats.openai_responses.streams import call, reasoning
from tests.formats.openai_responses.streams import message as said
from tests.strategies import Ledger, agent, tokens

CUSTOM = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c9", "name": "patch", "input": "x"}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "c9", "output": "done"}


def named(prefix: str, id: str | None) -> str | None:
    """An id of the form that the endpoint makes for that type of item."""
    return None if id is None else f"{prefix}_{id}"


def search(id: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "web_search_call", "action": {"type": "search", "query": "q"}, "status": "completed"}
    return found if id is None else found | {"id": id}


ids = st.sampled_from([None, "a", "b", "c"])
texts = st.sampled_from(["", " ", "one", "two \u2028"])
items = st.one_of(
    st.builds(
        lambda id, encrypted, texts: reasoning(named("rs", id), encrypted, *texts), ids, st.sampled_from([None, "E"]), st.lists(texts, max_size=2)
    ),
    st.builds(lambda id, texts: said(*texts, id=named("msg", id)), ids, st.lists(texts, min_size=1, max_size=3)),
    st.builds(
        lambda id, call_id, text: call(call_id, text, id=named("fc", id)),
        ids,
        st.sampled_from(["c1", "c2"]),
        st.sampled_from(["{}", "not json", ""]),
    ),
    st.builds(search, ids),
    st.builds(lambda call_id, one: one | {"call_id": call_id}, st.sampled_from(["a", "b"]), st.sampled_from([CUSTOM, OUTPUT])),
)


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "gpt-4.1"])
@settings(max_examples=500, deadline=None)
@given(answers=st.lists(st.tuples(st.lists(items, max_size=5), st.booleans()), max_size=3))
def test_whatever_a_server_answered_the_next_request_is_valid(model: str, answers: list[tuple[list[dict[str, Any]], bool]]):
    """From a model that thinks, and from one of which the rules say that it does not. Repeated ids of items and calls, missing ones, reasoning
    anywhere; parts lost on the way. Call ids are told apart by the pass before."""
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
    taking = target(model)
    found = write_request(request(*messages, target=taking), {})
    body = orjson.loads(found.body)
    assert validate(body, taking.rules) == []
    assert not objections(found.body)
    assert not breaches(body)
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    assert told >= {(index, number) for index, one in enumerate(messages) for number in range(len(one.parts))}


acts: st.SearchStrategy[tuple[str, list[dict[str, Any]]]] = st.one_of(
    st.tuples(st.just("user"), st.just([])),
    st.tuples(st.just("answer"), st.lists(items, max_size=4)),
    st.tuples(st.sampled_from(["result", "stopped"]), st.lists(items, max_size=2)),
)


@pytest.mark.req("X-20", "X-23")
@settings(max_examples=300, deadline=None)
@given(st.lists(acts, max_size=8), st.sampled_from(["gpt-5.4", "gpt-5.6-sol", "gpt-4.1"]))
def test_whatever_the_ledger_holds_of_this_producer_or_another_the_body_is_valid(told: list[tuple[str, list[dict[str, Any]]]], model: str):
    """Answers of `gpt-5.4` sent to itself and to others: calls without results, results of nothing, stopped answers of which the text is left."""
    ledger = Ledger()
    for kind, output in told:
        parts = answer(*output).parts
        if kind == "user":
            ledger.user("go on")
        elif kind == "result":
            ledger.result("c1")
        else:
            ledger.answer(*parts, status=Status.COMPLETED if kind == "answer" else Status.INTERRUPTED)
            for part in parts[::2]:
                if isinstance(part, ToolCall):
                    ledger.result(part.tool_call_id)
    ledger.user("and now?")
    revision = agent(turn={"partial_answers": "text"})
    compiled = compile_context(ledger.sources(revision, target(model)), tokens)
    found = write_request(compiled.request, {})
    body = orjson.loads(found.body)
    assert validate(body, target(model).rules) == []
    assert not objections(found.body)
    assert not breaches(body)
    if model != "gpt-5.4":
        assert not [item for item in body["input"] if "id" in item or item.get("type") in ("reasoning", "web_search_call")]


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
