"""schemathesis against the running service: no 500, and every answer within the checked-in schema."""

import asyncio
import sys
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import open_session

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.timeout(300)
async def test_no_answer_leaves_the_schema(url: str, tmp_path: Path) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        session = await open_session(client)
        await client.post(f"/sessions/{session}/turns", json={"input": "x"})
    command = Path(sys.executable).with_name("schemathesis")
    arguments = ["run", f"{url}/openapi.json", "--checks", CHECKS, "--phases", "coverage,fuzzing", "--max-examples", "4", "--seed", "7"]
    running = await asyncio.create_subprocess_exec(
        command, *arguments, "--request-timeout", "10", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await running.communicate()
    assert running.returncode == 0, told.decode()[-6000:]
