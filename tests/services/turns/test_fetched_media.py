"""Images by URL for a model that takes no URLs: fetched once where the operator allows it, else a loss."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.openai_chat import fake_openai
from tests.fakes.serving import serving
from tests.services.turns.test_dispatch import DONE, MODEL
from tests.services.world import World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


class Pictures:
    """A web server: pictures, a page, a redirect, a loop. `asked` are the paths in the order in which they were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.headers: list[dict[bytes, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        self.headers.append(dict(scope["headers"]))
        status, headers, body = {
            "/a.png": (200, [(b"content-type", b"image/png")], PNG),
            "/page": (200, [(b"content-type", b"text/html")], b"<p>"),
            "/moved": (302, [(b"location", b"/a.png")], b""),
            "/loop": (302, [(b"location", b"/loop")], b""),
        }.get(scope["path"], (404, [], b""))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def told(settings: Settings, fetch_media: str, *paths: str) -> AsyncIterator[tuple[World, str, Any, Any, Pictures]]:
    """A turn with images by URL: the world, the session, the body that the model got, the transcript's first message, the server."""
    pictures = Pictures()
    async with serving(pictures), fake_openai([DONE]) as fake:
        upstream = fake.upstream(quirks={"image_urls": False})
        settings = replace(settings, fetch_media=fetch_media, upstreams={**settings.upstreams, "openai": upstream})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent(model=MODEL))
            await world.turn(session, [{"type": "image", "url": pictures.url + path} for path in paths])
            entry = (await world.call("GET", f"/sessions/{session}/raw", 200)).json()["data"][0]
            yield world, session, fake.served[0]["messages"][0]["content"], entry, pictures


@pytest.mark.req("X-18")
async def test_what_is_fetched_is_sent_as_bytes_and_keeps_its_url(settings: Settings) -> None:
    async with told(settings, "any", "/a.png", "/moved", "/a.png") as (world, session, sent, entry, pictures):
        assert sorted(pictures.asked) == ["/a.png", "/a.png", "/moved"]
        assert all(b"authorization" not in headers and b"cookie" not in headers for headers in pictures.headers)
        url = "data:image/png;base64," + base64.b64encode(PNG).decode()
        assert [part["image_url"]["url"] for part in sent] == [url] * 3
        parts = entry["body"]["parts"]
        assert all(part["url"].startswith("http://") and part["blob"]["byte_length"] == len(PNG) for part in parts)
        asked = len(pictures.asked)
        await world.turn(session)
        assert len(pictures.asked) == asked, "once, at acceptance"


@pytest.mark.parametrize(("fetch_media", "path", "asked"), [("off", "/a.png", 0), ("public", "/a.png", 0), ("any", "/page", 1), ("any", "/loop", 4)])
async def test_what_cannot_be_had_is_a_loss_and_no_failure(settings: Settings, fetch_media: str, path: str, asked: int) -> None:
    async with told(settings, fetch_media, path) as (world, session, sent, entry, pictures):
        assert len(pictures.asked) == asked
        assert "[image not shown" in str(sent)
        assert "blob" not in entry["body"]["parts"][0]
        losses = (await world.input(session))["losses"]
        assert losses == [{"what": "image", "why": "no_image_urls", "seq": entry["seq"], "part": 0}]
