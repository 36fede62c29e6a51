"""What single servers refuse, found in a body by the target's rules, and nowhere else."""

from typing import Any

import pytest

from app.formats.openai_chat.rules import RULES
from app.formats.openai_chat.validate import validate
from app.models.presets import PRESETS
from app.models.wire_rules import with_quirks

USER: dict[str, Any] = {"role": "user", "content": "q"}
SAID: dict[str, Any] = {"role": "assistant", "content": "a"}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]
NAMED: dict[str, Any] = {"type": "function", "function": {"name": "lookup"}}
ALLOWED: dict[str, Any] = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}


def calling(id: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": {"name": "lookup", "arguments": "{}"}}]}


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "r"}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


REMOTE = {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}
SCAN = {"type": "file", "file": {"file_data": "data:application/pdf;base64,cGRm"}}
THOUGHT = {"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]}


@pytest.mark.req("S0-30")
@pytest.mark.parametrize(
    ("preset", "body", "code", "pointer"),
    [
        ("mistral", {"messages": [USER, calling("c1"), result("c1")]}, "call-id-invalid", "/messages/1/tool_calls/0/id"),
        ("mistral", {"messages": [USER, calling("abcdefgh9"), result("abcdefgh9"), USER]}, "user-after-tool", "/messages/3/role"),
        ("mistral", {"messages": [USER, SAID]}, "last-not-user", "/messages/1/role"),
        ("mistral", {"messages": [USER, {"role": "assistant", "content": ""}, USER]}, "content-blank", "/messages/1/content"),
        ("mistral", {"messages": [{"role": "user", "content": " "}]}, "content-blank", "/messages/0/content"),
        ("mistral", {"messages": [USER], "max_completion_tokens": 5}, "key-not-taken", "/max_completion_tokens"),
        ("mistral", {"messages": [USER], "tools": TOOLS, "tool_choice": ALLOWED}, "choice-not-taken", "/tool_choice"),
        ("vllm", {"messages": [USER, USER]}, "users-in-a-row", "/messages/1/role"),
        ("deepseek", {"messages": [USER, SAID, USER]}, "reasoning-missing", "/messages/1/reasoning_content"),
        (
            "deepseek",
            {"messages": [USER, {**SAID, "content": [{"type": "text", "text": "a"}], "reasoning_content": ""}, USER]},
            "content-not-text",
            "/messages/1/content",
        ),
        ("deepseek", {"messages": [USER], "tools": TOOLS, "tool_choice": "required"}, "choice-not-taken", "/tool_choice"),
        ("deepseek", {"messages": [USER], "tools": TOOLS, "tool_choice": NAMED}, "choice-not-taken", "/tool_choice"),
        ("ollama", {"messages": [USER], "tools": TOOLS, "tool_choice": "auto"}, "choice-not-taken", "/tool_choice"),
        ("ollama", {"messages": [user(REMOTE)]}, "url-not-taken", "/messages/0/content/0/image_url/url"),
        ("ollama", {"messages": [user(SCAN)]}, "part-type-not-taken", "/messages/0/content/0/type"),
        ("llama-cpp", {"messages": [USER], "tools": TOOLS, "tool_choice": NAMED}, "choice-not-taken", "/tool_choice"),
    ],
)
def test_each_rule_of_a_server_finds_its_breach_and_the_format_itself_allows_it(preset: str, body: dict[str, Any], code: str, pointer: str):
    rules = with_quirks(RULES, PRESETS[preset].quirks)
    whole = {"model": "m", **body}
    found = validate(whole, rules)
    assert {one.code for one in found} == {code}
    assert found[0].pointer == pointer
    assert validate(whole) == []


@pytest.mark.parametrize(
    ("preset", "body"),
    [
        ("mistral", {"messages": [USER, calling("abcdefgh9"), result("abcdefgh9")], "tools": TOOLS, "tool_choice": "any"}),
        ("mistral", {"messages": [USER, THOUGHT, user({"type": "document_url", "document_url": "https://example.org/x.pdf"})]}),
        ("deepseek", {"messages": [USER, SAID, USER], "thinking": {"type": "disabled"}, "tools": TOOLS, "tool_choice": "required"}),
        ("deepseek", {"messages": [USER, {**SAID, "reasoning_content": ""}, USER], "tools": TOOLS, "tool_choice": "auto"}),
    ],
)
def test_what_a_server_takes_passes_by_its_rules(preset: str, body: dict[str, Any]):
    assert validate({"model": "m", **body}, with_quirks(RULES, PRESETS[preset].quirks)) == []


@pytest.mark.parametrize(
    ("quirks", "messages", "code"),
    [
        ({"user_first": True}, [SAID, USER], "first-not-user"),
        ({"images": False}, [user(REMOTE)], "part-type-not-taken"),
        ({"reasoning_key": "content"}, [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]}], "thinking-invalid"),
        ({"file_part": "document_url"}, [user({"type": "document_url", "document_url": 3})], "file-invalid"),
        ({}, [USER, THOUGHT], "part-type-not-taken"),
        ({}, [user({"type": "document_url", "document_url": "https://example.org"})], "part-type-not-taken"),
    ],
)
def test_rules_that_no_preset_sets_alone(quirks: dict[str, Any], messages: list[Any], code: str):
    assert [found.code for found in validate({"model": "m", "messages": messages}, with_quirks(RULES, quirks))] == [code]


def test_any_is_a_word_of_one_server_alone():
    body = {"model": "m", "messages": [USER], "tools": TOOLS, "tool_choice": "any"}
    assert [found.code for found in validate(body)] == ["choice-invalid"]


def test_a_temperature_for_a_model_that_refuses_one_is_found():
    body = {"model": "o3", "messages": [USER], "temperature": 1}
    assert [found.pointer for found in validate(body, with_quirks(RULES, {"temperature": False}))] == ["/temperature"]
