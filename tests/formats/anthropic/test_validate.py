"""The rules of Messages bodies: each one fires where it should, its near twin passes, and bodies that the provider took pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.anthropic.rules import rules_for
from app.formats.anthropic.validate import validate
from app.models.wire_rules import with_quirks
from tests.formats.anthropic.bodies import (
    DOCUMENT,
    IMAGE,
    MARK,
    SEARCH,
    THOUGHT,
    USER,
    call,
    document,
    faults,
    old,
    result,
    says,
    source,
    system,
    text,
    user,
)
from tests.formats.anthropic.requests import NEW, OLD

ROUND = (USER, says(call()), user(result()))


@pytest.mark.parametrize(
    "messages",
    [
        (USER, USER, says("a"), says("b"), USER),
        (user(text("x", **MARK)), says(THOUGHT, "a", call()), user(result(), "and")),
        (USER, says(call("a"), call("b")), user(result("b")), user(result("a"), "x")),
        (USER, says(call("a")), says(call("b")), user(result("a"), result("b"))),
        (user(IMAGE, DOCUMENT, source("url", url="https://x"), document("file", file_id="f"), {"type": "container_upload", "file_id": "f"}),),
        (USER, says(call()), user(result(content=[text("x"), IMAGE, DOCUMENT]))),
        (USER, says(call("a"), call("b")), user(result("a", None), result("b", "no", is_error=True))),
        (USER, says({"type": "redacted_thinking", "data": "D"}, text("a", citations=[{"type": "char_location"}])), USER),
        (USER, says(SEARCH, {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, {"type": "news", "x": 1}), USER),
        (USER, says(SEARCH)),
        (USER, says("a"), USER, system(), says("b"), USER),
        (USER, says("a"), USER, system()),
        (USER, says(call()), user(result()), system(), says("b"), USER),
        (user(document("base64", media_type="application/pdf", data="AAAA"), document("content", content="x")),),
    ],
)
def test_what_is_valid_passes(messages: tuple[Any, ...]):
    assert faults(*messages) == []


def test_a_prefill_is_taken_where_it_is():
    assert old(USER, says("The answer:")) == []
    assert old(USER, says(text("The answer:", **MARK))) == []


@pytest.mark.req("S0-30")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], [("/messages", "messages-missing")]),
        (["x"], [("/messages/0", "not-an-object")]),
        ([{**USER, "id": "m"}], [("/messages/0", "key-unknown")]),
        ([{"role": "tool", "content": "x"}], [("/messages/0/role", "role-unknown")]),
        ([{"role": "user", "content": 7}], [("/messages/0/content", "content-invalid")]),
        ([{"role": "user", "content": []}], [("/messages/0/content", "content-empty")]),
        ([{"role": "user", "content": ""}], [("/messages/0/content", "text-empty")]),
        ([user(" \n")], [("/messages/0/content/0/text", "text-blank")]),
        ([user("x", "")], [("/messages/0/content/1/text", "text-empty")]),
        ([user({"type": "text", "text": None})], [("/messages/0/content/0/text", "text-missing")]),
        ([user(["x"])], [("/messages/0/content/0", "not-an-object")]),
        ([user({"text": "x"})], [("/messages/0/content/0/type", "block-type-missing")]),
        ([user(text("x", seq=1))], [("/messages/0/content/0", "key-unknown")]),
        ([user(text("x", citations=[{}]))], [("/messages/0/content/0/citations", "key-unknown")]),
        ([user({"type": "audio"})], [("/messages/0/content/0/type", "block-type-not-taken")]),
        ([user(THOUGHT)], [("/messages/0/content/0/type", "block-type-not-taken")]),
        ([USER, says(IMAGE), USER], [("/messages/1/content/0/type", "block-type-not-taken")]),
        ([USER, says(DOCUMENT), USER], [("/messages/1/content/0/type", "block-type-not-taken")]),
        ([USER, says("a"), USER, {"role": "system", "content": [IMAGE]}], [("/messages/3/content/0/type", "block-type-not-taken")]),
        ([says("a"), USER], [("/messages/0", "first-not-user")]),
        ([USER, says("a")], [("/messages/1", "prefill-not-taken")]),
        ([system(), says("a"), USER], [("/messages/0", "system-misplaced")]),
        ([USER, system(), USER], [("/messages/1", "system-misplaced")]),
        ([USER, says(call()), system(), user(result())], [("/messages/1/content/0", "call-without-result"), ("/messages/2", "system-misplaced"),
          ("/messages/3/content/0", "result-without-call")]),
    ],
)  # fmt: skip
def test_messages(messages: list[Any], expected: list[tuple[str, str]]):
    assert faults(*messages) == expected


def test_how_many_messages_are_taken():
    assert faults(*[USER] * 100_001) == [("/messages", "messages-too-many")]


def test_a_model_that_takes_no_system_message():
    assert faults(USER, says("a"), USER, system(), model="claude-opus-4-7") == [("/messages/3", "system-not-taken")]


@pytest.mark.req("S0-28")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER, says(call()), USER], [("/messages/1/content/0", "call-without-result")]),
        ([USER, says(call("a"), call("b")), user(result("a"))], [("/messages/1/content/1", "call-without-result")]),
        ([USER, says(call("a")), says(call("b")), user(result("b"))], [("/messages/1/content/0", "call-without-result")]),
        ([USER, says(call()), USER, says("a"), user(result())], [("/messages/1/content/0", "call-without-result"),
          ("/messages/4/content/0", "result-without-call")]),
        ([user(result())], [("/messages/0/content/0", "result-without-call")]),
        ([*ROUND, says("a"), user(result())], [("/messages/4/content/0", "result-without-call")]),
        ([USER, says(call()), user(result(), result())], [("/messages/2/content/1", "result-repeated")]),
        ([USER, says(call()), user("x", result())], [("/messages/2/content/1", "result-not-first")]),
        ([USER, says(call()), user("x"), user(result())], [("/messages/3/content/0", "result-not-first")]),
        ([*ROUND, says(call()), user(result())], [("/messages/3/content/0/id", "call-id-repeated")]),
        ([USER, says(call(), call()), user(result())], [("/messages/1/content/1/id", "call-id-repeated")]),
        ([USER, says(call("a.b")), user(result("a.b"))], [("/messages/1/content/0/id", "call-id-invalid"),
          ("/messages/2/content/0/tool_use_id", "call-id-invalid")]),
        ([USER, says(call("x" * 65)), user(result("x" * 65))], [("/messages/1/content/0/id", "call-id-too-long"),
          ("/messages/2/content/0/tool_use_id", "call-id-too-long")]),
        ([USER, says(call(None)), USER], [("/messages/1/content/0/id", "call-id-invalid")]),
        ([USER, says(call(name="a b")), user(result())], [("/messages/1/content/0/name", "name-invalid")]),
        ([USER, says(call(input="{}")), user(result())], [("/messages/1/content/0/input", "input-no-object")]),
        ([USER, says(call()), user(result(is_error="no"))], [("/messages/2/content/0/is_error", "flag-invalid")]),
        ([USER, says(call()), user(result(content=7))], [("/messages/2/content/0/content", "content-invalid")]),
        ([USER, says(call()), user(result(content=[call()]))], [("/messages/2/content/0/content/0/type", "block-type-not-taken")]),
        ([USER, says(call()), user(result(content=[text("")]))], [("/messages/2/content/0/content/0/text", "text-empty")]),
        ([USER, says(call()), user(result(content=[IMAGE], is_error=True))], [("/messages/2/content/0/content/0/type", "error-not-text")]),
        ([user({**call(), "type": "tool_use"})], [("/messages/0/content/0/type", "block-type-not-taken")]),
    ],
)  # fmt: skip
def test_calls_and_results(messages: list[Any], expected: list[tuple[str, str]]):
    assert faults(*messages) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (source("base64", media_type="image/bmp", data="AAAA"), [("source/media_type", "media-type-not-taken")]),
        (source("base64", media_type=["image/png"], data="AAAA"), [("source/media_type", "media-type-not-taken")]),
        (source("base64", media_type="image/png", data=""), [("source/data", "data-missing")]),
        (source("base64", media_type="image/png", data="A" * 6_990_512), [("source/data", "media-too-large")]),
        (source("url", url="ftp://x"), [("source/url", "url-invalid")]),
        (source("file"), [("source/file_id", "file-invalid")]),
        (source("content", content="x"), [("source/type", "source-invalid")]),
        ({"type": "image", "source": "x"}, [("source/type", "source-invalid")]),
        (document("base64", media_type="text/plain", data="AAAA"), [("source/media_type", "media-type-not-taken")]),
        (document("base64", media_type="application/pdf"), [("source/data", "data-missing")]),
        (document("text", media_type="text/plain"), [("source/data", "data-missing")]),
        (document("s3"), [("source/type", "source-invalid")]),
    ],
)
def test_images_and_documents(block: dict[str, Any], expected: list[tuple[str, str]]):
    assert faults(user(block)) == [(f"/messages/0/content/0/{place}", code) for place, code in expected]


def test_the_greatest_image_passes():
    assert faults(user(source("base64", media_type="image/png", data="A" * 6_990_506 + "=="))) == []


def test_how_many_images_are_taken():
    assert old(user(*[IMAGE] * 101)) == [("/messages", "images-too-many")]
    assert old(user(*[IMAGE] * 100)) == []
    assert faults(user(*[IMAGE] * 101)) == []


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER, says({**THOUGHT, "signature": ""}, "a"), USER], [("/messages/1/content/0/signature", "signature-missing")]),
        ([USER, says({"type": "thinking", "signature": "S"}, "a"), USER], [("/messages/1/content/0/thinking", "text-missing")]),
        ([USER, says({"type": "redacted_thinking"}, "a"), USER], [("/messages/1/content/0/data", "data-missing")]),
        ([USER, says({**THOUGHT, **MARK}, "a"), USER], [("/messages/1/content/0/cache_control", "mark-not-taken")]),
        ([USER, says(THOUGHT), USER], [("/messages/1/content/0", "answer-ends-thinking")]),
        ([USER, says("a", THOUGHT), USER], [("/messages/1/content/1", "answer-ends-thinking")]),
        ([USER, says(THOUGHT), says("a"), USER], []),
        ([USER, says({**THOUGHT, "thinking": ""}, "a"), USER], []),
    ],
)
def test_thinking(messages: list[Any], expected: list[tuple[str, str]]):
    assert faults(*messages) == expected


def test_an_answer_to_go_on_with():
    assert old(USER, says("a \n")) == [("/messages/1/content/0", "text-ends-blank")]
    assert old(USER, says("a ", call()))[0] == ("/messages/1/content/1", "call-without-result")
    assert old(USER, {"role": "assistant", "content": "a "}) == [("/messages/1/content", "text-ends-blank")]
    assert old(USER, says(THOUGHT, "a")) == [("/messages/1/content/0", "thinking-not-asked")]
    assert old(USER, says(THOUGHT, "a"), USER) == []


def test_every_violation_is_listed_and_none_repeats_content():
    body = {"model": "secret", "messages": [{"role": "secret-role"}, says(call("s.s", name="secret name"))], "tools": "secret", "secret": 9}
    found = validate(body)
    assert len(found) == 9
    assert not [violation for violation in found if "secret" in violation.detail + violation.pointer]


def test_bodies_that_the_provider_took_pass(shared: Path):
    judged = 0
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        for exchange in json.loads(path.read_text())["interactions"]:
            body = exchange["request"]
            if "api.anthropic.com" not in exchange["uri"] or exchange.get("status", 200) >= 300 or not isinstance(body, dict):
                continue
            sampled = "temperature" in body  # recorded under the version of 2023, which took it
            rules = with_quirks(rules_for(body["model"]), {"temperature": True} if sampled else {})
            assert validate(body, rules) == [], path.name
            assert bool(validate(body)) is sampled, path.name
            judged += 1
    assert judged >= 40


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["user", "assistant", "system", "text", "tool_use", "thinking"]),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "id", "tool_use_id", "input", "text", "source", "name", "cache_control"]), v)
    ),
    max_leaves=10,
)
keys = ["messages", "tools", "tool_choice", "thinking", "output_config", "system", "model", "max_tokens", "stop_sequences", "cache_control"]


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(keys), json_values), st.sampled_from([OLD, NEW, "m"]))
def test_no_body_breaks_it(body: dict[str, Any], model: str):
    for violation in validate(body, rules_for(model)):
        assert violation.pointer.startswith("/") or violation.code == "key-unknown"
