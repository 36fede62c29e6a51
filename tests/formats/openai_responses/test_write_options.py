"""What a Responses body says beside its items: how tools may be chosen, and parameters as far as the model takes them."""

from typing import Any

import orjson
import pytest

from app.entries import lossless
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from app.formats.protocols import WireLoss, Written
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import ESCALATE, LOOKUP, message, request, target

NAMED = {"type": "function", "name": "lookup"}


def written(*messages: Any, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*messages, **changes), {})
    assert not objections(found.body)
    return orjson.loads(found.body), found


@pytest.mark.parametrize(("model", "asked"), [("gpt-5", True), ("o3", True), ("grok-4", True), ("gpt-4.1", False), ("gpt-5-chat-latest", False)])
def test_reasoning_is_asked_for_where_there_is_some(model: str, asked: bool):
    body, _ = written(message("user", "a"), target=target(model))
    assert ("include" in body) == asked
    assert body["store"] is False
    body, _ = written(message("user", "a"), target=target(model, quirks={"provider_blocks": False}))
    assert "include" not in body


@pytest.mark.req("S4-38", "X-32", "T-05")
@pytest.mark.parametrize(
    ("choice", "allowed", "quirks", "expected", "losses"),
    [
        (None, None, {}, None, []),
        ("auto", None, {}, "auto", []),
        ("required", None, {}, "required", []),
        ("none", ("lookup",), {}, "none", []),
        ("lookup", None, {}, NAMED, []),
        ("lookup", ("lookup", "escalate"), {}, NAMED, []),
        ("lookup", ("escalate",), {}, {"type": "allowed_tools", "mode": "auto", "tools": [NAMED | {"name": "escalate"}]}, ["not_allowed"]),
        (None, (), {}, "none", []),
        (None, ("nobody",), {}, "none", []),
        ("auto", ("lookup", "nobody"), {}, {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}, []),
        ("required", ("lookup",), {}, {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}, []),
        ("required", ("lookup",), {"allowed_tools": False}, "required", ["not_enforced"]),
        ("required", None, {"tool_choice": False}, None, ["not_enforced"]),
        ("required", None, {"forced_choice": False}, "auto", ["not_enforced"]),
        ("lookup", None, {"forced_choice": False}, "auto", ["not_enforced"]),
    ],
)
def test_how_tools_may_be_chosen(choice: str | None, allowed: tuple[str, ...] | None, quirks: dict[str, Any], expected: Any, losses: list[str]):
    body, found = written(message("user", "a"), tools=(LOOKUP, ESCALATE), tool_choice=choice, allowed_tools=allowed, target=target(quirks=quirks))
    assert body.get("tool_choice") == expected
    assert [tool["name"] for tool in body["tools"]] == ["lookup", "escalate"], "definitions stay whole"
    assert [loss.why for loss in found.losses] == losses
    assert not validate(body)


def test_parameters_and_extra_keys_which_come_last_but_cannot_replace_the_conversation():
    extra = {
        "reasoning": {"summary": "auto"},
        "include": ["web_search_call.action.sources", "reasoning.encrypted_content"],
        "input": [],
        "store": True,
        "previous_response_id": "resp_1",
        "parallel_tool_calls": False,
        "text": {"verbosity": "low"},
    }
    chosen = target("gpt-5", max_output_tokens=99, reasoning={"effort": "low"}, extra=extra, script=[], colour="red")
    body, found = written(message("user", "a"), target=chosen)
    assert (body["max_output_tokens"], body["parallel_tool_calls"], body["text"]) == (99, False, {"verbosity": "low"})
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert body["store"] is False
    assert len(body["input"]) == 1
    assert {(loss.what, loss.why) for loss in found.losses} == {
        ("params.extra.input", "protected"),
        ("params.extra.store", "protected"),
        ("params.extra.previous_response_id", "protected"),
        ("params.colour", "not_in_format"),
    }


@pytest.mark.parametrize(
    ("model", "effort", "sent", "temperature"),
    [
        ("gpt-4o", None, None, True),
        ("gpt-4o", "low", None, True),
        ("grok-4", "low", "low", True),
        ("o3", None, None, False),
        ("o3", "max", "high", False),
        ("gpt-5", "none", "minimal", False),
        ("gpt-5.4", None, None, True),
        ("gpt-5.4", "none", "none", True),
        ("gpt-5.4", "max", "max", False),
        ("gpt-5.6-sol", None, None, False),
        ("gpt-5.6-sol", "none", "none", True),
        ("gpt-5.6-sol", "minimal", "none", True),
        ("gpt-6-astra", "none", "low", False),
    ],
)
def test_efforts_are_of_the_models_words_and_sampling_goes_where_it_is_taken(model: str, effort: str | None, sent: str | None, temperature: bool):
    params: dict[str, Any] = {} if effort is None else {"reasoning": {"effort": effort}}
    body, found = written(message("user", "a"), target=target(model, temperature=0.2, **params))
    assert (body.get("reasoning") or {}).get("effort") == sent
    assert ("temperature" in body) == temperature
    expected = set() if effort == sent else {("reasoning_effort", "not_in_format" if sent is None else "nearest_sent")}
    assert {(loss.what, loss.why) for loss in found.losses} == expected | (set() if temperature else {("params.temperature", "not_taken")})
    assert not validate(body)


@pytest.mark.req("X-33")
def test_the_key_for_prompt_caching_is_the_sessions_and_changes_nothing_else():
    body, found = written(message("user", "a"), cache_key="ses_1")
    assert body.pop("prompt_cache_key") == "ses_1"
    assert body == written(message("user", "a"))[0]
    assert not found.losses


def test_a_cap_below_the_least_one_is_raised():
    body, found = written(message("user", "a"), target=target(max_output_tokens=5))
    assert body["max_output_tokens"] == 16
    assert found.losses == (WireLoss("params.max_output_tokens", "least_sent"),)


def test_numbers_of_schemas_and_extra_keys_stay_as_spelled():
    document = lossless.loads('{"big": 123456789012345678901234567890, "e": 1e2, "f": 1.0}')
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": document})
    found = write_request(request(message("user", "a"), tools=(odd,), target=target(extra={"x": document, "y": 2**70})), {})
    assert found.body.count(b'{"big":123456789012345678901234567890,"e":1e2,"f":1.0}') == 2
    assert b'"y":1180591620717411303424' in found.body
