"""Tools behind an HTTP endpoint: what is sent, what an answer becomes, and that nothing of a failure is more than an error result."""

import base64
import io
import json

import pytest

from app.config import limits
from app.config.secret import Secret
from app.entries.ids import blob_digest
from app.entries.parts import Blob, Media, Text
from app.outbound.client import Clients
from app.outbound.tool_servers.http import request_body, signature
from app.outbound.tool_servers.results import DETAILS
from app.outbound.tool_servers.servers import ToolServers
from app.telemetry.logs import configure_logs
from tests.outbound.kit import Hosts
from tests.outbound.tool_servers.kit import KEY, SIGNING_KEY, TOKEN, asked, configured, endpoint

PNG = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4) + b"IHDR" + (3).to_bytes(4) + (2).to_bytes(4) + bytes(9)
ARGUMENTS = '{"q": "ä\\u0000", "n": 1.0, "big": 123456789012345678901234567890, "e": 1e2}'


@pytest.fixture
async def call(clients):
    async def run(place, request=None, **changes):
        return await ToolServers(clients, {"desk": configured(place.url, **changes)}).call("desk", request or asked())

    return run


@pytest.mark.req("T-23")
async def test_a_call_is_signed_and_the_arguments_are_spelled_as_the_model_did(call):
    async with endpoint() as place:
        outcome = await call(place, asked("look-up", ARGUMENTS))
        assert outcome == type(outcome)((Text("fine"),), media={})
        assert place.faults == []
        assert f'"arguments":{ARGUMENTS},'.encode() in place.bodies[0]
        assert place.taken[0] | {"arguments": None} == {
            "tool": "look-up", "tool_call_id": "call_1", "arguments": None, "session_id": "ses_1", "turn_id": "trn_1",
        }  # fmt: skip
        await call(place, asked("look-up", ARGUMENTS))
        assert place.ids == ["msg_1", "msg_1"]


async def test_a_wrong_key_is_noticed(call):
    async with endpoint() as place:
        other = Secret("whsec_" + base64.b64encode(b"another-key-of-the-operators-own").decode())
        assert (await call(place, signing_key=other)).code == "tool-call-refused"
        assert (await call(place, signing_key=None)).code == "tool-call-refused"
        assert (place.faults, place.taken) == (["not signed", "not signed"], [])


def test_the_signature_is_the_standards():
    """The example of the specification (Standard Webhooks, symmetric signatures)."""
    key = base64.b64decode("C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
    body = b'{"email":"test@example.com","username":"test_user"}'
    assert signature(key, "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", "1649367553", body) == "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="


@pytest.mark.parametrize("arguments", ["", "[1]", "no json", '{"a":1,"a":2}', '"\ud800"', '{"x":"\ud800"}'])
def test_arguments_that_are_no_object_go_as_a_string(arguments):
    assert json.loads(request_body(asked(arguments=arguments)))["arguments"] == arguments


@pytest.mark.req("X-18")
async def test_parts_with_media(call):
    picture, page = PNG, b"%PDF-1.7"
    parts = [
        {"type": "text", "text": "Two things:"},
        {"type": "image", "data": base64.b64encode(picture).decode(), "media_type": "image/jpeg"},
        {"type": "file", "data": base64.b64encode(page).decode(), "media_type": "application/pdf", "filename": "a.pdf"},
        {"type": "image", "url": "https://pictures.example/a.png"},
        {"type": "image", "data": base64.b64encode(b"<svg/>").decode(), "media_type": "image/svg+xml"},
    ]
    async with endpoint(answer=json.dumps({"content": parts, "is_error": True}).encode()) as place:
        outcome = await call(place)
    drawn = blob_digest(b"<svg/>")
    assert outcome.parts == (
        Text("Two things:"),
        Media("image", Blob(blob_digest(picture), "image/png", len(picture), 3, 2)),
        Media("file", Blob(blob_digest(page), "application/pdf", len(page)), filename="a.pdf"),
        Media("image", url="https://pictures.example/a.png"),
        Media("file", Blob(drawn, "image/svg+xml", 6)),
    )
    assert outcome.is_error
    assert outcome.code is None
    assert outcome.media == {
        blob_digest(picture): ("image/png", picture), blob_digest(page): ("application/pdf", page), drawn: ("image/svg+xml", b"<svg/>"),
    }  # fmt: skip


async def test_plain_text_and_nothing(call):
    async with endpoint(answer="schön".encode(), media_type="text/plain; charset=utf-8") as place:
        assert (await call(place)).parts == (Text("schön"),)
    async with endpoint(answer=b"", status=204) as place:
        assert (await call(place)).parts == (Text(""),)


@pytest.mark.parametrize(
    "answers",
    [
        {"answer": b"no json"},
        {"answer": b'"fine"'},
        {"answer": b'{"result":"fine"}'},
        {"answer": b'{"content":"fine","more":1}'},
        {"answer": b'{"content":"fine","is_error":1}'},
        {"answer": b'{"content":3}'},
        {"answer": b'{"content":["fine"]}'},
        {"answer": b'{"content":[{"type":"text"}]}'},
        {"answer": b'{"content":[{"type":"text","text":"a","url":"b"}]}'},
        {"answer": b'{"content":[{"type":"image","url":"file:///etc/passwd"}]}'},
        {"answer": b'{"content":[{"type":"image","blob":"sha256:00"}]}'},
        {"answer": b'{"content":[{"type":"image","data":"%%%","media_type":"image/png"}]}'},
        {"answer": b'{"content":[{"type":"file","data":"aa==","media_type":"a b"}]}'},
        {"answer": b'{"content":[{"type":"file","data":"aa==","media_type":"a/b","filename":""}]}'},
        {"answer": b"\xff", "media_type": "text/plain"},
        {"answer": b"<p>", "media_type": "text/html"},
        {"answer": b"{}", "headers": [(b"content-encoding", b"gzip")]},
    ],
)
async def test_an_answer_of_another_form(call, answers):
    async with endpoint(**answers) as place:
        assert (await call(place)).code == "tool-result-invalid"
        assert len(place.taken) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "tool-call-refused"), (401, "tool-call-refused"), (429, "tool-call-refused"), (500, "tool-server-error"), (503, "tool-server-error")],
)
async def test_a_failure_is_an_error_result_without_the_servers_words(call, status, code):
    async with endpoint(status=status, answer=b'{"content":"stack trace of the server"}') as place:
        outcome = await call(place)
    assert (outcome.parts, outcome.is_error, outcome.code) == ((Text(DETAILS[code]),), True, code)


