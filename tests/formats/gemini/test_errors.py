"""Refusals and failures: what they mean, whether to try again, when, and that nothing of the vendor's prose gets out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.gemini.errors import read_error, stream_error, write_error

KEY_INVALID = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "14s"}


def quota(name: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaMetric": "x", "quotaId": name}]}


def body(message: str = "m", status: Any = None, code: Any = None, details: Any = None) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "status": status, "details": details}}).encode()


@pytest.mark.req("X-90")
@pytest.mark.parametrize(
    ("status", "content", "code", "retryable"),
    [
        (
            400,
            body("The input token count (1234) exceeds the maximum number of tokens allowed (1000).", "INVALID_ARGUMENT"),
            "upstream-overflow",
            False,
        ),
        (413, b"", "upstream-overflow", False),
        (400, body("Request contains an invalid argument.", "INVALID_ARGUMENT", 400), "upstream-error", False),
        (400, body("API key not valid.", "INVALID_ARGUMENT", 400, [KEY_INVALID]), "upstream-auth", False),
        (400, body("User location is not supported.", "FAILED_PRECONDITION"), "upstream-error", False),
        (401, b"<html>", "upstream-auth", False),
        (403, body(status="PERMISSION_DENIED"), "upstream-auth", False),
        (404, body(status="NOT_FOUND"), "upstream-error", False),
        (408, b"", "upstream-error", True),
        (409, body(status="ABORTED"), "upstream-error", True),
        (
            429,
            body(status="RESOURCE_EXHAUSTED", details=[quota("GenerateRequestsPerMinutePerProjectPerModel"), RETRY]),
            "upstream-rate-limited",
            True,
        ),
        (
            429,
            body(status="RESOURCE_EXHAUSTED", details=[quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), RETRY]),
            "upstream-rate-limited",
            False,
        ),
        (429, b"not json", "upstream-rate-limited", True),
        (500, body(status="INTERNAL"), "upstream-error", True),
        (501, body(status="UNIMPLEMENTED"), "upstream-error", False),
        (503, body(status="UNAVAILABLE"), "upstream-error", True),
        (504, body(status="DEADLINE_EXCEEDED"), "upstream-error", True),
        (302, b"", "upstream-error", False),
        (429, b"[" + body(status="RESOURCE_EXHAUSTED", details=[quota("xPerDay")]) + b"]", "upstream-rate-limited", False),
        (400, b"[]", "upstream-error", False),
    ],
)
def test_classes(status: int, content: bytes, code: str, retryable: bool):
    fault = read_error(status, {}, content)
    assert (fault.code, fault.retryable, fault.http_status) == (code, retryable, status)
    assert str(status) in fault.detail


@pytest.mark.parametrize(
    ("details", "headers", "wait_ms"),
    [
        ([RETRY], {}, 14_000),
        ([{**RETRY, "retryDelay": "0.25s"}], {"Retry-After": "9"}, 250),
        ([{**RETRY, "retryDelay": "999999999s"}], {}, 24 * 3600 * 1000),
        ([{**RETRY, "retryDelay": "soon"}], {"Retry-After": "2"}, 2_000),
        ([], {"retry-after": "-3"}, 0),
        ([], {"retry-after": "nan"}, None),
        ([], {"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ([], {"Retry-After": "Sun, 29 Nov 2026 20:00:10 -0000", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, 10_000),
        ([], {"Retry-After": "Sun, 29 Nov 2026 20:00:10 GMT"}, None),
        ([], {"Retry-After": "whenever", "Date": "Sun, 29 Nov 2026 20:00:00 GMT"}, None),
        (None, {}, None),
    ],
)
def test_how_long_the_provider_asks_to_wait(details: Any, headers: dict[str, str], wait_ms: int | None):
    assert read_error(429, headers, body(details=details)).retry_after_ms == wait_ms


@pytest.mark.parametrize("header", ["X-Goog-Request-Id", "x-request-id", "X-Cloud-Trace-Context"])
def test_the_providers_request_id_is_kept(header: str):
    assert read_error(500, {header: "req_abc-123"}, b"").provider_request_id == "req_abc-123"
    assert read_error(500, {header: "a b\r\nforged: 1"}, b"").provider_request_id is None


SECRET, PROMPT = "AIzaSyFAKE0000000000000000000000000000", "the patient said that"


@pytest.mark.req("X-90")
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_no_secret_and_no_prompt_text_gets_into_the_detail(status: int):
    contents = [
        body(f"API key not valid: {SECRET}. {PROMPT}"),
        body(status=SECRET, details=[{"reason": PROMPT}, {"reason": SECRET}]),
        body(status="X" * 65, code=SECRET),
        f"<html>{SECRET} {PROMPT}</html>".encode(),
    ]
    for content in contents:
        fault = read_error(status, {"x-request-id": "r"}, content)
        for text in (fault.detail, str(fault), repr(fault)):
            assert SECRET not in text
            assert PROMPT not in text


def test_plain_words_of_the_vendor_are_named():
    assert "(400, INVALID_ARGUMENT, API_KEY_INVALID)" in read_error(400, {}, body("m", "INVALID_ARGUMENT", 400, [KEY_INVALID])).detail


@pytest.mark.parametrize(
    ("error", "code", "retryable", "wait_ms"),
    [
        ({"code": 503, "status": "UNAVAILABLE"}, "upstream-error", True, None),
        ({"status": "UNAVAILABLE"}, "upstream-error", True, None),
        ({"status": "RESOURCE_EXHAUSTED", "details": [RETRY]}, "upstream-rate-limited", True, 14_000),
        ({"code": 400, "status": "INVALID_ARGUMENT"}, "upstream-error", False, None),
        ({"code": 403}, "upstream-auth", False, None),
        ("words", "upstream-error", False, None),
        (None, "upstream-error", False, None),
    ],
)
def test_errors_inside_a_stream(error: Any, code: str, retryable: bool, wait_ms: int | None):
    found = stream_error(error)
    assert (found.code, found.retryable, found.retry_after_ms) == (code, retryable, wait_ms)


@pytest.mark.parametrize(
    ("status", "code", "word"), [(503, None, "UNAVAILABLE"), (400, None, "INVALID_ARGUMENT"), (418, None, "UNKNOWN"), (429, "X", "X")]
)
def test_refusals_are_spelled_as_google_spells_them(status: int, code: str | None, word: str):
    assert json.loads(write_error(status, code)) == {"error": {"code": status, "message": "scripted failure", "status": word}}
    assert word in read_error(status, {}, write_error(status, code)).detail or code == "X"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda v: (
        st.lists(v) | st.dictionaries(st.sampled_from(["details", "violations", "quotaId", "retryDelay", "reason", "code", "status", "message"]), v)
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.integers(300, 599), st.binary(max_size=60) | json_values.map(lambda value: json.dumps({"error": value}).encode()), st.text(max_size=20))
def test_no_response_breaks_it(status: int, content: bytes, header: str):
    fault = read_error(status, {"retry-after": header, "date": header, "x-request-id": header}, content)
    assert fault.code.startswith("upstream-")
