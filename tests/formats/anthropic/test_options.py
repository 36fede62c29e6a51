"""What a Messages body asks for beside its messages: caps, thinking, the choice of tools, cache marks, extra keys."""

from typing import Any

import orjson
import pytest

from app.entries import lossless
from app.entries.parts import Opaque, ToolCall
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import write_request
from app.formats.protocols import WireLoss, Written
from tests.formats.anthropic.judge import objections
from tests.formats.anthropic.requests import BOUND, ESCALATE, LOOKUP, NEW, OLD, message, request, signed, target
from tests.formats.anthropic.streams import PRODUCER

MARK = {"type": "ephemeral"}
USER = message("user", "q")
ROUND = (USER, message("assistant", ToolCall("c1", "lookup", "{}")), message("tool", "r", tool_call_id="c1"))
THOUGHT = (USER, message("assistant", signed(), ToolCall("c1", "lookup", "{}")), message("tool", "r", tool_call_id="c1"))


def written(*messages: Any, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*(messages or (USER,)), **changes), {})
    body = orjson.loads(found.body)
    assert not objections(found.body)
    assert not validate(body)
    return body, found


def test_a_cap_is_always_sent():
    body, _ = written(target=target(max_output_tokens=7))
    assert body["max_tokens"] == 7
    body, _ = written()
    assert body["max_tokens"] == 64_000, "the model's own where none is asked for"


ADAPTIVE, OFF = {"type": "adaptive"}, {"type": "disabled"}


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "sent", "why"),
    [
        (NEW, "high", ADAPTIVE, "high", None),
        (NEW, "max", ADAPTIVE, "max", None),
        (NEW, "none", OFF, None, None),
        (NEW, "minimal", OFF, None, "nearest_sent"),
        (BOUND, "none", ADAPTIVE, "low", "nearest_sent"),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None, "nearest_sent"),
        ("claude-haiku-5-5", "none", OFF, None, None),
        ("claude-opus-4-6", "xhigh", ADAPTIVE, "high", "nearest_sent"),
        ("claude-opus-6", "max", ADAPTIVE, "high", "nearest_sent"),
        (OLD, "none", OFF, None, None),
        (OLD, "low", {"type": "enabled", "budget_tokens": 4_096}, None, None),
        (OLD, "high", {"type": "enabled", "budget_tokens": 32_768}, None, None),
        (OLD, "max", {"type": "enabled", "budget_tokens": 32_768}, None, "nearest_sent"),
        ("claude-3-5-haiku-20241022", "low", None, None, "not_in_format"),
        (NEW, None, None, None, None),
        (OLD, None, None, None, None),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(model: str, effort: str | None, thinking: Any, sent: str | None, why: str | None):
    body, found = written(target=target(model, reasoning={"effort": effort} if effort else {}))
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (None if sent is None else {"effort": sent})
    assert found.losses == (() if why is None else (WireLoss("reasoning_effort", why),))


@pytest.mark.parametrize(("cap", "budget"), [(64_000, 32_768), (20_000, 15_000), (1_366, 1_024), (1_025, 1_024), (1_024, None), (1, None)])
def test_a_budget_stays_below_the_cap(cap: int, budget: int | None):
    body, found = written(target=target(max_output_tokens=cap, reasoning={"effort": "high"}))
    assert body.get("thinking") == (None if budget is None else {"type": "enabled", "budget_tokens": budget})
    assert found.losses == (() if budget else (WireLoss("reasoning_effort", "output_cap_too_small"),))


@pytest.mark.parametrize(
    ("messages", "choice", "why"),
    [
        ((USER,), None, None),
        (ROUND, None, "not_in_this_round"),
        (THOUGHT, None, None),
        ((*ROUND, USER), None, "not_in_this_round"),
        ((*ROUND, message("assistant", "done"), USER), None, None),
        ((USER,), "required", "not_with_forced_choice"),
        ((USER,), "auto", None),
        ((USER, message("assistant", "The answer:")), None, "not_in_this_round"),
    ],
)
def test_a_budget_is_given_where_the_answer_may_begin_with_thinking(messages: Any, choice: str | None, why: str | None):
    body, found = written(*messages, tools=(LOOKUP,), tool_choice=choice, target=target(reasoning={"effort": "low"}))
    assert ("thinking" in body) is (why is None)
    assert found.losses == (() if why is None else (WireLoss("reasoning_effort", why),))


def test_an_adaptive_model_may_begin_to_think_anywhere():
    body, _ = written(*ROUND, tools=(LOOKUP,), tool_choice="required", target=target("claude-opus-4-6", reasoning={"effort": "low"}))
    assert body["thinking"] == ADAPTIVE


def test_a_server_that_takes_efforts_alone():
    body, _ = written(target=target(NEW, {"thinking": "effort"}, reasoning={"effort": "low"}))
    assert (body.get("thinking"), body["output_config"]) == (None, {"effort": "low"})


AUTO, ANY, NONE, NAMED = {"type": "auto"}, {"type": "any"}, {"type": "none"}, {"type": "tool", "name": "lookup"}


