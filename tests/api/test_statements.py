"""What the service asks of the database does not grow with a session: the statements of each request, counted."""

from typing import Any

import httpx

from app.config.settings import Settings
from tests.api.conftest import message, open_session, running, talking
from tests.statements import statements

MOST = {"GET model-input": 4, "GET raw": 3, "POST entries": 4, "GET": 3, "GET turns": 3}
"""Statements of a request at most; caches of agents may still be cold."""


async def asked(client: httpx.AsyncClient, session: str) -> dict[str, int]:
    """How many statements each request sends, by its name."""
    found = {}
    for name in MOST:
        method, _, path = name.partition(" ")
        body: dict[str, Any] = {"json": {"entries": [message("y")]}} if method == "POST" else {}
        with statements() as sent:
            answer = await client.request(method, f"/sessions/{session}/{path}".rstrip("/"), **body)
        assert answer.status_code in (200, 201), answer.text
        found[name] = len(sent)
    return found


async def test_the_statements_of_a_request_do_not_grow_with_the_session(settings: Settings) -> None:
    async with running(settings) as app, talking(app) as client:
        short, long = await open_session(client), await open_session(client)
        for session, times in ((short, 1), (long, 3)):
            for _ in range(times):
                entries = [message(f"text {number}") for number in range(256 if times > 1 else 2)]
                assert (await client.post(f"/sessions/{session}/entries", json={"entries": entries})).status_code == 201
        few, many = await asked(client, short), await asked(client, long)
    assert few == many
    assert not {name: count for name, count in many.items() if count > MOST[name]}
