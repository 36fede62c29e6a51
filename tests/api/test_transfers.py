"""Files in and out over HTTP: what goes out comes in again as it was, and what cannot be read is refused with words."""

import json

import httpx
import pytest

from app.formats.registry import IMPORTERS
from tests.api.conftest import open_session
from tests.corpus.test_importers import FOLDERS, OWN

CHAT = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}


@pytest.mark.req("X-17", "T-22", "S1-08")
async def test_a_chat_becomes_a_session_and_says_what_became_of_each_message(client: httpx.AsyncClient) -> None:
    await open_session(client)
    report = (await client.post("/sessions/import?format=openai-chat&agent=triage", content=json.dumps(CHAT))).json()["sessions"][0]
    assert (report["messages"], report["already_stored"], report["lost"]) == (3, 0, [])
    ledger = (await client.get(f"/sessions/{report['id']}/raw?view=ledger")).json()["data"]
    assert [entry["kind"] for entry in ledger] == ["session_opened", "system_message", "user_message", "assistant_message"]
    body = (await client.get(f"/sessions/{report['id']}/model-input")).json()["body"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant"]
    again = (await client.post("/sessions/import?format=openai-chat&agent=triage", content=json.dumps(CHAT))).json()["sessions"][0]
    assert (again["id"], again["already_stored"]) == (report["id"], 3)


async def test_an_export_is_imported_again_as_it_was(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    attributes = b'{"entries":[{"kind":"user_message","parts":[{"type":"text","text":"nul \\u0000 \\ud83d"}],"attributes":{"z":1.0,"a":1e2}}]}'
    await client.post(f"/sessions/{session}/entries", content=attributes, headers={"content-type": "application/json"})
    exported = await client.get(f"/sessions/{session}/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    assert exported.headers["content-disposition"].startswith("attachment")
    dry = (await client.post("/sessions/import?format=jsonl&dry_run=true", content=exported.content)).json()["sessions"][0]
    assert (dry["id"], dry["already_stored"]) == (session, dry["messages"])
    chat = (await client.get(f"/sessions/{session}/export?format=openai-chat")).json()
    assert [message["role"] for message in chat["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/sessions/import", 422, "invalid-request"),
        ("/sessions/import?format=word", 422, "invalid-request"),
        ("/sessions/import?format=codex", 422, "unreadable-import"),
        ("/sessions/import?format=openai-chat&agent=nobody", 404, "not-found"),
        ("/sessions/import?format=jsonl", 422, "unreadable-import"),
    ],
)
async def test_what_cannot_be_imported_is_refused_with_words(client: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    await open_session(client)
    answer = await client.post(path, content=b"SECRET-WORDS that are no file")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "SECRET" not in answer.text


async def test_an_import_under_a_key_is_one_import(client: httpx.AsyncClient) -> None:
    await open_session(client)
    answers = [
        await client.post("/sessions/import?format=openai-chat&agent=triage", content=json.dumps(CHAT), headers={"idempotency-key": "k"})
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    assert "idempotent-replayed" in answers[1].headers
    dry = await client.post(
        "/sessions/import?format=openai-chat&agent=triage&dry_run=true", content=json.dumps(CHAT), headers={"idempotency-key": "k"}
    )
    assert (dry.status_code, dry.json()["code"]) == (422, "idempotency-key-reused")


async def test_a_form_that_is_not_built_is_not_exported(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    answer = await client.get(f"/sessions/{session}/export?format=markdown")
    assert (answer.status_code, answer.json()["code"]) == (422, "not-yet-supported")


async def test_an_unknown_session_is_not_exported(client: httpx.AsyncClient) -> None:
    assert (await client.get("/sessions/ses_01h455vb4pex5vsknk084sn02q/export")).status_code == 404


@pytest.mark.parametrize(("folder", "format"), FOLDERS.items())
async def test_a_file_of_every_format_becomes_a_session(client: httpx.AsyncClient, folder: str, format: str) -> None:
    await open_session(client)
    for path in sorted((OWN / folder).iterdir()):
        answer = await client.post(f"/sessions/import?format={format}&agent=triage", content=path.read_bytes())
        assert answer.status_code == 201, answer.text
        (report,) = answer.json()["sessions"]
        assert report["messages"] > 0
        found = (await client.get(f"/sessions/{report['id']}/model-input")).json()
        assert found["violations"] == []
        assert "import/" not in json.dumps(found["body"]), "no block of a file goes to anybody"


async def test_the_contract_names_every_format(client: httpx.AsyncClient) -> None:
    parameters = (await client.get("/openapi.json")).json()["paths"]["/sessions/import"]["post"]["parameters"]
    (format,) = [parameter["schema"] for parameter in parameters if parameter["name"] == "format"]
    assert format == {"type": "string", "enum": list(IMPORTERS)}
