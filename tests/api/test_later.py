"""Routes of the contract that are not built: said so to those who would be admitted, and never told apart by what they name."""

import httpx
import pytest

from app.api.routes.later import LATER
from app.config.settings import Settings
from tests.api.conftest import open_session, running, talking, with_keys


@pytest.mark.parametrize(("method", "path"), [row[:2] for row in LATER])
async def test_what_a_later_version_has_is_not_yet_supported(client: httpx.AsyncClient, method: str, path: str) -> None:
    session = await open_session(client)
    named = path.format(session_id=session, user="u", seq=1, turn_id="t", checkpoint_id="c")
    answer = await client.request(method, f"{named}?from=1", content=b"anything")
    assert (answer.status_code, answer.json()["code"]) == (422, "not-yet-supported")
    assert (await client.get("/openapi.json")).json()["paths"].get(path, {}).get(method.lower()) is None


async def test_it_is_said_to_keys_with_the_scope_alone(settings: Settings) -> None:
    async with running(with_keys(settings)) as app, talking(app) as client:
        assert (await client.delete("/users/u")).status_code == 401
