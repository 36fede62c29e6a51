"""Group i: what one tenant may learn of another, what may be seen of secrets and prompts, and where the service may connect to."""

import re

import pytest

from app.config.faults import ConfigError
from app.config.upstreams import Timeouts, read_upstreams
from tests.cases import processes
from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.place import KEY_VARIABLE, tables
from tests.cases.streams import saying

PROBES = ("PROBE-VALIDATION-77", "PROBE-PASS")
CANARY = "PROBE-CANARY-41f0"


def hidden(done: Done, *secrets: str) -> None:
    """None of the secrets is in an answer or in the log."""
    for secret in secrets:
        assert all(secret not in answer.text for answer in done.answers)
        assert secret not in done.place.log.getvalue()


@expects("key-echo-in-auth-error", pytest.mark.req("X-86"), keys=True)
async def a_refused_key(done: Done) -> None:
    assert [(answer.status_code, answer.json()["code"]) for answer in done.answers] == [(401, "unauthorized")] * 2
    hidden(done, "FAKE-1234567890abcdef", "567890abcdef")


@expects("credentials-in-debug-log", pytest.mark.req("X-86"))
async def keys_in_the_log(done: Done) -> None:
    assert [answer.json()["status"] for answer in done.answers] == ["failed", "failed"]
    assert done.facts["sent"]["authorization"].startswith("Bearer sk-FAKE-")
    assert '"level"' in done.facts["output"]
    for forbidden in done.case.input["forbidden"]:
        assert forbidden not in done.facts["output"]
        assert all(forbidden not in answer.text for answer in done.answers)


@expects("internal-details-to-client", pytest.mark.req("X-86"))
async def an_inner_failure(done: Done) -> None:
    """Chosen: a failure of the database is 503, as it may pass; any other one is 500."""
    assert [(answer.status_code, answer.json()["code"]) for answer in done.answers] == [(503, "unavailable"), (500, "internal")]
    for answer in done.answers:
        assert answer.json().keys() == {"type", "title", "status", "detail", "instance", "code", "request_id"}
        assert not [secret for secret in ("pw-canary-1", "db.internal.test", "/opt/app", "Error") if secret in answer.text]
    assert "pw-canary-1" not in done.place.log.getvalue()


@expects("prompt-text-in-db-error", pytest.mark.req("X-86"))
async def a_refused_insert(done: Done) -> None:
    """The log has the error's class, its SQLSTATE and the request's id; a statement is one function call, which `append` names."""
    (answer,) = done.answers
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    hidden(done, CANARY)
    log = done.place.log.getvalue()
    assert answer.json()["request_id"] in log
    assert "StorageFault" in log
    assert "P0001" in log


@expects("validation-error-echoes-input", pytest.mark.req("X-86"), own=True)
async def refused_input(done: Done) -> None:
    """Providers are the operator's configuration: what the case puts there by HTTP is no route, and is refused by the reader of that file."""
    first, second = done.answers
    assert (first.status_code, first.json()["code"]) == (422, "invalid-request")
    assert all(fault.keys() == {"pointer", "code", "detail"} for fault in first.json()["errors"])
    assert second.status_code == 404
    given = done.case.input["requests"][1]["body"]
    with pytest.raises(ConfigError) as caught:
        read_upstreams({"x": {"dialect": "openai-chat", **given}}, {}, Timeouts(), 2)
    assert "PROBE" not in str(caught.value)
    hidden(done, *PROBES)
    said = await processes.refused_start("postgresql://app:PROBE-PASS/1@h/x")
    assert said
    assert "PROBE-PASS" not in said


