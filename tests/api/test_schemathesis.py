"""schemathesis against the running service, with and without keys: no 500, no answer outside the checked-in schema, no bad request let through.

`SCHEMATHESIS_EXAMPLES` (4 where it is not set) asks for a longer run: so many drawn requests an operation.
"""

import asyncio
import os
import sys
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.api.conftest import on_socket, open_session, with_keys

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,negative_data_rejection"
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "4")
KEY = "boot-" + "k" * 40


@pytest.mark.timeout(180 if EXAMPLES == "4" else 3600)
@pytest.mark.parametrize(("auth", "phases"), [("local", "coverage,fuzzing,stateful"), ("keys", "fuzzing")])
async def test_no_answer_leaves_the_schema(settings: Settings, tmp_path: Path, auth: str, phases: str) -> None:
    served = settings if auth == "local" else with_keys(settings, KEY)
    headers = {} if auth == "local" else {"authorization": f"Bearer {KEY}"}
    async with on_socket(served) as url:
        async with httpx.AsyncClient(base_url=url, headers=headers) as client:
            session = await open_session(client)
            assert (await client.post(f"/sessions/{session}/turns", json={"input": "x"})).status_code == 200
        arguments = ["run", f"{url}/openapi.json", "--checks", CHECKS, "--phases", phases, "--max-examples", EXAMPLES]
        for name, value in headers.items():
            arguments += ["--header", f"{name}: {value}"]
        # SIGKILL, should the test be given up: a run that nobody reads has nothing to lose.
        running = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("schemathesis"),
            *arguments, "--seed", "7", "--request-timeout", "10", "--continue-on-failure",
            cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            told, _ = await running.communicate()
        finally:
            if running.returncode is None:
                running.kill()
    assert running.returncode == 0, told.decode()[-6000:]


@pytest.mark.parametrize("path", ["/sessions", "/sessions/{}/entries", "/sessions/{}/turns", "/sessions/{}/stop", "/validate/openai-chat"])
async def test_every_post_refuses_an_ill_formed_key(client: httpx.AsyncClient, path: str) -> None:
    session = await open_session(client)
    bodies = {
        "/sessions": {"agent": "triage"},
        "/sessions/{}/entries": {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": "x"}]}]},
    }
    body = bodies.get(path, {"input": "x"} if path.endswith("turns") else {})
    for key in ("a b", "é", "x" * 256, ""):
        answer = await client.post(path.format(session), json=body, headers={b"idempotency-key": key.encode()})
        assert answer.status_code == 422, (key, answer.text)
        assert answer.json()["code"] == "invalid-idempotency-key"
