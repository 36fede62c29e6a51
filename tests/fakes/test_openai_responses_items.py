"""Each rule of an input item and of the order of items: a body that is refused for it, and its near twin that is served."""

from typing import Any

import pytest

from tests.fakes.openai_responses_bodies import IMAGE, SAID, TOOL, USER, Twins, body, call, output, thought
from tests.fakes.openai_responses_items import CALL_ID_CHARS_MAX, FILE_CHARS_MAX, IMAGE_CHARS_MAX, TEXT_CHARS_MAX
from tests.fakes.openai_responses_rules import breaches

LONG = "c" * CALL_ID_CHARS_MAX
SEARCH = {"type": "tool_search_call", "arguments": {}, "call_id": "s", "execution": "client"}
FOUND = {"type": "tool_search_output", "tools": [TOOL], "call_id": "s", "execution": "client"}
CUSTOM = {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "x"}
PATCHED = {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"}
WANTED = {"type": "mcp_approval_request", "id": "mcpr_1", "arguments": "{}", "name": "count", "server_label": "s"}
GRANTED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}


def asked(*parts: Any) -> dict[str, Any]:
    """A body in which a user says these parts."""
    return body({"role": "user", "content": list(parts)})


def file(**more: Any) -> dict[str, Any]:
    return {"type": "input_file", **more}


