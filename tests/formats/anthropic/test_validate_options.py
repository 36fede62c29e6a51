"""The rules of a Messages body outside of its messages: caps, tools, choice, thinking by model, cache marks, compiled schemas."""

from typing import Any

import pytest

from app.formats.anthropic.rules import rules_for
from app.formats.anthropic.validate import validate
from app.models.wire_rules import with_quirks
from tests.formats.anthropic.bodies import DOCUMENT, HOUR, MARK, THOUGHT, TOOL, USER, call, faults, old, result, says, strict, text, user
from tests.formats.anthropic.requests import BOUND, NEW, OLD

AUTO, ANY, NAMED = {"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "f"}


@pytest.mark.parametrize(
    "keys",
    [
        {"system": "s", "tools": [TOOL], "tool_choice": {**AUTO, "disable_parallel_tool_use": True}, "stream": True, "max_tokens": 0},
        {"system": [text("s", **MARK)], "metadata": {"user_id": "u"}, "service_tier": "auto", "stop_sequences": ["x"], "mcp_servers": []},
        {"tools": [{**TOOL, "type": "custom", "description": "d", **MARK}, {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}]},
        {"tools": [TOOL, {**TOOL, "name": "g", "defer_loading": True}], "tool_choice": NAMED},
        {"tools": []},
        {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "max"}},
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
        {"tools": [strict({"a": {"type": "string", "enum": ["x"]}, "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/c"}}},
                          **{"$defs": {"c": {"type": "string"}}})]},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}}}},
        {"temperature": None},
    ],
)  # fmt: skip
def test_what_is_valid_passes(keys: dict[str, Any]):
    assert faults(USER, **keys) == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"model": ""}, ("/model", "model-missing")),
        ({"max_tokens": None}, ("/max_tokens", "cap-missing")),
        ({"max_tokens": -1}, ("/max_tokens", "cap-missing")),
        ({"max_tokens": True}, ("/max_tokens", "cap-missing")),
        ({"colour": "red"}, ("", "key-unknown")),
        ({"temperature": 1.0}, ("/temperature", "sampling-not-taken")),
        ({"top_k": 1}, ("/top_k", "sampling-not-taken")),
        ({"stop_sequences": [" "]}, ("/stop_sequences", "stops-invalid")),
        ({"stop_sequences": "x"}, ("/stop_sequences", "stops-invalid")),
        ({"system": 7}, ("/system", "content-invalid")),
        ({"system": [text(" ")]}, ("/system/0/text", "text-blank")),
        ({"system": [THOUGHT]}, ("/system/0/type", "block-type-not-taken")),
        ({"tools": {}}, ("/tools", "tools-invalid")),
        ({"tools": ["f"]}, ("/tools/0", "tool-invalid")),
        ({"tools": [{**TOOL, "parameters": {}}]}, ("/tools/0", "key-unknown")),
        ({"tools": [{**TOOL, "name": "a.b"}]}, ("/tools/0/name", "name-invalid")),
        ({"tools": [{**TOOL, "name": "x" * 65}]}, ("/tools/0/name", "name-invalid")),
        ({"tools": [TOOL, TOOL]}, ("/tools/1/name", "name-repeated")),
        ({"tools": [{**TOOL, "description": None}]}, ("/tools/0/description", "text-missing")),
        ({"tools": [{"name": "f"}]}, ("/tools/0/input_schema", "schema-invalid")),
        ({"tools": [{"name": "f", "input_schema": {"type": "string"}}]}, ("/tools/0/input_schema", "schema-invalid")),
        ({"tools": [{"name": "f", "input_schema": {"type": "object", "anyOf": []}}]}, ("/tools/0/input_schema", "schema-invalid")),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a b": {}}}}]},
            ("/tools/0/input_schema/properties", "property-invalid"),
        ),
        ({"tools": [{**TOOL, "defer_loading": True}]}, ("/tools", "tools-all-deferred")),
        ({"tools": [TOOL, {**TOOL, "name": "g", "defer_loading": True, **MARK}]}, ("/tools/1/cache_control", "mark-not-taken")),
        ({"tool_choice": AUTO}, ("/tool_choice", "choice-without-tools")),
        ({"tools": [TOOL], "tool_choice": "auto"}, ("/tool_choice", "choice-invalid")),
        ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, ("/tool_choice", "choice-invalid")),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}}, ("/tool_choice/name", "choice-not-declared")),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": ["f"]}}, ("/tool_choice/name", "choice-not-declared")),
        ({"tools": [TOOL], "tool_choice": {"type": "none", "disable_parallel_tool_use": True}}, ("/tool_choice", "key-unknown")),
        ({"cache_control": {"type": "forever"}}, ("/cache_control", "mark-invalid")),
        ({"cache_control": {"type": "ephemeral", "ttl": "2h"}}, ("/cache_control", "mark-invalid")),
        ({"output_config": {"format": {"type": "text"}}}, ("/output_config/format", "format-invalid")),
    ],
)
def test_everything_else(keys: dict[str, Any], expected: tuple[str, str]):
    assert faults(USER, **keys) == [expected]


