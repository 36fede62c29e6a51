"""The rules of everything of a Gemini body but its contents: each one fires where it should."""

from typing import Any

import pytest

from app.formats.gemini.rules import rules_for
from tests.formats.gemini.conversations import PNG, faults, user


@pytest.mark.req("S0-30")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"messages": []}, ("/messages", "name-unknown")),
        ({"systemInstruction": "be brief"}, ("/systemInstruction", "not-an-object")),
        ({"systemInstruction": {"parts": []}}, ("/systemInstruction/parts", "parts-missing")),
        ({"system_instruction": {"parts": [PNG]}}, ("/system_instruction/parts/0", "part-not-taken")),
        ({"tools": {}}, ("/tools", "not-a-list")),
        ({"tools": [{"functions": []}]}, ("/tools/0/functions", "name-unknown")),
        ({"tools": [{"functionDeclarations": [{"name": "2f"}]}]}, ("/tools/0/functionDeclarations/0/name", "name-invalid")),
        ({"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}, ("/tools/0/functionDeclarations/1/name", "name-repeated")),
        ({"tools": [{"functionDeclarations": [{"name": "f", "strict": True}]}]}, ("/tools/0/functionDeclarations/0/strict", "name-unknown")),
        (
            {"tools": [{"functionDeclarations": [{"name": "f", "description": 7}]}]},
            ("/tools/0/functionDeclarations/0/description", "description-invalid"),
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "f", "parameters": {}, "parametersJsonSchema": {}}]}]},
            ("/tools/0/functionDeclarations/0", "schema-twice"),
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": []}]}]},
            ("/tools/0/functionDeclarations/0/parametersJsonSchema", "schema-invalid"),
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "f", "parameters": {"properties": {"a": {"items": {"$ref": "#"}}}}}]}]},
            ("/tools/0/functionDeclarations/0/parameters/properties/a/items/$ref", "name-unknown"),
        ),
        ({"tools": [{"functionDeclarations": [{"name": f"f{index}"} for index in range(513)]}]}, ("/tools", "tools-too-many")),
        ({"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, ("/toolConfig/functionCallingConfig", "choice-without-tools")),
        ({"generationConfig": {"max_tokens": 1}}, ("/generationConfig/max_tokens", "name-unknown")),
        ({"generationConfig": {"temperature": 2.1}}, ("/generationConfig/temperature", "out-of-range")),
        ({"generationConfig": {"topP": True}}, ("/generationConfig/topP", "out-of-range")),
        ({"generation_config": {"max_output_tokens": "0"}}, ("/generation_config/max_output_tokens", "out-of-range")),
        ({"generationConfig": {"stopSequences": ["x"] * 6}}, ("/generationConfig/stopSequences", "stops-too-many")),
        ({"generationConfig": {"responseSchema": {"type": "OBJECT"}, "responseJsonSchema": {}}}, ("/generationConfig", "schema-twice")),
        ({"generationConfig": {"responseSchema": {"$defs": {}}}}, ("/generationConfig/responseSchema/$defs", "name-unknown")),
        ({"generationConfig": {"thinkingConfig": {"budget": 1}}}, ("/generationConfig/thinkingConfig/budget", "name-unknown")),
        (
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 9, "thinkingLevel": "LOW"}}},
            ("/generationConfig/thinkingConfig", "thinking-twice"),
        ),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": -2}}}, ("/generationConfig/thinkingConfig/thinkingBudget", "out-of-range")),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, ("/generationConfig/thinkingConfig/thinkingBudget", "budget-zero")),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "XHIGH"}}}, ("/generationConfig/thinkingConfig/thinkingLevel", "value-unknown")),
        ({"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT"}]}, ("/safetySettings/0", "setting-invalid")),
        ({"cachedContent": "cachedContents/x", "systemInstruction": {"parts": [{"text": "s"}]}}, ("/systemInstruction", "not-with-cache")),
    ],
)
def test_everything_else(keys: dict[str, Any], expected: tuple[str, str]):
    assert faults(user(), **keys) == [expected]


TOOLS = [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]


@pytest.mark.parametrize(
    ("calling", "expected"),
    [
        ({"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, None),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, None),
        ({"mode": "any", "allowed_function_names": ["f"]}, None),
        ({"mode": "REQUIRED"}, ("mode", "value-unknown")),
        ({"mode": "AUTO", "allowedFunctionNames": ["f"]}, ("allowedFunctionNames", "names-without-mode")),
        ({"allowed_function_names": ["f"]}, ("allowed_function_names", "names-without-mode")),
        ({"mode": "ANY", "allowedFunctionNames": ["h"]}, ("allowedFunctionNames/0", "choice-not-declared")),
        ({"mode": "ANY", "names": []}, ("names", "name-unknown")),
    ],
)
def test_how_tools_may_be_chosen(calling: dict[str, Any], expected: tuple[str, str] | None):
    place = "/toolConfig/functionCallingConfig/"
    assert faults(user(), tools=TOOLS, toolConfig={"functionCallingConfig": calling}) == (
        [] if expected is None else [(place + expected[0], expected[1])]
    )


@pytest.mark.parametrize(
    ("name", "config", "code"),
    [
        ("gemini-4-argon", {"thinkingConfig": {"thinkingBudget": 5}}, "parameter-refused"),
        ("gemini-4-argon", {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}, "value-unknown"),
        ("gemini-4-argon", {"presencePenalty": 0.1}, "parameter-refused"),
        ("gemini-4-argon", {"candidateCount": 2}, "parameter-refused"),
        ("gemini-4-argon", {"temperature": 1, "topK": 3, "candidateCount": "1"}, None),
        ("gemini-4-neon", {"thinkingConfig": {"thinkingLevel": "xhigh"}}, None),
        ("gemini-3-flash-preview", {"presencePenalty": 0.1, "candidateCount": 2, "thinkingConfig": {"thinkingBudget": 5}}, None),
        ("gemini-2.5-pro", {"thinkingConfig": {"thinkingBudget": 0}}, "budget-zero"),
        ("gemini-2.5-pro", {"thinkingConfig": {"thinkingBudget": -1}}, None),
        ("gemini-2.5-flash", {"thinkingConfig": {"thinkingBudget": 0}}, None),
        ("gemini-2.5-flash", {"thinkingConfig": {"thinkingLevel": "LOW"}}, "parameter-refused"),
        ("gemini-2.0-flash", {"thinkingConfig": {"thinkingBudget": 0}}, None),
    ],
)
def test_parameters_that_a_generation_refuses(name: str, config: dict[str, Any], code: str | None):
    found = [code for _, code in faults(user(), rules=rules_for(name), generationConfig=config)]
    assert found == ([] if code is None else [code])
