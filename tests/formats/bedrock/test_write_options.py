"""Tools and their choice, caps, thinking and an operator's own keys in Converse bodies."""

import json
from typing import Any

import orjson
import pytest

from app.entries import lossless
from app.entries.parts import Reasoning, ToolCall
from app.formats.bedrock.validate import validate
from app.formats.bedrock.write_request import write_request
from app.formats.protocols import WireLoss, Written
from tests.formats.bedrock.bodies import THOUGHT
from tests.formats.bedrock.judge import objections
from tests.formats.bedrock.requests import BOUND, ESCALATE, HAIKU, LLAMA, LOOKUP, NOVA, OPUS, message, request, target

HISTORY = (message("user", "q"), message("assistant", ToolCall("toolcall1", "lookup", "{}")), message("tool", "r", tool_call_id="toolcall1"))
NONE = {"tool_choice": {"type": "none"}}


def written(*messages: Any, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*messages or (message("user", "a"),), **changes), {})
    assert not objections(found.body)
    assert not validate(found.document, changes["target"].rules if "target" in changes else target().rules)
    return orjson.loads(found.body), found


def lost(found: Written) -> list[tuple[str, str]]:
    return [(loss.what, loss.why) for loss in found.losses]


@pytest.mark.req("S4-37", "S4-39", "X-32", "T-05")
@pytest.mark.parametrize(
    ("model", "choice", "allowed", "sent", "losses"),
    [
        (NOVA, None, None, None, []),
        (NOVA, "auto", None, {"auto": {}}, []),
        (NOVA, "required", None, {"any": {}}, []),
        (NOVA, "lookup", None, {"tool": {"name": "lookup"}}, []),
        (NOVA, "required", ("lookup",), {"tool": {"name": "lookup"}}, []),
        (NOVA, "auto", ("lookup",), {"auto": {}}, [("allowed_tools", "not_enforced")]),
        (NOVA, None, ("lookup",), None, [("allowed_tools", "not_enforced")]),
        (NOVA, "required", ("lookup", "escalate"), {"any": {}}, [("allowed_tools", "not_enforced")]),
        (LLAMA, "required", None, None, [("tool_choice", "not_enforced")]),
        (LLAMA, "auto", None, None, []),
        (LLAMA, "required", ("lookup",), None, [("allowed_tools", "not_enforced"), ("tool_choice", "not_enforced")]),
        (BOUND, "required", None, {"auto": {}}, [("tool_choice", "not_enforced")]),
        (BOUND, "lookup", None, {"auto": {}}, [("tool_choice", "not_enforced")]),
        (OPUS, "lookup", None, {"tool": {"name": "lookup"}}, []),
    ],
)
def test_how_tools_may_be_chosen(model: str, choice: str | None, allowed: tuple[str, ...] | None, sent: Any, losses: list[tuple[str, str]]):
    body, found = written(tools=(LOOKUP, ESCALATE), tool_choice=choice, allowed_tools=allowed, target=target(model))
    assert body["toolConfig"].get("toolChoice") == sent
    names = [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"] if "toolSpec" in tool]
    assert names == ["lookup", "escalate"], "definitions stay whole"
    assert lost(found) == losses


@pytest.mark.req("S4-39")
@pytest.mark.parametrize(("choice", "allowed"), [("none", None), ("auto", ()), ("none", ("lookup",))])
def test_no_tool_may_be_chosen(choice: str, allowed: tuple[str, ...] | None):
    """Claude is told in its vendor's own field; others by leaving the tools out, where the history has no call."""
    body, found = written(tools=(LOOKUP,), tool_choice=choice, allowed_tools=allowed, target=target(OPUS))
    assert body["additionalModelRequestFields"] == NONE
    assert set(body["toolConfig"]) == {"tools"}
    assert not found.losses
    body, found = written(tools=(LOOKUP,), tool_choice=choice, allowed_tools=allowed, target=target(NOVA))
    assert "toolConfig" not in body
    assert (found.tools, lost(found)) == (("",), [("tools", "left_out_for_none")])
    body, found = written(*HISTORY, tools=(LOOKUP,), tool_choice=choice, allowed_tools=allowed, target=target(NOVA))
    assert set(body["toolConfig"]) == {"tools"}
    assert (found.tools, lost(found)) == (("/toolConfig/tools/0",), [("tool_choice", "not_enforced")])


def test_the_tools_of_the_history_are_declared_where_nothing_else_is():
    body, found = written(*HISTORY, target=target(OPUS))
    empty = {"type": "object", "properties": {}}
    assert body["toolConfig"]["tools"][0] == {"toolSpec": {"name": "lookup", "inputSchema": {"json": empty}}}
    assert body["additionalModelRequestFields"] == NONE
    assert lost(found) == [("tools", "declared_for_history")]
    body, found = written(*HISTORY, target=target(NOVA))
    assert "additionalModelRequestFields" not in body
    assert lost(found) == [("tools", "declared_for_history")]
    assert "toolConfig" not in written()[0]


@pytest.mark.parametrize(
    ("model", "effort", "fields", "losses"),
    [
        (OPUS, "high", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, []),
        (OPUS, "none", {"thinking": {"type": "disabled"}}, []),
        (BOUND, "none", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, [("reasoning_effort", "nearest_sent")]),
        (HAIKU, "medium", {"thinking": {"type": "enabled", "budget_tokens": 25_600}}, []),
        (HAIKU, "minimal", {"thinking": {"type": "enabled", "budget_tokens": 1_024}}, []),
        (HAIKU, "none", {"thinking": {"type": "disabled"}}, []),
        ("amazon.nova-2-lite-v1:0", "low", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, []),
        ("amazon.nova-2-lite-v1:0", "none", {"reasoningConfig": {"type": "disabled"}}, []),
        ("openai.gpt-oss-120b-1:0", "max", {"reasoning_effort": "high"}, [("reasoning_effort", "nearest_sent")]),
        (NOVA, "low", None, [("reasoning_effort", "not_in_format")]),
    ],
)
def test_thinking_in_the_vendors_own_shape(model: str, effort: str, fields: Any, losses: list[tuple[str, str]]):
    body, found = written(target=target(model, reasoning={"effort": effort}))
    assert body.get("additionalModelRequestFields") == fields
    assert lost(found) == losses
    budget = (fields or {}).get("thinking", {}).get("budget_tokens")
    assert body.get("inferenceConfig") == (None if budget is None else {"maxTokens": 64_000}), "a budget needs its cap beside it"


def test_no_budget_in_a_round_or_an_answer_that_was_begun_without_thinking():
    think = target(HAIKU, reasoning={"effort": "low"})
    for messages in ((*HISTORY, message("user", "more")), (message("user", "q"), message("assistant", "One"))):
        body, found = written(*messages, target=think)
        assert "thinking" not in body.get("additionalModelRequestFields", {})
        assert ("reasoning_effort", "not_in_this_round") in lost(found)
    thought = Reasoning("t", json.dumps(THOUGHT), str(think.producer))
    begun = (HISTORY[0], message("assistant", thought, *HISTORY[1].parts), HISTORY[2])
    for later in (begun, (*HISTORY, message("assistant", "One"), message("user", "And?"))):
        body, found = written(*later, target=think)
        assert body["additionalModelRequestFields"]["thinking"]["type"] == "enabled"
        assert ("reasoning_effort", "not_in_this_round") not in lost(found)


def test_a_budget_has_room_below_the_cap():
    body, _ = written(target=target(HAIKU, reasoning={"effort": "max"}, max_output_tokens=2_000))
    assert body["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 1_800
    body, found = written(target=target(HAIKU, reasoning={"effort": "max"}, max_output_tokens=1_024))
    assert "additionalModelRequestFields" not in body
    assert body["inferenceConfig"] == {"maxTokens": 1_024}
    assert lost(found) == [("reasoning_effort", "no_room_below_the_cap")]


def test_while_a_budget_is_thought_no_call_is_forced():
    chosen = target(HAIKU, reasoning={"effort": "low"})
    body, found = written(tools=(LOOKUP,), tool_choice="required", target=chosen)
    assert body["toolConfig"]["toolChoice"] == {"auto": {}}
    assert lost(found) == [("tool_choice", "not_enforced")]
    body, _ = written(tools=(LOOKUP,), tool_choice="required", target=target(HAIKU))
    assert body["toolConfig"]["toolChoice"] == {"any": {}}


@pytest.mark.parametrize(
    ("model", "params", "config", "losses"),
    [
        (NOVA, {"max_output_tokens": 99, "temperature": 0.2}, {"maxTokens": 99, "temperature": 0.2}, []),
        (NOVA, {"temperature": 1.5}, {"temperature": 1}, [("temperature", "nearest_sent")]),
        (NOVA, {"temperature": 0}, {"temperature": 0}, []),
        (OPUS, {"temperature": 0.2}, None, [("temperature", "not_in_format")]),
        (HAIKU, {"temperature": 0.2}, {"temperature": 0.2}, []),
        (HAIKU, {"temperature": 0.2, "reasoning": {"effort": "low"}}, {"maxTokens": 64_000}, [("temperature", "not_with_thinking")]),
        (HAIKU, {"temperature": 0.2, "reasoning": {"effort": "none"}}, {"temperature": 0.2}, []),
        (
            "amazon.nova-2-lite-v1:0",
            {"temperature": 0.2, "max_output_tokens": 9, "reasoning": {"effort": "high"}},
            None,
            [("max_output_tokens", "not_with_this_effort"), ("temperature", "not_with_thinking")],
        ),
    ],
)
def test_caps_and_temperature(model: str, params: dict[str, Any], config: Any, losses: list[tuple[str, str]]):
    body, found = written(target=target(model, **params))
    assert body.get("inferenceConfig") == config
    assert lost(found) == losses


def test_extra_keys_come_last_are_laid_over_ours_and_cannot_replace_the_conversation():
    extra = {
        "inferenceConfig": {"maxTokens": 7, "stopSequences": ["x"]},
        "additionalModelRequestFields": {"top_k": 5},
        "messages": [],
        "system": [],
        "toolConfig": {},
        "modelId": "x",
        "requestMetadata": {"a": "b"},
    }
    chosen = target(OPUS, max_output_tokens=99, reasoning={"effort": "low"}, extra=extra, script=[], dialect="x", colour="red")
    body, found = written(target=chosen)
    assert body["inferenceConfig"] == {"maxTokens": 7, "stopSequences": ["x"]}
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}, "top_k": 5}
    assert set(body) == {"messages", "inferenceConfig", "additionalModelRequestFields", "requestMetadata"}
    assert lost(found) == [
        ("params.colour", "not_in_format"),
        *[(f"params.extra.{key}", "protected") for key in ("messages", "system", "toolConfig", "modelId")],
    ]