def test_sampling_under_the_old_version():
    rules = with_quirks(rules_for(OLD), {"temperature": True})

    def found(**keys: Any) -> list[str]:
        return [violation.pointer for violation in validate({"model": OLD, "max_tokens": 2_000, "messages": [USER], **keys}, rules)]

    assert found(temperature=1, top_p=0.5, top_k=40) == []
    assert found(temperature=1.5, top_p="x") == ["/temperature", "/top_p"]
    enabled = {"type": "enabled", "budget_tokens": 1_024}
    assert found(temperature=0.5, thinking=enabled) == ["/temperature"]
    assert found(temperature=1, thinking=enabled) == []


ENABLED, ADAPTIVE, DISABLED = {"type": "enabled", "budget_tokens": 1_024}, {"type": "adaptive"}, {"type": "disabled"}
BETWEEN = {"type": "between_tools"}
TYPE, EFFORT = ("/thinking/type", "thinking-not-taken"), ("/output_config/effort", "effort-not-taken")


@pytest.mark.parametrize(
    ("model", "thinking", "effort", "expected"),
    [
        (OLD, ADAPTIVE, None, TYPE),
        (OLD, ENABLED, None, None),
        (OLD, DISABLED, None, None),
        (OLD, ENABLED, "xhigh", EFFORT),
        (OLD, ENABLED, "high", None),
        ("claude-opus-4-6", ADAPTIVE, "max", None),
        ("claude-opus-4-6", ENABLED, "xhigh", EFFORT),
        ("claude-opus-4-7", ENABLED, None, TYPE),
        ("claude-opus-4-7", DISABLED, "max", None),
        (NEW, DISABLED, "xhigh", TYPE),
        (NEW, DISABLED, "high", None),
        (NEW, BETWEEN, None, TYPE),
        ("claude-sonnet-5", DISABLED, "xhigh", None),
        (BOUND, DISABLED, None, TYPE),
        (BOUND, ADAPTIVE, "xhigh", None),
        ("claude-sonnet-5-5", BETWEEN, "high", None),
        ("claude-sonnet-5-5", BETWEEN, "max", TYPE),
        ("claude-haiku-5-5", DISABLED, None, None),
        ("claude-haiku-5-5", DISABLED, "max", TYPE),
        ("claude-3-5-haiku-20241022", ENABLED, None, TYPE),
        (NEW, {"type": "on"}, None, TYPE),
        (NEW, "on", None, TYPE),
        (NEW, None, "none", EFFORT),
        (NEW, None, "minimal", EFFORT),
    ],
)
def test_thinking_by_model(model: str, thinking: Any, effort: str | None, expected: tuple[str, str] | None):
    keys = {"thinking": thinking} if thinking is not None else {}
    keys |= {"output_config": {"effort": effort}} if effort is not None else {}
    assert faults(USER, model=model, **keys) == ([] if expected is None else [expected])


@pytest.mark.parametrize(("budget", "code"), [(1_023, "budget-too-small"), ("2000", "budget-too-small"), (2_000, "budget-too-large"), (1_999, None)])
def test_a_budget(budget: Any, code: str | None):
    found = old(USER, thinking={"type": "enabled", "budget_tokens": budget})
    assert found == ([] if code is None else [("/thinking/budget_tokens", code)])


@pytest.mark.parametrize(
    ("model", "choice", "thinking", "taken"),
    [
        (BOUND, ANY, None, False),
        (BOUND, NAMED, None, False),
        (BOUND, AUTO, None, True),
        ("claude-fable-5", ANY, None, True),
        (NEW, NAMED, ADAPTIVE, True),
        (OLD, ANY, ENABLED, False),
        (OLD, ANY, None, True),
        ("claude-sonnet-4-6", ANY, ENABLED, False),
        ("claude-sonnet-4-6", ANY, ADAPTIVE, True),
    ],
)
def test_who_can_be_forced_to_call(model: str, choice: Any, thinking: Any, taken: bool):
    keys = {"thinking": thinking} if thinking is not None else {}
    found = faults(USER, model=model, tools=[TOOL], tool_choice=choice, **keys)
    assert found == ([] if taken else [("/tool_choice", "choice-not-taken")])


