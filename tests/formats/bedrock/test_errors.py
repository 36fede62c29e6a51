"""Refusals of Bedrock: what they mean, and that nothing of the vendor's words is repeated."""

import json

import pytest

from app.formats.bedrock.errors import read_error, write_error


@pytest.mark.parametrize(
    ("status", "name", "message", "code", "retryable"),
    [
        (400, "ValidationException", "Malformed input request", "upstream-error", False),
        (400, "ValidationException", "Input is too long for requested model.", "upstream-overflow", False),
        (400, "ValidationException", "The model returned the following errors: prompt is too long: 5 tokens > 4 maximum", "upstream-overflow", False),
        (413, "", "x", "upstream-overflow", False),
        (400, "ServiceQuotaExceededException", "x", "upstream-rate-limited", False),
        (401, "", "x", "upstream-auth", False),
        (403, "AccessDeniedException", "x", "upstream-auth", False),
        (403, "ExpiredTokenException", "x", "upstream-auth", False),
        (400, "UnrecognizedClientException", "x", "upstream-auth", False),
        (404, "ResourceNotFoundException", "x", "upstream-error", False),
        (408, "ModelTimeoutException", "x", "upstream-error", True),
        (424, "ModelErrorException", "x", "upstream-error", True),
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", "upstream-rate-limited", True),
        (429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", "upstream-rate-limited", False),
        (429, "ModelNotReadyException", "x", "upstream-rate-limited", True),
        (500, "InternalServerException", "x", "upstream-error", True),
        (503, "ServiceUnavailableException", "x", "upstream-error", True),
        (502, "", "<html>", "upstream-error", True),
    ],
)
def test_every_status_and_exception(status: int, name: str, message: str, code: str, retryable: bool):
    headers = {"X-Amzn-ErrorType": f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/", "x-amzn-RequestId": "req-1"}
    fault = read_error(status, headers, json.dumps({"message": message}).encode())
    assert (fault.code, fault.retryable, fault.http_status, fault.provider_request_id) == (code, retryable, status, "req-1")
    assert fault.detail == f"The upstream answered {status}{f' ({name})' if name else ''}."


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (
            b'{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"x"}',
            "The upstream answered 400 (UnrecognizedClientException).",
        ),
        (
            b'{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}',
            "The upstream answered 400 (UnknownOperationException).",
        ),
        (b'{"__type":"key AKIA123 leaked"}', "The upstream answered 400."),
        (b'{"__type":7}', "The upstream answered 400."),
        (b"<html>secret</html>", "The upstream answered 400."),
        (b"[]", "The upstream answered 400."),
    ],
)
def test_the_name_stands_in_the_body_too_and_only_a_plain_word_is_one(body: bytes, detail: str):
    assert read_error(400, {}, body).detail == detail


@pytest.mark.parametrize(
    ("value", "wait_ms"), [("2", 2000), ("0.5", 500), ("-1", 0), ("soon", None), ("nan", None), ("1e99", 86_400_000), ("", None)]
)
def test_how_long_to_wait(value: str, wait_ms: int | None):
    assert read_error(429, {"Retry-After": value}, b"{}").retry_after_ms == wait_ms


@pytest.mark.req("X-86")
def test_nothing_of_the_vendors_prose_is_repeated():
    fault = read_error(400, {"x-amzn-errortype": "Validation secret"}, b'{"message":"prompt said: my secret"}')
    assert "secret" not in fault.detail
    assert read_error(400, {"x-amzn-requestid": "a\x00b"}, b"").provider_request_id is None


def test_a_refusal_that_we_write_is_read_as_what_it_says():
    assert read_error(429, {}, write_error(429, "ThrottlingException")).detail == "The upstream answered 429 (ThrottlingException)."
    assert read_error(500, {}, write_error(500, None)).detail == "The upstream answered 500."