DATA = "data:application/pdf;base64,"
ITEMS = {
    "output without a call": Twins(body(USER, output("a")), "No tool call found for function call output", body(USER, call("a"), output("a"))),
    "output before its call": Twins(body(output("a"), call("a")), "No tool call found", body(call("a"), output("a"))),
    "output twice": Twins(body(call("a"), output("a"), output("a")), "No tool call found", body(call("a"), call("b"), output("b"), output("a"))),
    "output of another kind": Twins(body(CUSTOM, output("a")), "No tool call found", body(CUSTOM, PATCHED)),
    "call without an output": Twins(body(USER, call("a")), "No tool output found for function call a", body(USER, call("a"), output("a"))),
    "one of two": Twins(body(call("a"), call("b"), output("b")), "No tool output found for function call a", body(call("b"), output("b"))),
    "custom call alone": Twins(body(CUSTOM), "No tool output found for custom tool call a", body(CUSTOM, PATCHED)),
    "client's search alone": Twins(body(SEARCH), "No tool output found for tool search call", body(SEARCH, FOUND)),
    "endpoint's search alone": Twins(body(SEARCH), "No tool output found", body({**SEARCH, "execution": "server"})),
    "call id twice": Twins(
        body(call("a"), output("a"), call("a"), output("a")), "Duplicate 'call_id'", body(call("a"), output("a"), call("b"), output("b"))
    ),
    "item id twice": Twins(body({**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}), "Duplicate item found with id msg_1", body(SAID, SAID)),
    "call id too long": Twins(body(call(LONG + "c"), output(LONG + "c")), "maximum length 64", body(call(LONG), output(LONG))),
    "call id empty": Twins(body(call(""), output("")), "call_id': empty string", body(call("a"), output("a"))),
    "another endpoint's id": Twins(body(call("a", id="call_1"), output("a")), "begins with 'fc'", body(call("a", id="fc_1"), output("a"))),
    "invented id": Twins(body({**SAID, "id": "m1"}), "begins with 'msg'", body({**SAID, "id": "msg_1"})),
    "reasoning's id": Twins(body(thought(id="th_1"), SAID), "begins with 'rs'", body(thought(), SAID)),
    "reasoning at the end": Twins(body(USER, thought()), "without its required following item", body(USER, thought(), SAID)),
    "reasoning before a user": Twins(body(thought(), USER), "without its required following item", body(thought(), SAID, USER)),
    "reasoning before an output": Twins(
        body(call("a"), thought(), output("a")), "without its required following item", body(thought(), call("a"), output("a"))
    ),
    "reasoning without its content": Twins(
        body(thought(encrypted_content=None), SAID), "not persisted", body(thought(encrypted_content=None), SAID, store=True)
    ),
    "reasoning without anything": Twins(body({"type": "reasoning", "summary": []}, SAID), "encrypted_content", body(thought(id=None), SAID)),
    "reasoning without a summary": Twins(body({**thought(), "summary": None}, SAID), "summary", body(thought(), SAID)),
    "summary of text": Twins(body(thought(summary=["Hm."]), SAID), "summary", body(thought(summary=[{"type": "summary_text", "text": "Hm."}]), SAID)),
    "reasoning for a plain model": Twins(
        body(thought(), SAID, model="gpt-4o"), "Encrypted content is not supported", body(thought(), SAID, model="gpt-5")
    ),
    "unknown item": Twins(body({"type": "tool_result", "content": "x"}), "Invalid value: 'tool_result'", body(USER)),
    "unknown key": Twins(body(call("a", index=0), output("a")), "Unknown parameter: 'input[0].index'", body(call("a", status=None), output("a"))),
    "unknown role": Twins(body({"role": "tool", "content": "x"}), "Invalid value: 'tool'", body({"role": "developer", "content": "x"})),
    "unknown part": Twins(
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        "Invalid value: 'text'",
        body({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
    ),
    "input as output": Twins(
        body({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}), "'output_text', 'refusal'", body({**SAID, "id": None})
    ),
    "picture by the model": Twins(body({"role": "assistant", "content": [IMAGE]}), "input_image", body({"role": "user", "content": [IMAGE]})),
    "picture in an output": Twins(
        body(call("a"), output("a", [{"type": "image_url", "image_url": {"url": "u"}}])), "image_url", body(call("a"), output("a", [IMAGE]))
    ),
    "picture of no kind": Twins(
        body({"role": "user", "content": [{**IMAGE, "image_url": "data:image/tiff;base64,AA=="}]}),
        "Expected a valid URL",
        body({"role": "user", "content": [{**IMAGE, "image_url": "https://example.com/a"}]}),
    ),
    "picture twice": Twins(
        body({"role": "user", "content": [{**IMAGE, "file_id": "f"}]}),
        "one of",
        body({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}),
    ),
    "file without its type": Twins(
        body({"role": "user", "content": [{"type": "input_file", "file_data": "AA=="}]}),
        "'data:' prefix",
        body({"role": "user", "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}]}),
    ),
    "no content": Twins(body({"role": "user", "content": None}), "Invalid type", body({"role": "user", "content": ""})),
    "no output": Twins(body(call("a"), output("a", None)), "Invalid type", body(call("a"), output("a", ""))),
    "arguments as an object": Twins(body(call("a", arguments={}), output("a")), "expected a string", body(call("a", arguments="{"), output("a"))),
    "name out of bounds": Twins(body(call("a", name="co unt"), output("a")), "does not match pattern", body(call("a", name="co-unt"), output("a"))),
    "phase of a user": Twins(body({**USER, "phase": "commentary"}), "phase", body({**SAID, "phase": "commentary"})),
    "text too long": Twins(
        body({"role": "user", "content": "x" * 10_485_761}), "string too long", body({"role": "user", "content": "x" * 10_485_760})
    ),
    "trigger amidst": Twins(body({"type": "compaction_trigger"}, USER), "last item", body(USER, {"type": "compaction_trigger"})),
    "update for an older model": Twins(
        body(USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}, model="gpt-5.6-sol"),
        "not supported with this model",
        body(USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}, model="gpt-6-sol"),
    ),
    "nothing": Twins(body(), "must be provided", body(USER)),
    "approval without a request": Twins(body(GRANTED), "No approval request found", body(WANTED, GRANTED)),
    "role left out": Twins(body({"type": "message", "content": "x"}), "'input[0].role'", body(USER)),
    "id that is no text": Twins(body({**SAID, "id": 4}), "Invalid 'input[0].id'", body({**SAID, "id": None})),
    "unknown status": Twins(body({**SAID, "status": "done"}), "input[0].status", body({**SAID, "status": "completed"})),
    "empty token": Twins(body(thought(encrypted_content=""), SAID), "encrypted_content", body(thought(), SAID)),
    "unknown key of a part": Twins(
        asked({"type": "input_text", "text": "x", "cache_control": {}}),
        "Unknown parameter: 'input[0].content[0].cache_control'",
        asked({"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}),
    ),
    "text that is none": Twins(asked({"type": "input_text", "text": 4}), "content[0].text", asked({"type": "input_text", "text": ""})),
    "long part": Twins(
        asked({"type": "input_text", "text": "x" * (TEXT_CHARS_MAX + 1)}),
        "string too long",
        asked({"type": "input_text", "text": "x" * TEXT_CHARS_MAX}),
    ),
    "detail": Twins(asked({**IMAGE, "detail": "fine"}), "content[0].detail", asked({**IMAGE, "detail": "original"})),
    "long picture": Twins(
        asked({**IMAGE, "image_url": "https://" + "x" * (IMAGE_CHARS_MAX - 7)}), "string too long", asked({**IMAGE, "image_url": "https://x"})
    ),
    "long file": Twins(
        asked(file(file_data=DATA + "x" * FILE_CHARS_MAX, filename="a")), "string too long", asked(file(file_data=DATA, filename="a"))
    ),
    "file in two ways": Twins(asked(file(file_id="f", file_url="https://x")), "one of 'file_data'", asked(file(file_url="https://x"))),
    "later tool": Twins(
        body(USER, {"type": "additional_tools", "role": "developer", "tools": [{"type": "function"}]}),
        "'input[1].tools[0].name'",
        body(USER, {"type": "additional_tools", "role": "developer", "tools": [TOOL]}),
    ),
}


@pytest.mark.parametrize("twins", ITEMS.values(), ids=ITEMS.keys())
def test_a_body_is_refused_for_its_rule_and_its_twin_is_served(twins: Twins):
    twins.hold()


def test_an_output_may_answer_a_call_that_the_endpoint_keeps():
    assert breaches(body(output("a"), previous_response_id="resp_1")) == []
    assert breaches(body(output("a"), output("a"), call("a"), previous_response_id="resp_1"))
