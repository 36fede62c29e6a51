"""Requests to AWS: what is signed is what is sent, by botocore's own judgement and by the standard worked out by hand."""

import hashlib
import hmac
import logging
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import pytest
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from app.config.secret import Secret
from app.config.upstreams import AwsKeys
from app.entries.deltas import TextDelta, Usage, UsageReport
from app.formats.registry import FORMATS
from app.models.resolve import ModelChoice
from app.outbound.exchange import Deltas, Outgoing
from app.outbound.signing import signature
from tests.formats.bedrock.streams import END, METADATA, START, delta
from tests.outbound.kit import KEY, failures, provider, run, say, text, upstream

BEDROCK = FORMATS["bedrock-converse"]
ARN = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-5-v1:0"
KEYS = AwsKeys("eu-west-1", Secret("AKIAMADEUP"), Secret("made/up+secret"), Secret("made-up-token=="))
WHEN = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def outgoing(to: Any, body: bytes = b'{"messages":[]}') -> Outgoing:
    return Outgoing(to, BEDROCK, ModelChoice("aws", ARN, {}), body, lambda: BEDROCK.new_reader("p"))


@pytest.fixture
def at_a_fixed_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: WHEN)


def by_hand(keys: AwsKeys, url: str, body: bytes, headers: dict[str, str]) -> str:
    """The signature as AWS describes it, with nothing of botocore."""
    path = "/" + url.split("/", 3)[3]
    names = sorted(headers)
    lines = "".join(f"{name}:{headers[name]}\n" for name in names)
    canonical = "\n".join(["POST", quote(path, safe="/~"), "", lines, ";".join(names), hashlib.sha256(body).hexdigest()])
    stamp = headers["x-amz-date"]
    scope = f"{stamp[:8]}/{keys.region}/bedrock/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{keys.secret_access_key.reveal()}".encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


@pytest.mark.parametrize("keys", [KEYS, AwsKeys("us-gov-west-1", Secret("AKIA2"), Secret("s"))])
def test_the_signature_is_botocores_and_the_standards(at_a_fixed_time: None, keys: AwsKeys):
    url = f"https://bedrock-runtime.eu-west-1.amazonaws.com{BEDROCK.path(ARN)}"
    found = signature(keys, url, b'{"a":1}')
    token = None if keys.session_token is None else keys.session_token.reveal()
    judge = AWSRequest("POST", url, {"Content-Type": "application/json"}, b'{"a":1}')
    SigV4Auth(Credentials(keys.access_key_id.reveal(), keys.secret_access_key.reveal(), token), "bedrock", keys.region).add_auth(judge)
    assert found["authorization"] == judge.headers["Authorization"]
    assert found["x-amz-date"] == "20261129T120000Z"
    assert found.get("x-amz-security-token") == token
    signed = {"content-type": "application/json", "host": "bedrock-runtime.eu-west-1.amazonaws.com", "x-amz-date": found["x-amz-date"]}
    signed |= {} if token is None else {"x-amz-security-token": token}
    worked_out = by_hand(keys, url, b'{"a":1}', signed)
    assert found["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={keys.access_key_id.reveal()}/20261129/{keys.region}/bedrock/aws4_request, "
        f"SignedHeaders={';'.join(sorted(signed))}, Signature={worked_out}"
    )


def test_nothing_of_the_environment_is_read(at_a_fixed_time: None, monkeypatch: pytest.MonkeyPatch, tmp_path):
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse-stream"
    before = signature(KEYS, url, b"{}")
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = OTHER\naws_secret_access_key = other\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(name, "other")
    assert signature(KEYS, url, b"{}") == before


def test_botocore_is_loaded_with_the_first_signature_and_not_before():
    code = "import sys; import app.outbound.outbound; sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.req("X-86")
def test_what_is_signed_is_not_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    found = signature(KEYS, "https://h.example/model/x/converse-stream", b'{"prompt":"secret"}')
    said = " ".join(record.getMessage() for record in caplog.records)
    for secret in ("made-up-token", "made/up", "secret", found["authorization"][-64:]):
        assert secret not in said