@pytest.mark.req("S4-37", "S4-39", "X-32", "T-05")
@pytest.mark.parametrize(
    ("model", "choice", "allowed", "expected", "losses"),
    [
        (NEW, None, None, None, []),
        (NEW, "auto", None, AUTO, []),
        (NEW, "none", None, NONE, []),
        (NEW, "required", None, ANY, []),
        (NEW, "lookup", None, NAMED, []),
        (NEW, None, (), NONE, []),
        (NEW, "required", ("lookup",), NAMED, []),
        (NEW, "auto", ("lookup",), AUTO, ["allowed_tools"]),
        (NEW, "required", ("lookup", "escalate"), ANY, ["allowed_tools"]),
        (NEW, "none", ("lookup",), NONE, []),
        (NEW, "lookup", ("lookup",), NAMED, []),
        (BOUND, "required", None, AUTO, ["tool_choice"]),
        (BOUND, "lookup", None, AUTO, ["tool_choice"]),
        (BOUND, "required", ("lookup", "escalate"), AUTO, ["allowed_tools", "tool_choice"]),
        (BOUND, "none", None, NONE, []),
    ],
)
def test_how_tools_may_be_chosen(model: str, choice: str | None, allowed: tuple[str, ...] | None, expected: Any, losses: list[str]):
    body, found = written(tools=(LOOKUP, ESCALATE), tool_choice=choice, allowed_tools=allowed, target=target(model))
    assert body.get("tool_choice") == expected
    assert [tool["name"] for tool in body["tools"]] == ["lookup", "escalate"], "definitions stay whole"
    assert [(loss.what, loss.why) for loss in found.losses] == [(what, "not_enforced") for what in losses]


def test_a_choice_that_the_server_does_not_obey_or_that_chooses_nothing():
    body, found = written(tools=(LOOKUP,), tool_choice="required", target=target(quirks={"tool_choice": False}))
    assert "tool_choice" not in body
    assert found.losses == (WireLoss("tool_choice", "not_enforced"),)
    body, _ = written(tool_choice="required")
    assert "tool_choice" not in body
    assert "tools" not in body


def marked(body: dict[str, Any]) -> list[str]:
    """Where the marks stand."""
    places = [f"tool {index}" for index, tool in enumerate(body.get("tools", [])) if tool.get("cache_control") == MARK]
    places += [f"system {index}" for index, block in enumerate(body.get("system", [])) if block.get("cache_control") == MARK]
    for number, row in enumerate(body["messages"]):
        places += [f"{number}.{index}" for index, block in enumerate(row["content"]) if block.get("cache_control") == MARK]
    return places


TALK = (USER, message("assistant", "a"), message("user", "b", "c"), *ROUND[1:], message("assistant", "d"), message("user", "e"))
TOLD: dict[str, Any] = {"system": ("s", "t"), "tools": (LOOKUP, ESCALATE)}


@pytest.mark.req("X-31", "X-33")
@pytest.mark.parametrize(
    ("most", "places"),
    [(4, ["tool 1", "system 1", "4.0", "6.0"]), (3, ["system 1", "4.0", "6.0"]), (2, ["system 1", "6.0"]), (1, ["6.0"]), (0, [])],
)
def test_marks_of_the_cache_stand_at_the_ends_of_the_prefix(most: int, places: list[str]):
    body, found = written(*TALK, **TOLD, target=target(quirks={"cache_breakpoints": most}))
    assert marked(body) == places
    bare, _ = written(*TALK, **TOLD, target=target(quirks={"cache_breakpoints": 0}))
    assert without_marks(body) == bare, "nothing else changes"
    assert not found.losses


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def test_the_automatic_mark_is_one_of_four():
    body, _ = written(*TALK, **TOLD, target=target(extra={"cache_control": MARK}))
    assert marked(body) == ["system 1", "4.0", "6.0"]


def test_no_mark_is_set_on_what_an_answer_holds():
    body, _ = written(USER, message("assistant", signed(), "a"), USER)
    assert marked(body) == ["0.0", "2.0"]
    tree = write_request(request(message("user", Opaque("anthropic-messages", PRODUCER, '{"type":"container_upload","file_id":"f"}'))), {}).document
    assert tree["messages"][0]["content"][0]["cache_control"] == MARK


@pytest.mark.req("X-31")
def test_what_the_cache_compares_first_comes_first():
    body, _ = written(*TALK, **TOLD, tool_choice="auto", target=target(NEW, reasoning={"effort": "low"}))
    assert list(body) == ["model", "max_tokens", "thinking", "output_config", "tools", "tool_choice", "system", "messages", "stream"]


def test_no_sampling_parameter_is_sent_but_under_the_old_version():
    body, found = written(target=target(temperature=0.5))
    assert "temperature" not in body
    assert found.losses == (WireLoss("params.temperature", "not_taken"),)
    old = {"temperature": True}
    assert orjson.loads(write_request(request(USER, target=target(quirks=old, temperature=0.5)), {}).body)["temperature"] == 0.5
    found = write_request(request(USER, target=target(quirks=old, temperature=0.5, reasoning={"effort": "low"})), {})
    assert "temperature" not in orjson.loads(found.body), "beside thinking it is refused"


def test_extra_keys_come_last_but_cannot_replace_the_conversation():
    extra = {"thinking": {"type": "enabled", "budget_tokens": 2_048}, "stop_sequences": ["x"], "messages": [], "system": "", "stream": False}
    body, found = written(system=("s",), target=target(extra=extra, script=[], colour="red"))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2_048}
    assert body["stop_sequences"] == ["x"]
    assert (body["stream"], len(body["messages"]), len(body["system"])) == (True, 1, 1)
    assert {(loss.what, loss.why) for loss in found.losses} == {
        ("params.extra.messages", "protected"),
        ("params.extra.system", "protected"),
        ("params.extra.stream", "protected"),
        ("params.colour", "not_in_format"),
    }


def test_numbers_of_schemas_and_extra_keys_stay_as_spelled():
    document = lossless.loads('{"big": 123456789012345678901234567890, "e": 1e2, "f": 1.0}')
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": document})
    found = write_request(request(USER, tools=(odd,), target=target(extra={"x": document, "y": 2**70})), {})
    assert found.body.count(b'{"big":123456789012345678901234567890,"e":1e2,"f":1.0}') == 2
    assert b'"y":1180591620717411303424' in found.body
