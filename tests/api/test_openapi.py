"""The checked-in document, and the service held against it."""

from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator

from app.api.app import OPERATIONS
from app.api.describe import document, rendered
from app.api.schemas.named import NAMED

FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"


def test_the_checked_in_document_is_what_the_service_serves() -> None:
    assert FILE.read_bytes() == rendered(OPERATIONS), "run `make openapi` and look at the difference"


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    for operation in OPERATIONS:
        if operation.body is not None:
            Draft202012Validator.check_schema(operation.body)
    for schema in NAMED.values():
        Draft202012Validator.check_schema(schema)
    names = {name.rpartition("/")[2] for name in _references(document(OPERATIONS))}
    assert names <= NAMED.keys()


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        here = [found for key, found in value.items() if key == "$ref" and isinstance(found, str)]
        return here + [one for inner in value.values() for one in _references(inner)]
    return [one for inner in value for one in _references(inner)] if isinstance(value, list) else []


def test_every_post_takes_a_key_and_says_where_it_was_known() -> None:
    """http-api 1: a key is accepted on every POST."""
    posts = [methods["post"] for methods in document(OPERATIONS)["paths"].values() if "post" in methods]
    assert len(posts) > 10
    for post in posts:
        assert "Idempotency-Key" in [parameter["name"] for parameter in post["parameters"]]
        told = [answer.get("headers", {}) for status, answer in post["responses"].items() if status.startswith("2")]
        assert told
        assert all("Idempotent-Replayed" in headers for headers in told), post["operationId"]


def test_names_of_operations_differ() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))


@pytest.mark.req("T-24", "S2-10")
async def test_a_preview_writes_nothing_and_is_asked_for_again_by_its_etag(client: httpx.AsyncClient) -> None:
    from tests.api.conftest import open_session

    session = await open_session(client, context=[{"renderer": "system", "text": "You greet."}, {"renderer": "history"}])
    await client.post(f"/sessions/{session}/turns", json={"input": "hello"})
    before = (await client.get(f"/sessions/{session}")).json()
    path = f"/sessions/{session}/model-input"
    found = await client.get(path)
    assert [message["role"] for message in found.json()["body"]["messages"]] == ["system", "user", "assistant"]
    tag = found.headers["etag"]
    assert tag.startswith(f'"{before["head_seq"]}-')
    assert len(tag) == len(f'"{before["head_seq"]}-"') + 16
    assert (await client.get(path, headers={"If-None-Match": tag})).status_code == 304
    assert (await client.get(path, params={"include": "budget"}, headers={"If-None-Match": tag})).status_code == 200
    budget = (await client.get(path, params={"include": "budget"})).json()
    assert "body" not in budget
    assert budget["budget"]["verdict"] == "fits"
    asked = {"input": "and now?", "overrides": {"tool_choice": "none"}}
    what_if = await client.post(path, json=asked, headers={"Idempotency-Key": "w"})
    assert what_if.json()["body"]["messages"][-1]["content"] == "and now?"
    again = await client.post(path, json=asked, headers={"Idempotency-Key": "w"})
    assert (again.text, again.headers["idempotent-replayed"]) == (what_if.text, "true")
    assert (await client.get(f"/sessions/{session}")).json() == before
    calls = (await client.get(f"/sessions/{session}/calls")).json()["data"]
    verified = (await client.get(f"/sessions/{session}/calls/{calls[0]['id']}/model-input")).json()
    assert verified["verified"] is True
    whole = (await client.get(f"/sessions/{session}/calls/{calls[0]['id']}")).json()
    assert {"manifest", "source_map"} <= whole.keys()
    shown = (await client.get(f"/sessions/{session}/source-map")).json()
    assert shown["history_message_count"] == 1
    assert not {"body", "messages"} & shown.keys()


async def test_any_body_is_held_against_its_dialect(client: httpx.AsyncClient) -> None:
    good = await client.post("/validate/openai-chat", json={"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    assert (good.status_code, good.json()["valid"]) == (200, True)
    orphan = {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}
    bad = (await client.post("/validate/openai-chat", json=orphan)).json()
    assert bad["valid"] is False
    assert bad["violations"][0]["pointer"].startswith("/messages")
    assert (await client.post("/validate/nothing", json={})).status_code == 404
