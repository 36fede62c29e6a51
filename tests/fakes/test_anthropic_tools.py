"""What the Messages fake takes of tools, of the choice among them and of strict schemas."""

import pytest

from tests.fakes.anthropic_bodies import DOCUMENT, MARK, TOOL, USER, Rule, body, call, parts, result, says, strict, tool, user

RULES = {
    "name out of bounds": Rule("tools.0.custom.name: String should match", body(tools=[tool("co unt")]), body(tools=[tool("co-unt")])),
    "name too long": Rule("tools.0.custom.name", body(tools=[tool("n" * 65)]), body(tools=[tool("n" * 64)])),
    "names twice": Rule("must be unique", body(tools=[TOOL, TOOL]), body(tools=[TOOL, tool("other", description="")])),
    "tool with an unknown key": Rule("Extra inputs", body(tools=[{**TOOL, "parameters": {}}]), body(tools=[{**TOOL, **MARK}])),
    "schema of no object": Rule("Input should be 'object'", body(tools=[tool(schema={"type": "string"})]), body(tools=[])),
    "schema that is none": Rule(
        "JSON schema is invalid", body(tools=[tool(schema={"required": "a"})]), body(tools=[tool(schema={"required": ["a"]})])
    ),
    "schema of alternatives": Rule(
        "at the top level", body(tools=[tool(schema={"anyOf": [{}]})]), body(tools=[tool(schema={"properties": {"a": {"anyOf": [{}]}}})])
    ),
    "property with a blank": Rule(
        "Property keys", body(tools=[tool(schema={"properties": {"a b": {}}})]), body(tools=[tool(schema={"properties": {"a.b": {}}})])
    ),
    "all tools deferred": Rule("At least one tool", body(tools=[tool(defer_loading=True)]), body(tools=[tool(defer_loading=True), tool("other")])),
    "reference to no tool": Rule(
        "not found in available tools",
        body(USER, says(call("a")), user(result("a", [{"type": "tool_reference", "tool_name": "other"}])), tools=[TOOL]),
        body(USER, says(call("a")), user(result("a", [{"type": "tool_reference", "tool_name": "count"}])), tools=[TOOL]),
    ),
    "choice without tools": Rule(
        "only be specified while providing", body(tool_choice={"type": "auto"}), body(tools=[TOOL], tool_choice={"type": "auto"})
    ),
    "choice of no tool": Rule(
        "not found in provided tools",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "other"}),
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "count", "disable_parallel_tool_use": True}),
    ),
    "choice of a subset": Rule(
        "Input tag 'allowed_tools'", body(tools=[TOOL], tool_choice={"type": "allowed_tools"}), body(tools=[TOOL], tool_choice={"type": "any"})
    ),
    "none, but not in parallel": Rule(
        "Extra inputs",
        body(tools=[TOOL], tool_choice={"type": "none", "disable_parallel_tool_use": True}),
        body(tools=[TOOL], tool_choice={"type": "none"}),
    ),
    "strict with bounds": Rule(
        "'minimum' is not supported", strict({"a": {"type": "integer", "minimum": 1}}), strict({"a": {"type": "integer", "enum": [1]}})
    ),
    "strict and open": Rule("'additionalProperties' must be", strict({}, additionalProperties=True), strict({})),
    "strict with two items at least": Rule(
        "'minItems' values", strict({"a": {"type": "array", "minItems": 2}}), strict({"a": {"type": "array", "minItems": 1}})
    ),
    "strict with a strange format": Rule(
        "format 'iban'", strict({"a": {"type": "string", "format": "iban"}}), strict({"a": {"type": "string", "format": "uuid"}})
    ),
    "strict and recursive": Rule(
        "Recursive",
        strict({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
        strict({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": {}}}),
    ),
    "strict with a lookahead": Rule(
        "Lookaround", strict({"a": {"type": "string", "pattern": "(?=a)"}}), strict({"a": {"type": "string", "pattern": "^a$"}})
    ),
    "too many strict": Rule(
        "Too many strict tools",
        body(tools=[tool(f"t{n}", {"additionalProperties": False}, strict=True) for n in range(21)]),
        body(tools=[tool(f"t{n}", {"additionalProperties": False}, strict=True) for n in range(20)]),
    ),
    "too many optional": Rule(
        "Too many optional",
        strict({f"p{n}": {"type": "string"} for n in range(25)}, required=[]),
        strict({f"p{n}": {"type": "string"} for n in range(25)}),
    ),
    "too many unions": Rule(
        "union types",
        strict({f"p{n}": {"type": ["string", "null"]} for n in range(17)}),
        strict({f"p{n}": {"type": ["string", "null"]} for n in range(16)}),
    ),
    "output with bounds": Rule(
        "'maxLength' is not supported",
        body(output_config={"format": {"type": "json_schema", "schema": {"type": "string", "maxLength": 3}}}),
        body(output_config={"format": {"type": "json_schema", "schema": {"type": "string"}}}),
    ),
    "output beside citations": Rule(
        "citations cannot be enabled",
        body(user({**DOCUMENT, "citations": {"enabled": True}}), output_config={"format": {"type": "json_schema", "schema": {"type": "string"}}}),
        body(user({**DOCUMENT, "citations": {"enabled": True}})),
    ),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_each_rule_parts_a_body_from_its_twin(rule: Rule):
    assert parts(rule)
