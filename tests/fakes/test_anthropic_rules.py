"""The conversation rules of the Messages fake: order, pairing, texts."""

import pytest

from tests.fakes.anthropic_bodies import DOCUMENT, IMAGE, MARK, SONNET_45, SONNET_46, USER, Rule, body, call, parts, result, says, text, user
from tests.fakes.anthropic_rules import NEW, OLD, breaches

MESSAGES = {
    "no messages": Rule("messages: List should have at least 1", {**body(), "messages": []}, body()),
    "unknown role": Rule("messages.0.role: Input should be", body({"role": "tool", "content": "x"}), body(USER)),
    "unknown key of a message": Rule("messages.0.seq: Extra inputs", body({**USER, "seq": 1}), body(USER)),
    "unknown key of a block": Rule("text.seq: Extra inputs", body(user(text("x", seq=1))), body(user(text("x", **MARK)))),
    "unknown block": Rule("Input tag 'audio'", body(user({"type": "audio"})), body(user(IMAGE))),
    "answer first": Rule('first message must use the "user" role', body(says("x"), USER), body(USER, says("x"), USER)),
    "empty message": Rule("non-empty content", body(user(), says("x"), USER), body(user("x"), says("x"), USER)),
    "empty string": Rule("non-empty content", body(USER, {"role": "assistant", "content": ""}, USER), body(USER, says("x"), USER)),
    "empty text": Rule("text content blocks must be non-empty", body(user("x", "")), body(user("x", "y"))),
    "blank text": Rule("must contain non-whitespace text", body(user("x", " \n")), body(user("x", " y\n"))),
    "blank string": Rule("must contain non-whitespace text", body({"role": "user", "content": " "}), body(USER)),
    "blank text in a result": Rule(
        "must be non-empty",
        body(USER, says(call("a")), user(result("a", [text("")]))),
        body(USER, says(call("a")), user(result("a", ""))),
    ),
    "blank system": Rule("system: text content", body(system=[text(" ")]), body(system=[text("Be brief.")])),
    "prefill": Rule("does not support assistant message prefill", body(USER, says("x")), body(USER, says("x"), model=SONNET_45)),
    "prefill that ends blank": Rule(
        "cannot end with trailing whitespace", body(USER, says("x "), model=SONNET_45), body(USER, says("x y"), model=SONNET_45)
    ),
    "paused answer": Rule(
        "assistant message prefill",
        body(USER, says("x")),
        body(USER, says("x", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
    ),
    "image of the assistant": Rule("`image` blocks can only be in `user`", body(USER, says(IMAGE), USER), body(user(IMAGE), says("x"), USER)),
    "result of the assistant": Rule("`tool_result` blocks can only be in `user`", body(USER, says(result("a"))), body(USER)),
    "call of the user": Rule("`tool_use` blocks can only be in `assistant`", body(user(call("a"))), body(USER)),
    "document of the assistant": Rule("`document` blocks", body(USER, says(DOCUMENT), USER), body(user(DOCUMENT), says("x"), USER)),
    "citations of the user": Rule("Extra inputs", body(user(text("x", citations=[{}]))), body(user(text("x", citations=[])))),
    "system first": Rule("must not be the first", body({"role": "system", "content": "x"}, says("x"), USER), body(USER)),
    "system before a user": Rule(
        "must precede an 'assistant' message",
        body(USER, {"role": "system", "content": "x"}, USER),
        body(USER, {"role": "system", "content": "x"}, says("x"), USER),
    ),
    "system on an old model": Rule(
        "role 'system' is not supported",
        body(USER, {"role": "system", "content": "x"}, model=SONNET_46),
        body(USER, {"role": "system", "content": "x"}),
    ),
}
PAIRING = {
    "call without a result": Rule(
        "`tool_use` ids were found without `tool_result` blocks immediately after: a",
        body(USER, says(call("a")), USER),
        body(USER, says(call("a")), user(result("a"), "x")),
    ),
    "one of two": Rule(
        "without `tool_result` blocks immediately after: b",
        body(USER, says(call("a"), call("b")), user(result("a"))),
        body(USER, says(call("a"), call("b")), user(result("b")), user(result("a"))),
    ),
    "call at the end": Rule("immediately after", body(USER, says(call("a")), model=SONNET_45), body(USER, says("x"), model=SONNET_45)),
    "calls of two messages in a row": Rule(
        "immediately after: a",
        body(USER, says(call("a")), says(call("b")), user(result("b"))),
        body(USER, says(call("a")), says(call("b")), user(result("a"), result("b"))),
    ),
    "text before the result": Rule(
        "immediately after", body(USER, says(call("a")), user("x", result("a"))), body(USER, says(call("a")), user(result("a"), "x"))
    ),
    "text in a message before the result": Rule(
        "immediately after", body(USER, says(call("a")), USER, user(result("a"))), body(USER, says(call("a")), user(result("a")), USER)
    ),
    "system between call and result": Rule(
        "immediately after",
        body(USER, says(call("a")), {"role": "system", "content": "x"}, user(result("a"))),
        body(USER, says(call("a")), user(result("a")), {"role": "system", "content": "x"}),
    ),
    "result without a call": Rule("unexpected `tool_use_id`", body(user(result("a"))), body(USER, says(call("a")), user(result("a")))),
    "result too late": Rule(
        "unexpected `tool_use_id`",
        body(USER, says(call("a")), user(result("a")), says("x"), user(result("a"))),
        body(USER, says(call("a")), user(result("a")), says("x"), USER),
    ),
    "result twice": Rule(
        "must have a single result", body(USER, says(call("a")), user(result("a"), result("a"))), body(USER, says(call("a")), user(result("a")))
    ),
    "id twice": Rule(
        "`tool_use` ids must be unique",
        body(USER, says(call("a")), user(result("a")), says(call("a")), user(result("a"))),
        body(USER, says(call("a")), user(result("a")), says(call("b")), user(result("b"))),
    ),
    "id out of bounds": Rule(
        "should match pattern", body(USER, says(call("a.b")), user(result("a.b"))), body(USER, says(call("a-b")), user(result("a-b")))
    ),
    "input that is no object": Rule(
        "valid dictionary", body(USER, says(call("a", input="{}")), user(result("a"))), body(USER, says(call("a", input={"a": 1})), user(result("a")))
    ),
    "failure with a picture": Rule(
        "all content must be type `text`",
        body(USER, says(call("a")), user(result("a", [IMAGE], is_error=True))),
        body(USER, says(call("a")), user(result("a", [IMAGE]))),
    ),
    "result of a tool of the server elsewhere": Rule(
        "unexpected `tool_use_id` found in `web_search_tool_result`",
        body(USER, says({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, "x"), USER),
        body(
            USER,
            says(
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            ),
            USER,
        ),
    ),
}
RULES = MESSAGES | PAIRING


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_each_rule_parts_a_body_from_its_twin(rule: Rule):
    assert parts(rule)


def test_the_old_version_takes_what_the_new_one_does_not():
    for given in (body(USER, says(DOCUMENT), USER), body(user(text("x", citations=[{"type": "char_location"}])))):
        assert breaches(given, NEW)
        assert breaches(given, OLD) == []


def test_any_name_of_a_model_may_be_used():
    for name in ("m", "eu.anthropic.claude-opus-5-5-v1:0", "claude-3-5-sonnet-20241022", "claude-haiku-4-5-20251001"):
        assert breaches(body(model=name)) == []