@expects("child-id-of-other-session", pytest.mark.req("X-87"))
async def ids_of_another_tenant(done: Done) -> None:
    """A result for a call of A is B's own entry: nothing of A is looked at, and B's model never gets it, since it pairs with nothing."""
    fork, result, cursor, checkpoint = done.answers
    assert [fork.status_code, result.status_code, cursor.status_code, checkpoint.status_code] == [404, 201, 200, 404]
    assert not [secret for secret in ("said by A", "answered to A", '"for"') if any(secret in answer.text for answer in done.answers)]
    found = (await done.world.call("GET", f"/sessions/{done.session}/model-input", 200)).json()
    assert found["body"]["messages"] == []


@expects("ssrf-redirect-and-rebinding")
async def addresses_that_are_not_public(done: Done) -> None:
    """The service fetches nothing but upstreams' answers yet. Redirects are followed nowhere, so there are no hops to judge."""
    redirect, rebinding, dual, loop = done.facts["outcomes"]
    assert redirect == loop == ["upstream-error", "1"]
    assert rebinding == ["93.184.216.34", "refused"]
    assert dual == ["refused", "refused"]


@expects("header-injection-outbound")
async def headers_that_are_none(done: Done) -> None:
    """Chosen: keys and headers of upstreams are refused when the configuration is read; an empty key is no key; nothing is stripped."""
    *providers, _ = done.case.input["requests"]
    for request in providers:
        given = {key: value for key, value in request["body"].items() if key != "api_key"}
        key = request["body"]["api_key"]
        environ = {"K": key}
        if not key:
            assert read_upstreams({"x": {**given, "api_key_env": "K"}}, environ, Timeouts(), 2)["x"].api_key is None
            continue
        with pytest.raises(ConfigError, match=r"upstreams\.x\.api_key_env") as caught:
            read_upstreams({"x": {**given, "api_key_env": "K"}}, environ, Timeouts(), 2)
        assert key.strip() not in str(caught.value)
    assert [answer.status_code for answer in done.answers] == [404] * len(providers) + [422]
    assert "/extra_headers" in {fault["pointer"] for fault in done.answers[-1].json()["errors"]}
    play = saying("hello")
    await done.world.turn(await done.place.playing(play))
    assert not {"x-evil", "x-a"} & play.seen[0].headers.keys()
    table = {**tables("https://api.example.com/v1")["mock"], "headers": {"X-A\r\nX-Evil": "1"}}
    with pytest.raises(ConfigError, match=r"upstreams\.x\.headers"):
        read_upstreams({"x": table}, {KEY_VARIABLE: "k"}, Timeouts(), 2)


@expects("response-header-injection")
async def headers_of_answers(done: Done) -> None:
    plain, export, long = done.answers
    assert [plain.status_code, export.status_code, long.status_code] == [200, 422, 200]
    for answer in done.answers:
        assert not {"set-cookie", "x-evil"} & answer.headers.keys()
        assert re.fullmatch("[A-Za-z0-9._-]{1,128}", answer.headers["x-request-id"])
        assert "z" * 100 not in answer.headers["x-request-id"]


@expects("key-in-upstream-url-traceback", pytest.mark.req("X-86"))
async def a_key_that_the_provider_repeats(done: Done) -> None:
    """The error names the status; upstream, dialect and attempts stand in the record of the call. A path is none of a client's business."""
    key = done.case.input["credentials"]["api_key"]
    (seen,) = done.played.seen
    assert seen.headers["x-goog-api-key"] == key
    assert key not in seen.path
    assert (done.turn["status"], done.turn["error"]["code"], done.turn["error"]["attempt_status"]) == ("failed", "upstream-error", 400)
    calls = await done.world.call("GET", f"/sessions/{done.session}/calls", 200)
    (call,) = calls.json()["data"]
    assert (call["upstream"], call["dialect"], call["attempts"][0]["http_status"]) == ("gemini", "gemini", 400)
    metrics = await done.world.client.get("/metrics")
    ledger = await done.world.ledger(done.session)
    for told in (str(done.turn), "\n".join(done.lines), calls.text, str(ledger), metrics.text, done.place.log.getvalue()):
        assert "AIzaSy" not in told
