"""The rules of Responses bodies: each one fires where it should, and what is right beside it passes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.openai_responses.rules import RULES, rules_for
from app.formats.openai_responses.validate import validate
from app.models.wire_rules import with_quirks

USER = {"role": "user", "content": "q"}
LONG = "x" * 10_485_761


def call(call_id: Any = "c1", kind: str = "function_call", **keys: Any) -> dict[str, Any]:
    said = {"input": ""} if kind == "custom_tool_call" else {"arguments": "{}"}
    return {"type": kind, "call_id": call_id, "name": "f", **said, **keys}


def result(call_id: Any = "c1", output: Any = "r", kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": call_id, "output": output}


def thought(id: str | None = "rs_1", encrypted: Any = "E", **keys: Any) -> dict[str, Any]:
    return ({} if id is None else {"id": id}) | {"type": "reasoning", "summary": [], "encrypted_content": encrypted} | keys


def said(*content: Any, **keys: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content) or [{"type": "output_text", "text": "a", "annotations": []}], **keys}


def faults(*items: Any, **keys: Any) -> list[tuple[str, str]]:
    return [(found.pointer, found.code) for found in validate({"model": "gpt-5.4", "input": list(items), **keys})]


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA"}


@pytest.mark.parametrize(
    "body",
    [
        {"input": "q"},
        {"input": [USER, USER, {"role": "assistant", "content": ""}, {"role": "developer", "content": "s"}, {"role": "system", "content": "s"}]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": ""}, IMAGE | {"detail": "low"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}, {"type": "input_file", "file_url": "https://x"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "x"}]}]},
        {"input": [said(), said({"type": "refusal", "refusal": "no"}, id="msg_1", phase="final_answer", status="completed")]},
        {"input": [call(), call("c2"), result("c2"), USER, result(output=[{"type": "input_text", "text": "r"}, IMAGE])]},
        {"input": [call(kind="custom_tool_call"), result(kind="custom_tool_call_output"), call("x" * 64, name="y" * 128), result("x" * 64)]},
        {"input": [{"type": "shell_call", "call_id": "c"}, {"type": "shell_call_output", "call_id": "c", "output": []}]},
        {"input": [thought(), call(), result(), thought("rs_2"), said(id="msg_2"), thought(None), {"type": "web_search_call"}]},
        {"input": [thought(), thought("rs_2"), said()], "store": False},
        {"input": [thought(encrypted=None), said()]},
        {"input": [result()], "previous_response_id": "resp_1"},
        {"input": [{"id": "msg_1"}, {"type": "item_reference", "id": "fc_1"}, result()]},
        {"input": [], "previous_response_id": "resp_1"},
        {"input": [{"type": "local_shell_call", "id": "ls", "call_id": "c"}, {"type": "local_shell_call_output", "id": "ls", "output": ""}]},
        {
            "input": [
                {"type": "tool_search_call", "call_id": None, "arguments": {}},
                {"type": "future_thing", "id": "x"},
                {"type": "compaction_trigger"},
            ]
        },
        {"input": "q", "tools": []},
        {"input": "q", "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}], "tool_choice": {"type": "web_search"}},
        {"input": "q", "tools": [{"type": "custom", "name": "g"}], "tool_choice": {"type": "custom", "name": "g"}},
        {"input": [{"type": "additional_tools", "tools": [{"type": "function", "name": "f"}]}], "tool_choice": {"type": "function", "name": "f"}},
        {
            "input": "q",
            "tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        },
        {"input": "q", "stream": True, "stream_options": {}, "max_output_tokens": 16, "max_tool_calls": 1, "metadata": {"k": "v"}, "include": None},
        {"input": "q", "temperature": 2, "top_p": 0.5},
        {"input": "q", "temperature": 1, "reasoning": {"effort": "none", "summary": "auto", "context": "all_turns"}},
        {"input": "q", "model": "gpt-4.1", "temperature": 1, "include": []},
        {"input": "q", "model": "grok-4", "temperature": 1, "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]},
        {"input": "q", "context_management": [{"type": "compaction", "compact_threshold": 1000}], "unknown_key": 1},
        {"input": "q", "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}},
    ],
)
def test_what_is_valid_passes(body: dict[str, Any]):
    assert validate({"model": "gpt-5.4", **body}) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], [("/input", "input-missing")]),
        (["x"], [("/input/0", "not-an-object")]),
        ([{}], [("/input/0/type", "item-type-missing")]),
        ([{"type": 7}], [("/input/0/type", "item-type-missing")]),
        ([{"role": "robot", "content": "x"}], [("/input/0/role", "role-unknown")]),
        ([{"role": "user"}], [("/input/0/content", "content-missing")]),
        ([{"role": "user", "content": 7}], [("/input/0/content", "content-invalid")]),
        ([{"role": "user", "content": []}], [("/input/0/content", "content-empty")]),
        ([{"role": "user", "content": ["x"]}], [("/input/0/content/0", "not-an-object")]),
        ([{"role": "user", "content": LONG}], [("/input/0/content", "content-too-long")]),
        ([{"role": "user", "content": [{"type": "input_text"}]}], [("/input/0/content/0/text", "text-missing")]),
        ([{"role": "user", "content": [{"type": "input_text", "text": LONG}]}], [("/input/0/content/0/text", "content-too-long")]),
        ([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}], [("/input/0/content/0/type", "part-type-not-taken")]),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], [("/input/0/content/0/type", "part-type-not-taken")]),
        ([said({"type": "input_text", "text": "x"})], [("/input/0/content/0/type", "part-type-not-taken")]),
        ([said({"type": "output_text"})], [("/input/0/content/0/text", "text-missing")]),
        ([said({"type": "refusal"})], [("/input/0/content/0/refusal", "text-missing")]),
        ([said(phase="thinking")], [("/input/0/phase", "value-unknown")]),
        ([{"role": "user", "content": "x", "phase": "commentary"}], [("/input/0/phase", "value-unknown")]),
        ([{"role": "user", "content": [{"type": "input_image"}]}], [("/input/0/content/0", "image-missing")]),
        ([{"role": "user", "content": [IMAGE | {"image_url": "ftp://x"}]}], [("/input/0/content/0/image_url", "url-invalid")]),
        ([{"role": "user", "content": [IMAGE | {"image_url": "data:" + "x" * 20_971_520}]}], [("/input/0/content/0/image_url", "content-too-long")]),
        ([{"role": "user", "content": [IMAGE | {"detail": "huge"}]}], [("/input/0/content/0/detail", "value-unknown")]),
        ([{"role": "user", "content": [{"type": "input_file"}]}], [("/input/0/content/0", "file-missing")]),
        ([call(), result(output=None)], [("/input/1/output", "content-missing")]),
        ([call(), result(output=[])], [("/input/1/output", "content-empty")]),
        ([call(), result(output=[{"type": "output_text", "text": "x"}])], [("/input/1/output/0/type", "part-type-not-taken")]),
        ([call()], [("/input/0", "call-without-result")]),
        ([call("a"), call("b"), result("a")], [("/input/1", "call-without-result")]),
        ([result()], [("/input/0", "result-without-call")]),
        ([result(), call(), result()], [("/input/0", "result-without-call")]),
        ([call(), result(), result()], [("/input/2", "result-without-call")]),
        ([call(), result(kind="custom_tool_call_output")], [("/input/1", "result-without-call"), ("/input/0", "call-without-result")]),
        ([call(kind="custom_tool_call")], [("/input/0", "call-without-result")]),
        ([call(), call(), result()], [("/input/1/call_id", "call-id-repeated")]),
        ([call("x" * 65), result("x" * 65)], [("/input/0/call_id", "call-id-too-long"), ("/input/1/call_id", "call-id-too-long")]),
        ([call(""), result("")], [("/input/0/call_id", "call-id-missing"), ("/input/1/call_id", "call-id-missing")]),
        ([call(None)], [("/input/0/call_id", "call-id-missing")]),
        ([call(name="a b"), result()], [("/input/0/name", "name-invalid")]),
        ([call(name="x" * 129), result()], [("/input/0/name", "name-invalid")]),
        ([call(arguments={}), result()], [("/input/0/arguments", "arguments-not-text")]),
        ([call(kind="custom_tool_call", input=1), result(kind="custom_tool_call_output")], [("/input/0/input", "arguments-not-text")]),
        ([thought()], [("/input/0", "reasoning-without-item")]),
        ([thought(), USER], [("/input/0", "reasoning-without-item")]),
        ([thought(), thought("rs_2"), USER], [("/input/1", "reasoning-without-item")]),
        ([call(), thought(), result()], [("/input/1", "reasoning-without-item")]),
        ([thought(summary=None), said()], [("/input/0/summary", "summary-missing")]),
        ([thought(encrypted=""), said()], [("/input/0/encrypted_content", "encrypted-invalid")]),
        ([said(id="msg_1"), said(id="msg_1")], [("/input/1/id", "item-id-repeated")]),
        ([{"type": "compaction_trigger"}, USER], [("/input/0", "trigger-not-last")]),
    ],
)
def test_items(items: list[Any], expected: list[tuple[str, str]]):
    assert faults(*items) == expected


def test_without_a_store_reasoning_needs_its_encrypted_content():
    assert faults(thought(encrypted=None), said(), store=False) == [("/input/0", "reasoning-not-stored")]
    plain = with_quirks(RULES, {"reasoning_key": "reasoning_content"})
    assert validate({"model": "m", "input": [thought(encrypted=None), said()], "store": False}, plain) == []


FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
ALLOWED = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"model": ""}, ("/model", "model-missing")),
        ({"instructions": 7}, ("/instructions", "content-invalid")),
        ({"input": LONG}, ("/input", "content-too-long")),
        ({"input": None}, ("/input", "input-missing")),
        ({"input": {"role": "user"}, "previous_response_id": "resp_1"}, ("/input", "input-missing")),
        ({"messages": [USER]}, ("/messages", "key-not-taken")),
        ({"max_tokens": 99}, ("/max_tokens", "key-not-taken")),
        ({"stop": ["x"]}, ("/stop", "key-not-taken")),
        ({"tools": {}}, ("/tools", "tools-invalid")),
        ({"tools": [FUNCTION | {"name": f"f{index}"} for index in range(129)]}, ("/tools", "tools-too-many")),
        ({"tools": ["f"]}, ("/tools/0", "tool-invalid")),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, ("/tools/0", "tool-invalid")),
        ({"tools": [FUNCTION | {"name": "a.b"}]}, ("/tools/0/name", "name-invalid")),
        ({"tools": [FUNCTION | {"name": "x" * 129}]}, ("/tools/0/name", "name-invalid")),
        ({"tools": [FUNCTION, FUNCTION]}, ("/tools/1/name", "name-repeated")),
        ({"tools": [FUNCTION | {"description": "x" * 1025}]}, ("/tools/0/description", "description-too-long")),
        ({"tools": [FUNCTION | {"parameters": []}]}, ("/tools/0/parameters", "schema-invalid")),
        ({"tools": [FUNCTION | {"strict": True}]}, ("/tools/0/parameters", "schema-not-strict")),
        ({"tool_choice": "auto"}, ("/tool_choice", "choice-without-tools")),
        ({"tools": [], "tool_choice": "auto"}, ("/tool_choice", "choice-without-tools")),
        ({"tools": [FUNCTION], "tool_choice": "maybe"}, ("/tool_choice", "choice-invalid")),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}}, ("/tool_choice", "choice-invalid")),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "g"}}, ("/tool_choice", "choice-not-declared")),
        ({"tools": [FUNCTION], "tool_choice": {"type": "custom", "name": "f"}}, ("/tool_choice", "choice-not-declared")),
        ({"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools", "allowed_tools": ALLOWED}}, ("/tool_choice", "choice-invalid")),
        ({"tools": [FUNCTION], "tool_choice": ALLOWED | {"mode": "none"}}, ("/tool_choice", "choice-invalid")),
        ({"tools": [FUNCTION], "tool_choice": ALLOWED | {"tools": []}}, ("/tool_choice", "choice-invalid")),
        ({"tools": [FUNCTION | {"name": "g"}], "tool_choice": ALLOWED}, ("/tool_choice/tools/0", "choice-not-declared")),
        (
            {"tools": [FUNCTION], "tool_choice": ALLOWED | {"tools": [{"type": "function", "function": {}}]}},
            ("/tool_choice/tools/0", "choice-invalid"),
        ),
        ({"temperature": 2.1}, ("/temperature", "out-of-range")),
        ({"top_p": "x"}, ("/top_p", "out-of-range")),
        ({"max_output_tokens": 15}, ("/max_output_tokens", "out-of-range")),
        ({"max_output_tokens": True}, ("/max_output_tokens", "out-of-range")),
        ({"max_tool_calls": 0}, ("/max_tool_calls", "out-of-range")),
        ({"context_management": [{"compact_threshold": 999}]}, ("/context_management/0/compact_threshold", "out-of-range")),
        ({"reasoning": {"effort": "minimal"}}, ("/reasoning/effort", "value-unknown")),
        ({"reasoning": {"summary": "long"}}, ("/reasoning/summary", "value-unknown")),
        ({"model": "gpt-4o", "reasoning": {"effort": "low"}}, ("/reasoning/effort", "value-unknown")),
        ({"model": "gpt-4o", "include": ["reasoning.encrypted_content"]}, ("/include", "encrypted-not-taken")),
        ({"model": "gpt-4o", "input": [thought(), said()]}, ("/input/0/encrypted_content", "encrypted-not-taken")),
        ({"model": "o3", "temperature": 1}, ("/temperature", "sampling-not-taken")),
        ({"model": "gpt-5.4", "top_p": 1, "reasoning": {"effort": "low"}}, ("/top_p", "sampling-not-taken")),
        ({"model": "gpt-5.6-sol", "temperature": 1}, ("/temperature", "sampling-not-taken")),
        ({"previous_response_id": "msg_1"}, ("/previous_response_id", "id-invalid")),
        ({"previous_response_id": "resp_1", "conversation": "conv_1"}, ("/conversation", "keys-exclude")),
        ({"stream_options": {}}, ("/stream_options", "options-without-stream")),
        ({"include": "x"}, ("/include", "include-invalid")),
        ({"metadata": {"k" * 65: "v"}}, ("/metadata", "metadata-too-large")),
        ({"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}}, ("/text/format/name", "name-invalid")),
        ({"text": {"format": {"type": "json_schema", "name": "a"}}}, ("/text/format/schema", "schema-invalid")),
    ],
)
def test_everything_else(keys: dict[str, Any], expected: tuple[str, str]):
    found = validate({"model": "gpt-5.4", "input": [USER], **keys})
    assert [(violation.pointer, violation.code) for violation in found] == [expected]


def test_a_target_has_its_own_words_for_ids_and_names():
    body = {"model": "m", "input": [call("c-1", name="a.b"), result("c-1")]}
    rules = with_quirks(RULES, {"call_id_pattern": "[a-z]+", "name_pattern": "[a-z.]+", "call_id_chars_max": 2})
    assert [(found.pointer, found.code) for found in validate(body, rules)] == [
        ("/input/0/call_id", "call-id-invalid"),
        ("/input/1/call_id", "call-id-invalid"),
    ]


def test_the_rules_of_a_model_are_those_of_its_target():
    body = {"model": "gpt-4o", "input": "q", "reasoning": {"effort": "low"}}
    assert validate(body) == validate(body, rules_for("gpt-4o"))
    assert validate(body, rules_for("gpt-5")) == []


def test_every_violation_is_listed_and_none_repeats_content():
    items = [result("secret-id"), {"role": "secret-role"}, call("s" * 70, name="secret name"), said({"type": "secret"})]
    found = validate({"model": "gpt-5.4", "input": items, "temperature": 9, "tool_choice": "secret", "reasoning": {"effort": "secret"}})
    assert {violation.code for violation in found} == {
        "result-without-call",
        "role-unknown",
        "call-id-too-long",
        "name-invalid",
        "part-type-not-taken",
        "call-without-result",
        "out-of-range",
        "choice-without-tools",
        "value-unknown",
        "sampling-not-taken",
    }
    assert not [violation for violation in found if "secret" in violation.detail or "sss" in violation.detail]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["message", "reasoning", "function_call", "allowed_tools"]),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "tools",
                    "id",
                    "call_id",
                    "text",
                    "name",
                    "output",
                    "phase",
                    "summary",
                    "detail",
                    "format",
                    "mode",
                    "image_url",
                ]
            ),
            v,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["input", "tools", "tool_choice", "metadata", "text", "model", "reasoning", "include", "conversation", "instructions", "top_p"]
        ),
        json_values,
    )
)
def test_no_body_breaks_it(body: dict[str, Any]):
    for violation in validate(body):
        assert violation.pointer.startswith("/")
