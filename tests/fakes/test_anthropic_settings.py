"""What the Messages fake takes of parameters, marks of the cache, media and settings of thinking."""

import pytest

from tests.fakes.anthropic_bodies import (
    BETAS,
    HOUR,
    HUGE_PNG,
    IMAGE,
    MARK,
    OPUS,
    PNG,
    SONNET_45,
    SONNET_46,
    TOOL,
    USER,
    Rule,
    body,
    call,
    parts,
    result,
    says,
    text,
    thinking,
    tool,
    user,
)
from tests.fakes.anthropic_rules import OLD

REST = {
    "unknown key": Rule("colour: Extra inputs", body(colour="red"), body(metadata={"user_id": "u"})),
    "no model": Rule("model: Field required", {"max_tokens": 1, "messages": [USER]}, body()),
    "no cap": Rule("max_tokens: Field required", {"model": OPUS, "messages": [USER]}, body(max_tokens=0)),
    "cap too high": Rule("maximum allowed number of output tokens", body(max_tokens=64_001, model=SONNET_45), body(max_tokens=64_001)),
    "cap that is no number": Rule("valid integer", body(max_tokens="9"), body(max_tokens=9)),
    "no object": Rule("valid dictionary", [], body()),
    "count with a cap": Rule("max_tokens: Extra", body(), {"model": OPUS, "messages": [USER]}, {"counting": True}),
    "sampling in the new version": Rule("temperature: Extra inputs", body(temperature=1.0, model=SONNET_46), body(model=SONNET_46)),
    "sampling on a new model": Rule("deprecated for this model", body(top_k=1), body(top_k=1, model=SONNET_46), {"version": OLD}),
    "temperature out of bounds": Rule(
        "less than or equal to 1", body(temperature=1.5, model=SONNET_46), body(temperature=0.5, model=SONNET_46), {"version": OLD}
    ),
    "temperature beside thinking": Rule(
        "may only be set to 1",
        body(temperature=0.5, model=SONNET_46, thinking={"type": "adaptive"}),
        body(temperature=1, model=SONNET_46, thinking={"type": "adaptive"}),
        {"version": OLD},
    ),
    "beta key": Rule("mcp_servers: Extra inputs", body(mcp_servers=[]), body()),
    "blank stop": Rule("non-whitespace", body(stop_sequences=["\n"]), body(stop_sequences=["END"])),
    "five marks": Rule(
        "maximum of 4 blocks with cache_control",
        body(user(*[text("x", **MARK)] * 4), system=[text("x", **MARK)]),
        body(user(*[text("x", **MARK)] * 3), system=[text("x", **MARK)]),
    ),
    "automatic mark too many": Rule("Found 5", body(user(*[text("x", **MARK)] * 4), **MARK), body(user(*[text("x", **MARK)] * 3), **MARK)),
    "hour after minutes": Rule(
        "must not come after", body(user(text("x", **HOUR)), tools=[{**TOOL, **MARK}]), body(user(text("x", **MARK)), tools=[{**TOOL, **HOUR}])
    ),
    "mark on thinking": Rule(
        "cache_control: Extra inputs", body(USER, says({**thinking(), **MARK}, "x"), USER), body(USER, says(thinking(), text("x", **MARK)), USER)
    ),
    "mark on a deferred tool": Rule(
        "defer_loading cannot",
        body(tools=[TOOL, tool("b", defer_loading=True, **MARK)]),
        body(tools=[{**TOOL, **MARK}, tool("b", defer_loading=True)]),
    ),
    "mark of another kind": Rule("Input should be 'ephemeral'", body(cache_control={"type": "forever"}), body(cache_control={"type": "ephemeral"})),
    "media type": Rule(
        "media_type: Input should be",
        body(user({"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": PNG}})),
        body(user({"type": "image", "source": {"type": "url", "url": "https://example.com/a.bmp"}})),
    ),
    "another media type": Rule(
        "appears to be a image/png",
        body(user({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PNG}})),
        body(user(IMAGE)),
    ),
    "no base64": Rule(
        "invalid base64", body(user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%"}})), body(user(IMAGE))
    ),
    "picture too large": Rule(
        "8000 pixels", body(user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": HUGE_PNG}})), body(user(IMAGE))
    ),
    "too many pictures": Rule("Too many images", body(user(*[IMAGE] * 101), model=SONNET_45), body(user(*[IMAGE] * 101))),
}
SETTINGS = {
    "adaptive on 4.5": Rule(
        "adaptive thinking is not supported",
        body(thinking={"type": "adaptive"}, model=SONNET_45),
        body(thinking={"type": "adaptive"}, model=SONNET_46),
    ),
    "budget on 4.7": Rule(
        '"thinking.type.enabled" is not supported',
        body(thinking={"type": "enabled", "budget_tokens": 1024}, model="claude-opus-4-7"),
        body(thinking={"type": "enabled", "budget_tokens": 1024}, model=SONNET_46),
    ),
    "budget too small": Rule(
        "greater than or equal to 1024",
        body(thinking={"type": "enabled", "budget_tokens": 1023}, model=SONNET_45),
        body(thinking={"type": "enabled", "budget_tokens": 1024}, model=SONNET_45),
    ),
    "budget beyond the cap": Rule(
        "must be greater than `thinking.budget_tokens`",
        body(thinking={"type": "enabled", "budget_tokens": 2000}, model=SONNET_45),
        body(thinking={"type": "enabled", "budget_tokens": 1999}, model=SONNET_45),
    ),
    "off where it is always on": Rule(
        '"thinking.type.disabled"',
        body(thinking={"type": "disabled"}, model="claude-opus-5-5"),
        body(thinking={"type": "disabled"}, model="claude-sonnet-5"),
    ),
    "off at too much effort": Rule(
        '"thinking.type.disabled"',
        body(thinking={"type": "disabled"}, output_config={"effort": "xhigh"}),
        body(thinking={"type": "disabled"}, output_config={"effort": "high"}),
    ),
    "between tools elsewhere": Rule(
        '"thinking.type.between_tools"', body(thinking={"type": "between_tools"}), body(thinking={"type": "between_tools"}, model="claude-sonnet-5-5")
    ),
    "effort that 4.5 has not": Rule(
        "'max' is not supported", body(output_config={"effort": "max"}, model=SONNET_45), body(output_config={"effort": "max"}, model=SONNET_46)
    ),
    "forced where it always thinks": Rule(
        "forces tool use",
        body(tools=[TOOL], tool_choice={"type": "any"}, model="claude-fable-5-1"),
        body(tools=[TOOL], tool_choice={"type": "any"}, model="claude-fable-5"),
    ),
    "forced beside a budget": Rule(
        "forces tool use",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "count"}, thinking={"type": "enabled", "budget_tokens": 1024}, model=SONNET_46),
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "count"}, thinking={"type": "adaptive"}, model=SONNET_46),
    ),
    "empty signature": Rule("Invalid `signature`", body(USER, says(thinking(""), "x"), USER), body(USER, says(thinking(), "x"), USER)),
    "budget, and a call without its thinking": Rule(
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        body(USER, says(call("a")), user(result("a")), thinking={"type": "enabled", "budget_tokens": 1024}, model=SONNET_45),
        body(USER, says(call("a")), user(result("a")), says("x"), USER, thinking={"type": "enabled", "budget_tokens": 1024}, model=SONNET_45),
    ),
    "thinking in a prefill": Rule(
        "When thinking is disabled", body(USER, says(thinking(), "x"), model=SONNET_45), body(USER, says(thinking(), "x"), USER, model=SONNET_45)
    ),
    "binding without its beta": Rule(
        "block_binding: Extra inputs", body(thinking={"type": "adaptive", "block_binding": {}}), body(thinking={"type": "adaptive"})
    ),
    "binding of an unknown kind": Rule(
        "Input should be 'error'",
        body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "ignore"}}),
        body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
        {"betas": BETAS},
    ),
}
RULES = REST | SETTINGS


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_each_rule_parts_a_body_from_its_twin(rule: Rule):
    assert parts(rule)