def test_numbers_of_schemas_arguments_and_extra_keys_stay_as_spelled():
    text = '{"big":123456789012345678901234567890,"e":1e2,"f":1.0}'
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": lossless.loads(text)})
    chosen = target(extra={"additionalModelRequestFields": {"x": lossless.loads(text)}})
    call = message("assistant", ToolCall("c1", "lookup", text))
    found = write_request(request(message("user", "a"), call, message("tool", "r", tool_call_id="c1"), tools=(odd,), target=chosen), {})
    assert found.body.decode().count(text) == 3


def test_code_points_that_utf8_cannot_say_are_replaced_and_nothing_else_is():
    text = "nul \x00 sep \u2028 pair \U0001f525 token <|endoftext|> lone \ud83d end"
    call = message("assistant", ToolCall("c1", "lookup", '{"a":"\\ud800"}'))
    body, found = written(message("user", text), call, message("tool", "r", tool_call_id="c1"), system=("s\udc00",), tools=(LOOKUP,))
    assert body["messages"][0]["content"] == [{"text": text.replace("\ud83d", "\ufffd")}]
    assert body["messages"][1]["content"][0]["toolUse"]["input"] == {"a": "\ufffd"}
    assert body["system"] == [{"text": "s\ufffd"}]
    assert {(loss.what, loss.why, loss.source, loss.part) for loss in found.losses} == {
        ("text", "lone_surrogate", None, None),
        ("text", "lone_surrogate", 0, 0),
        ("text", "lone_surrogate", 1, 0),
    }


def test_a_target_is_named_by_its_path_alone():
    body, found = written(target=target(NOVA))
    assert NOVA not in found.body.decode()
    assert WireLoss("x", "y") not in found.losses
    assert set(body) == {"messages"}