async def test_a_redirect_is_not_followed(call):
    async with endpoint() as other, endpoint(status=307, headers=[(b"location", other.url.encode())]) as place:
        assert (await call(place)).code == "tool-server-error"
        assert (other.taken, other.faults) == ([], [])


async def test_slowness_ends_with_the_time_of_a_call(call):
    async with endpoint(pause_seconds=30) as place:
        assert (await call(place, timeout_seconds=0.2)).code == "tool-timeout"
        assert len(place.taken) == 1


async def test_an_oversized_answer_is_not_read_to_its_end(call):
    async with endpoint(answer=b"x" * 2**26, media_type="text/plain") as place:
        outcome = await call(place, result_bytes_max=2**12)
        assert outcome.code == "tool-result-too-large"
        assert place.sent_bytes < 2**25
    async with endpoint(answer=b"x" * 2**12, media_type="text/plain") as place:
        assert not (await call(place, result_bytes_max=2**12)).is_error


async def test_a_text_that_no_blob_holds_is_not_taken_however_large_an_answer_may_be(call):
    for content, code in (("x" * limits.BLOB_BYTES_MAX, None), ("é" * (limits.BLOB_BYTES_MAX // 2 + 1), "tool-result-too-large")):
        async with endpoint(answer=content.encode(), media_type="text/plain") as place:
            assert (await call(place, result_bytes_max=2**25)).code == code


async def test_a_connection_that_breaks_leaves_the_outcome_open(call):
    async with endpoint(drop=True) as place:
        outcome = await call(place)
    assert outcome.code == "tool-connection-lost"
    assert "may have had effects" in str(outcome.parts)


async def test_nobody_there(call):
    async with endpoint() as place:
        pass
    outcome = await call(place)
    assert outcome.code == "tool-server-unreachable"
    assert "did not run" in str(outcome.parts)


async def test_a_server_that_is_not_configured_any_more(clients):
    assert (await ToolServers(clients, {}).call("gone", asked())).code == "tool-server-unknown"


@pytest.mark.parametrize("host", ["127.0.0.1", "inner.test"])
async def test_a_private_address_is_never_connected_to(host):
    clients = Clients(resolver=Hosts(inner_test=["127.0.0.1"]))
    async with endpoint() as place:
        server = configured(place.url.replace("127.0.0.1", host), allow_private_network=False)
        outcome = await ToolServers(clients, {"desk": server}).call("desk", asked())
        assert (outcome.code, place.taken, place.faults) == ("tool-server-refused", [], [])
    await clients.aclose()


async def test_no_secret_url_or_content_is_in_a_result_or_a_line_of_the_log(clients):
    stream = io.StringIO()
    handler = configure_logs("debug", "json", [], stream)
    async with endpoint(status=500, answer=f"{TOKEN}".encode()) as place, endpoint(drop=True) as broken, endpoint(answer=b"no") as other:
        for one in (place, broken, other):
            servers = ToolServers(clients, {"desk": configured(one.url, timeout_seconds=2)})
            outcome = await servers.call("desk", asked(arguments='{"q":"the prompt"}'))
            said = f"{outcome}{stream.getvalue()}"
            assert "tool server desk: a call came to nothing" in said
            assert not any(word in said for word in (TOKEN, KEY.decode(), SIGNING_KEY.reveal(), "the prompt", "127.0.0.1", "/tools"))
    handler.close()