@pytest.mark.parametrize(
    ("messages", "at"),
    [
        ([USER, says(call()), user(result())], "/messages/1/content/0"),
        ([USER, says("x", THOUGHT, call()), user(result(), "and")], "/messages/1/content/0"),
        ([USER, says("a")], "/messages/1/content/0"),
        ([USER, {"role": "assistant", "content": "a"}], "/messages/1/content"),
        ([USER, says(THOUGHT, call()), user(result())], None),
        ([USER, says(THOUGHT, call("a")), user(result("a")), says(call("b")), user(result("b"))], None),
        ([USER, says(call("a")), user(result("a")), says(THOUGHT, call("b")), user(result("b"))], None),
        ([USER, says(call()), user(result()), says("done"), USER], None),
        ([USER, says(THOUGHT, "a")], None),
    ],
)
def test_with_a_budget_the_answer_that_is_under_way_begins_with_thinking(messages: list[Any], at: str | None):
    assert old(*messages, thinking=ENABLED) == ([] if at is None else [(at, "thinking-missing")])
    assert [code for _, code in old(*messages) if code == "thinking-missing"] == []


def test_cache_marks():
    four = user(*[text("x", **MARK)] * 4)
    assert faults(four) == []
    assert faults(four, system=[text("s", **MARK)]) == [("/messages/0/content/3/cache_control", "marks-too-many")]
    assert faults(four, **MARK) == [("/cache_control", "marks-too-many")]
    assert faults(user(text("x", **HOUR)), tools=[{**TOOL, **MARK}]) == [("/messages/0/content/0/cache_control", "mark-misplaced")]
    assert faults(user(text("x", **MARK)), tools=[{**TOOL, **HOUR}]) == []
    inner = result(content=[text("x", **MARK)], **MARK)
    assert faults(four, says(call()), user(inner)) == [
        (f"/messages/2/content/0/{place}cache_control", "marks-too-many") for place in ("", "content/0/")
    ]


SCHEMA = "/tools/0/input_schema"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([strict({"a": {"type": "integer", "minimum": 1}})], (f"{SCHEMA}/properties/a/minimum", "schema-not-taken")),
        ([strict({"a/b": {"maxLength": 3}})], (f"{SCHEMA}/properties/a~1b/maxLength", "schema-not-taken")),
        ([strict({"a": {"type": "array", "minItems": 2}})], (f"{SCHEMA}/properties/a/minItems", "schema-not-taken")),
        ([strict({"a": {"anyOf": [{"type": "object"}]}})], (f"{SCHEMA}/properties/a/anyOf/0", "schema-open")),
        ([strict({}, additionalProperties=True)], (SCHEMA, "schema-open")),
        ([strict({}, **{"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}})], (SCHEMA, "schema-recursive")),
        ([strict({"a": {"$ref": "#"}})], (SCHEMA, "schema-recursive")),
        ([strict({f"p{n}": {} for n in range(25)}, [])], ("/tools", "strict-too-many")),
        ([strict({f"p{n}": {"type": ["string", "null"]} for n in range(17)})], ("/tools", "strict-too-many")),
        ([{**strict({}), "name": f"t{n}"} for n in range(21)], ("/tools", "strict-too-many")),
    ],
)
def test_schemas_of_strict_tools(tools: list[Any], expected: tuple[str, str]):
    found = [(pointer, code) for pointer, code in faults(USER, tools=tools) if code != "property-invalid"]
    assert found == [expected]
    loose = [{**tool, "strict": False} for tool in tools]
    assert [code for _, code in faults(USER, tools=loose) if code != "property-invalid"] == []


def test_as_many_as_strict_tools_may_have():
    assert faults(USER, tools=[strict({f"p{n}": {} for n in range(24)}, [])]) == []
    assert faults(USER, tools=[strict({f"p{n}": {"type": ["string", "null"]} for n in range(16)})]) == []
    assert faults(USER, tools=[{**strict({}), "name": f"t{n}"} for n in range(20)]) == []


def test_structured_output():
    form = {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"minLength": 1}}, "additionalProperties": False}}}
    assert faults(USER, output_config=form) == [("/output_config/format/schema/properties/a/minLength", "schema-not-taken")]
    plain = {"format": {"type": "json_schema", "schema": {"type": "string"}}}
    cited = user({**DOCUMENT, "citations": {"enabled": True}}, "x")
    assert faults(cited, output_config=plain) == [("/output_config/format", "format-with-citations")]
    assert faults(cited) == []
    assert faults(user({**DOCUMENT, "citations": {"enabled": False}}, "x"), output_config=plain) == []