@pytest.mark.req("S0-25")
async def test_what_arrives_is_what_was_signed(clients):
    """The judge stands at the other end: it signs what it got, with the keys that it knows."""
    judged: list[bool] = []

    async def bedrock(request: web.Request, n: int) -> web.StreamResponse:
        body = await request.read()
        names = request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
        headers = {name: request.headers[name] for name in names}
        url = f"http://{request.headers['host']}{request.raw_path}"
        judged.append(request.headers["authorization"].endswith(by_hand(KEYS, url, body, headers)))
        return await say(request, START, delta(0, text="Hel"), delta(0, text="lo"), END, METADATA, headers={"x-amzn-RequestId": "aws-1"})

    async with provider(bedrock) as seen:
        to = upstream(seen.url.removesuffix("/v1"), api_key=None, aws=KEYS)
        items, dispatch = await run(outgoing(to, '{"messages":["é"]}'.encode()), clients)
    assert judged == [True]
    assert text(items) == "Hello"
    assert seen.headers[0]["accept"] == "application/vnd.amazon.eventstream"
    assert seen.headers[0]["x-amz-security-token"] == "made-up-token=="
    deltas = [one for item in items if isinstance(item, Deltas) for one in item.deltas]
    assert [type(one) for one in deltas[:2]] == [TextDelta, TextDelta]
    assert [one.usage for one in deltas if isinstance(one, UsageReport)] == [Usage(3, None, None, 4)]
    assert dispatch.attempts[0].provider_request_id == "req-1"


async def test_a_model_stays_one_segment_of_the_path(clients):
    paths: list[str] = []

    async def bedrock(request: web.Request, n: int) -> web.StreamResponse:
        paths.append(request.raw_path)
        return await say(request, END, METADATA)

    async with provider(bedrock) as seen:
        await run(outgoing(upstream(seen.url.removesuffix("/v1"), api_key=None, aws=KEYS)), clients)
    assert [unquote(segment) for segment in paths[0].split("/")] == ["", "model", ARN, "converse-stream"]


async def test_a_bearer_key_wins_and_without_any_key_nothing_is_signed(clients):
    async def bedrock(request: web.Request, n: int) -> web.StreamResponse:
        return await say(request, END, METADATA)

    async with provider(bedrock) as seen:
        for api_key in (Secret(KEY), None):
            await run(outgoing(upstream(seen.url, api_key=api_key, aws=KEYS if api_key else None)), clients)
    assert [headers.get("authorization") for headers in seen.headers] == [f"Bearer {KEY}", None]
    assert not any(name.startswith("x-amz") for headers in seen.headers for name in headers)


async def test_each_attempt_is_signed_anew(clients, monkeypatch: pytest.MonkeyPatch):
    times = iter([WHEN, WHEN.replace(hour=13)])
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: next(times))

    async def flaky(request: web.Request, n: int) -> web.StreamResponse:
        return web.json_response({"message": "x"}, status=503) if n == 1 else await say(request, START, delta(0, text="ok"), END, METADATA)

    async with provider(flaky) as seen:
        items, _ = await run(outgoing(upstream(seen.url, api_key=None, aws=KEYS)), clients)
    assert text(items) == "ok"
    assert [failed.fault.code for failed in failures(items)] == ["upstream-error"]
    assert [headers["x-amz-date"] for headers in seen.headers] == ["20261129T120000Z", "20261129T130000Z"]
    assert seen.bodies[0] == seen.bodies[1]


async def test_an_operators_header_cannot_replace_a_signature(clients):
    async with provider(lambda request, n: say(request, END)) as seen:
        to = upstream(seen.url, api_key=None, aws=KEYS, headers={"X-Amz-Date": Secret("x")})
        items, _ = await run(outgoing(to), clients)
    assert "x-amz-date" in failures(items)[0].fault.detail
    assert not seen.bodies
