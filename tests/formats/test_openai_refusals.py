"""Refusals and failures: what they mean, whether to try again, when, and that nothing of the vendor's prose gets out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.openai_refusals import read_error, stream_error, write_error
from app.formats.registry import FORMATS


def body(message: str = "m", code: Any = None, type: Any = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": type, "param": None, "code": code}}).encode()


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_both_dialects_of_openai_refuse_in_these_words(dialect: str):
    found = FORMATS[dialect]
    assert (found.read_error, found.write_error) == (read_error, write_error)


@pytest.mark.req("X-90")
@pytest.mark.parametrize(
    ("status", "content", "code", "retryable"),
    [
        (400, body(code="context_length_exceeded"), "upstream-overflow", False),
        (400, body("This model's maximum context length is 8192 tokens."), "upstream-overflow", False),
        (400, b'{"object":"error","message":"Please reduce the length of the messages","code":400}', "upstream-overflow", False),
        (413, b"", "upstream-overflow", False),
        (400, body(type="invalid_request_error"), "upstream-error", False),
        (400, body(code="tool_use_failed", type="invalid_request_error"), "upstream-error", True),
        (400, body(code="array_above_max_length"), "upstream-error", False),
        (401, body(code="invalid_api_key"), "upstream-auth", False),
        (403, b"<html>", "upstream-auth", False),
        (404, body(code="model_not_found"), "upstream-error", False),
        (402, body("no credits"), "upstream-rate-limited", False),
        (429, body(code="rate_limit_exceeded", type="tokens"), "upstream-rate-limited", True),
        (429, body(code="slow_down"), "upstream-rate-limited", True),
        (429, b"not json", "upstream-rate-limited", True),
        (429, body(code="insufficient_quota"), "upstream-rate-limited", False),
        (429, body(type="insufficient_quota"), "upstream-rate-limited", False),
        (429, body(code="organization_spend_limit_exceeded"), "upstream-rate-limited", False),
        (408, b"", "upstream-error", True),
        (409, b"", "upstream-error", True),
        (500, body(type="server_error"), "upstream-error", True),
        (503, body(code="server_is_overloaded", type="service_unavailable_error"), "upstream-error", True),
        (302, b"", "upstream-error", False),
        (400, b'[{"error": {"code": 400, "message": "input is too long"}}]', "upstream-overflow", False),
        (400, b'{"error": "plain"}', "upstream-error", False),
    ],
)
def test_classes(status: int, content: bytes, code: str, retryable: bool):
    fault = read_error(status, {}, content)
    assert (fault.code, fault.retryable, fault.http_status) == (code, retryable, status)
    assert str(status) in fault.detail


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({}, None),
        ({"Retry-After": "2"}, 2_000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1_500),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9_000),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, 24 * 3600 * 1000),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ({"Retry-After": "Sun, 29 Nov 2026 19:00:00 GMT", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 0),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 -0000", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT"}, None),
        ({"Retry-After": "whenever", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, None),
    ],
)
def test_how_long_the_provider_asks_to_wait(headers: dict[str, str], wait_ms: int | None):
    assert read_error(429, headers, b"").retry_after_ms == wait_ms


def test_the_provider_may_say_whether_to_try_again():
    assert read_error(400, {"X-Should-Retry": "true"}, b"").retryable
    assert not read_error(500, {"x-should-retry": "false"}, b"").retryable
    assert not read_error(401, {"x-should-retry": "true"}, b"").retryable


@pytest.mark.parametrize("header", ["X-Request-Id", "request-id", "apim-request-id"])
def test_the_providers_request_id_is_kept(header: str):
    assert read_error(500, {header: "req_abc-123"}, b"").provider_request_id == "req_abc-123"
    assert read_error(500, {header: "a b\r\nforged: 1"}, b"").provider_request_id is None


SECRET, PROMPT = "sk-proj-abcdefghijklmnop", "the patient said that"


@pytest.mark.req("X-90")
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_no_secret_and_no_prompt_text_gets_into_the_detail(status: int):
    contents = [
        body(f"Incorrect API key provided: {SECRET}. {PROMPT}"),
        body(code=SECRET, type=PROMPT),
        body(code=f"key-{SECRET}", type="x" * 65),
        f"<html>{SECRET} {PROMPT}</html>".encode(),
    ]
    for content in contents:
        fault = read_error(status, {"x-request-id": "r"}, content)
        for text in (fault.detail, str(fault), repr(fault)):
            assert SECRET not in text
            assert PROMPT not in text


def test_plain_words_of_the_vendor_are_named():
    assert "(rate_limit_exceeded, tokens)" in read_error(429, {}, body(code="rate_limit_exceeded", type="tokens")).detail
    assert "(1234)" in read_error(400, {}, body(code=1234)).detail


def test_a_fault_says_how_long_to_wait():
    fault = read_error(429, {"retry-after": "1"}, body(code="slow_down"))
    assert (fault.code, fault.retryable, fault.retry_after_ms) == ("upstream-rate-limited", True, 1_000)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"code": 500, "type": "server_error"}, "upstream-error", True),
        ({"code": "503"}, "upstream-error", True),
        ({"code": 429}, "upstream-rate-limited", True),
        ({"code": "rate_limit_exceeded"}, "upstream-rate-limited", True),
        ({"code": 3230}, "upstream-error", False),
        ({"code": "vector_store_timeout"}, "upstream-error", True),
        ({"code": "image_too_large"}, "upstream-error", False),
        ({"type": "error", "code": "server_error", "message": "m"}, "upstream-error", True),
        ({"type": "error", "code": None, "message": "maximum context length"}, "upstream-overflow", False),
        ({"type": "error", "error": {"type": "insufficient_quota", "code": "insufficient_quota"}}, "upstream-rate-limited", False),
        ({"type": "error", "error": {"type": "authentication_error"}}, "upstream-auth", False),
        ({"type": "error", "error": "words"}, "upstream-error", False),
        ("words", "upstream-error", False),
        (None, "upstream-error", False),
    ],
)
def test_errors_inside_a_stream(error: Any, code: str, retryable: bool):
    found = stream_error(error)
    assert (found.code, found.retryable) == (code, retryable)


def test_the_type_of_an_event_is_no_word_of_the_vendors():
    assert stream_error({"type": "error", "code": "slow_down"}).detail == "The stream ended with an error (slow_down)."


@pytest.mark.req("X-90")
def test_a_scripted_refusal_is_the_vendors():
    fault = read_error(429, {}, write_error(429, "slow_down"))
    assert (fault.code, fault.retryable) == ("upstream-rate-limited", True)
    assert json.loads(write_error(400, None))["error"]["code"] is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda v: st.lists(v) | st.dictionaries(st.text(max_size=4), v)
)


@settings(max_examples=200, deadline=None)
@given(st.integers(300, 599), st.binary(max_size=60) | json_values.map(lambda value: json.dumps({"error": value}).encode()), st.text(max_size=20))
def test_no_response_breaks_it(status: int, content: bytes, header: str):
    fault = read_error(status, {"retry-after": header, "date": header, "x-request-id": header}, content)
    assert fault.code.startswith("upstream-")
