"""Refusals and failures: what they mean, whether to try again, when, and that nothing of the vendor's prose gets out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.anthropic.errors import read_error, stream_error, write_error


def body(message: str = "m", type: Any = None, code: Any = None) -> bytes:
    error = {"type": type, "message": message} | ({} if code is None else {"details": {"error_code": code}})
    return json.dumps({"type": "error", "error": error, "request_id": "req_of_body"}).encode()


LATER = {"retry-after": "2"}


@pytest.mark.req("X-90")
@pytest.mark.parametrize(
    ("status", "headers", "content", "code", "retryable"),
    [
        (400, {}, body(type="invalid_request_error"), "upstream-error", False),
        (400, {}, body("prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"), "upstream-overflow", False),
        (400, {}, body("input length and `max_tokens` exceed context limit: 1 + 2 > 2"), "upstream-overflow", False),
        (413, {}, body(type="request_too_large"), "upstream-overflow", False),
        (413, {}, b"<html>", "upstream-overflow", False),
        (401, {}, body(type="authentication_error"), "upstream-auth", False),
        (403, {}, body(type="permission_error"), "upstream-auth", False),
        (402, {}, body(type="billing_error"), "upstream-rate-limited", False),
        (404, {}, body(type="not_found_error"), "upstream-error", False),
        (409, {}, body(type="conflict_error"), "upstream-error", True),
        (429, LATER, body(type="rate_limit_error"), "upstream-rate-limited", True),
        (429, {}, body(type="rate_limit_error"), "upstream-rate-limited", False),
        (429, {"x-should-retry": "true"}, body(type="rate_limit_error"), "upstream-rate-limited", True),
        (500, {}, body(type="api_error"), "upstream-error", True),
        (500, {"x-should-retry": "false"}, body(type="api_error"), "upstream-error", False),
        (504, {}, body(type="timeout_error"), "upstream-error", True),
        (529, {}, body(type="overloaded_error"), "upstream-error", True),
        (529, {}, b"not json", "upstream-error", True),
        (302, {}, b"", "upstream-error", False),
        (400, {}, b'{"error": "prompt is too long"}', "upstream-overflow", False),
        (400, {}, b'["odd"]', "upstream-error", False),
    ],
)
def test_classes(status: int, headers: dict[str, str], content: bytes, code: str, retryable: bool):
    fault = read_error(status, headers, content)
    assert (fault.code, fault.retryable, fault.http_status) == (code, retryable, status)
    assert str(status) in fault.detail


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({}, None),
        ({"Retry-After": "2"}, 2_000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1_500),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, 24 * 3600 * 1000),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 -0000", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ({"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT"}, None),
        ({"Retry-After": "whenever", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, None),
    ],
)
def test_how_long_the_provider_asks_to_wait(headers: dict[str, str], wait_ms: int | None):
    assert read_error(429, headers, b"").retry_after_ms == wait_ms


def test_the_providers_request_id_is_kept():
    assert read_error(500, {"Request-Id": "req_1"}, body()).provider_request_id == "req_1"
    assert read_error(500, {}, body()).provider_request_id == "req_of_body"
    assert read_error(500, {"request-id": "a b\r\nforged: 1"}, b"").provider_request_id is None


SECRET, PROMPT = "sk-ant-abcdefghijklmnop", "the patient said that"


@pytest.mark.req("X-90")
@pytest.mark.parametrize("status", [400, 401, 404, 429, 529])
def test_no_secret_and_no_prompt_text_gets_into_the_detail(status: int):
    contents = [body(f"invalid x-api-key {SECRET}. {PROMPT}"), body(type=PROMPT, code=SECRET), body(type=SECRET), f"<html>{SECRET}".encode()]
    for content in contents:
        fault = read_error(status, {"request-id": "r"}, content)
        for text in (fault.detail, str(fault), repr(fault)):
            assert SECRET not in text
            assert PROMPT not in text


def test_plain_words_of_the_vendor_are_named():
    detail = read_error(400, {}, body(type="invalid_request_error", code="image_dimensions_too_large")).detail
    assert "(invalid_request_error, image_dimensions_too_large)" in detail


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "upstream-error", True),
        ({"type": "api_error"}, "upstream-error", True),
        ({"type": "timeout_error"}, "upstream-error", True),
        ({"type": "rate_limit_error"}, "upstream-rate-limited", True),
        ({"type": "authentication_error"}, "upstream-auth", False),
        ({"type": "billing_error"}, "upstream-rate-limited", False),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, "upstream-overflow", False),
        ({"type": "invalid_request_error"}, "upstream-error", False),
        ({"type": ["odd"]}, "upstream-error", False),
        ("words", "upstream-error", False),
        (None, "upstream-error", False),
    ],
)
def test_errors_inside_a_stream(error: Any, code: str, retryable: bool):
    found = stream_error(error)
    assert (found.code, found.retryable) == (code, retryable)


@pytest.mark.parametrize(("status", "kind"), [(529, "overloaded_error"), (429, "rate_limit_error"), (418, "api_error")])
def test_a_refusal_in_the_providers_shape(status: int, kind: str):
    assert json.loads(write_error(status, None))["error"]["type"] == kind
    assert json.loads(write_error(status, "own_word"))["error"]["type"] == "own_word"
    assert read_error(status, {}, write_error(status, None)).detail == f"The upstream answered {status} ({kind})."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda v: st.lists(v) | st.dictionaries(st.text(max_size=4), v)
)


@settings(max_examples=200, deadline=None)
@given(st.integers(300, 599), st.binary(max_size=60) | json_values.map(lambda value: json.dumps({"error": value}).encode()), st.text(max_size=20))
def test_no_response_breaks_it(status: int, content: bytes, header: str):
    fault = read_error(status, {"retry-after": header, "date": header, "request-id": header}, content)
    assert fault.code.startswith("upstream-")
