"""Bytes uploaded ahead of the message that names them."""

import httpx
import pytest

from app.config import limits
from tests.api.conftest import open_session

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


async def upload(client: httpx.AsyncClient, session: str, content: bytes = PNG, media_type: str = "image/png", key: str = "") -> httpx.Response:
    headers = {"content-type": media_type, **({"idempotency-key": key} if key else {})}
    return await client.post(f"/sessions/{session}/blobs", content=content, headers=headers)


@pytest.mark.req("X-18")
async def test_a_blob_is_stored_once_and_named_by_its_digest(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    first = await upload(client, session)
    assert first.status_code == 201, first.text
    blob = first.json()
    assert (blob["media_type"], blob["byte_length"], blob["digest"][:7]) == ("image/png", len(PNG), "sha256:")
    again = await upload(client, session, media_type="image/gif")
    assert (again.status_code, again.json()) == (200, blob), "the same bytes keep the media type of the first time"
    read = await client.get(f"/sessions/{session}/blobs/{blob['digest']}")
    assert (read.content, read.headers["content-type"]) == (PNG, "image/png")
    said = {"input": [{"type": "text", "text": "see"}, {"type": "image", "blob": blob["digest"]}]}
    turn = await client.post(f"/sessions/{session}/turns", json=said)
    assert turn.json()["status"] == "completed", turn.text
    raw = (await client.get(f"/sessions/{session}/raw")).json()["data"]
    assert raw[0]["body"]["parts"][1]["blob"] == blob
    body = (await client.get(f"/sessions/{session}/model-input")).json()["body"]
    assert body["messages"][0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


async def test_a_blob_belongs_to_its_session(client: httpx.AsyncClient) -> None:
    session, other = await open_session(client), await open_session(client)
    digest = (await upload(client, session)).json()["digest"]
    assert (await client.get(f"/sessions/{other}/blobs/{digest}")).status_code == 404
    refused = await client.post(f"/sessions/{other}/turns", json={"input": [{"type": "image", "blob": digest}]})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "unknown-blob")
    assert (await upload(client, "ses_nobody")).status_code == 404
    assert (await upload(client, "ses_01h455vb4pex5vsknk084sn02q")).status_code == 404


async def test_what_is_no_blob_is_refused(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    for media_type in ("", "png", "image/png\\x00"):
        assert (await upload(client, session, media_type=media_type)).status_code == 415
    assert (await upload(client, session, b"")).status_code == 422
    large = await upload(client, session, bytes(limits.BLOB_BYTES_MAX + 1))
    assert (large.status_code, large.json()["code"]) == (413, "payload-too-large")


async def test_a_key_gives_the_first_answer_again(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    first, again = [await upload(client, session, key="k") for _ in range(2)]
    assert (first.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert again.json() == first.json()
    other = await upload(client, session, b"other bytes", key="k")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
