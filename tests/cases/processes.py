"""The service as processes of its own: started several at a time, killed, and started again."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from app.config.secret import Secret
from app.storage.migrate import migrate
from tests.api.conftest import on_socket
from tests.cases import counting, streams
from tests.cases.done import Done
from tests.cases.place import KEY, KEY_VARIABLE, tables
from tests.cases.rows import entries
from tests.database.copies import statement, with_database
from tests.services.world import World, client_of

START_SECONDS_MAX = 30
ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Served:
    """A serving process and its client. `output()` is everything that it wrote to stdout and stderr so far."""

    process: asyncio.subprocess.Process
    world: World
    folder: Path

    def output(self) -> str:
        return "".join(path.read_text("utf-8") for path in sorted(self.folder.glob("std*")))


def toml(upstream_url: str) -> str:
    """The operator's file: the upstreams of a place, and one where nobody listens."""
    found = ""
    for name, table in {**tables(upstream_url), "gone": tables("http://127.0.0.1:1/v1")["mock"]}.items():
        lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
        found += f"[upstreams.{name}]\n" + "\n".join(lines) + "\n"
    return found


@asynccontextmanager
async def served(app_url: str, upstream_url: str, *, key: str = KEY, **variables: str) -> AsyncIterator[Served]:
    """`context-ledger serve` on a free port, ended with the block."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases.toml").write_text(toml(upstream_url), "utf-8")
        environ = {word: value for word, value in os.environ.items() if not word.startswith("CONTEXT_LEDGER_")}
        environ |= {"CONTEXT_LEDGER_DATABASE_URL": app_url, KEY_VARIABLE: key, **variables}
        command = (sys.executable, "-m", "app.cli", "serve", "--json", "--port", "0", "--config", str(folder / "cases.toml"))
        out, err = (os.open(folder / kind, os.O_WRONLY | os.O_CREAT) for kind in ("stdout", "stderr"))
        try:
            process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environ, stdout=out, stderr=err)
        finally:
            os.close(out)
            os.close(err)
        try:
            async with client_of(await _ready(process, folder)) as client:
                yield Served(process, World(client), folder)
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def _ready(process: asyncio.subprocess.Process, folder: Path) -> str:
    async with asyncio.timeout(START_SECONDS_MAX):
        while not (line := (folder / "stdout").read_text("utf-8").strip()):
            assert process.returncode is None, (folder / "stderr").read_text("utf-8")
            await asyncio.sleep(0.05)
    return str(json.loads(line)["url"])


async def crash(done: Done) -> None:
    """A turn whose process is killed; then the case's steps against another process on the same database."""
    given = done.case.input
    app_url, _ = await done.places.database()
    upstream, model = done.places.shared.upstream, f"crash-{done.case.id}"
    upstream.plays[model] = done.play = streams.play_of(given)
    options = {"CONTEXT_LEDGER_LEASE_SECONDS": "1"}
    async with served(app_url, upstream.url, **options) as first:
        agent = await first.world.agent(model={"upstream": "mock", "name": model})
        done.session = await first.world.session(agent)
        await first.world.turn(done.session, "go", 202, background=True)
        await asyncio.sleep(given["kill_server_after_ms"] / 1000)
        first.process.kill()
        await first.process.wait()
    async with served(app_url, upstream.url, **options) as second:
        done.place = replace(done.place, world=second.world)
        for step in given["then"]:
            if "get" in step:
                done.turn = await streams.at_rest(done)
            elif "append" in step:
                path = f"/sessions/{done.session}/entries"
                done.answers.append(await second.world.client.post(path, json={"entries": entries(step["append"])}))
            elif "project" in step:
                done.inputs.append(await second.world.input(done.session))
        await _left_alone(done, second)
        done.facts["interruptions"] = await second.world.ledger(done.session, kinds="interruption")
        done.facts["transcript"] = await second.world.raw(done.session)
        done.facts["turns"] = (await second.world.call("GET", f"/sessions/{done.session}/turns", 200)).json()["data"]


async def _left_alone(done: Done, second: Served) -> None:
    """A turn that a living process holds outlasts several rounds of recovery; `alive` is its status then."""
    upstream, model = done.places.shared.upstream, f"alive-{done.case.id}"
    upstream.plays[model] = streams.saying("slow", delay_seconds=2.5)
    session = await second.world.session(await second.world.agent(model={"upstream": "mock", "name": model}))
    turn = await second.world.turn(session, "go")
    done.facts["alive"] = turn["status"]


async def startup(done: Done) -> None:
    """Several processes that migrate one empty database at the same time, or a service without a network."""
    if "workers" in done.case.input:
        await _together(done)
    else:
        await _without_network(done)


async def _together(done: Done) -> None:
    server, name = done.places.server, f"{done.places.server.template}_empty_{os.getpid()}"
    await statement(server, f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        url = with_database(server.admin_url, name)
        said: list[str] = []
        workers = range(done.case.input["workers"])
        done.facts["killed"] = await _killed(url)
        done.facts["reached"] = await asyncio.gather(*[migrate(url, report=said.append) for _ in workers])
        done.facts["applied"] = [line for line in said if line.startswith("applying ")]
        settings = replace(done.place.settings, database_url=Secret(with_database(server.app_url, name)))
        done.facts["ready"] = await asyncio.gather(*[_is_ready(settings) for _ in workers])
        said.clear()
        done.facts["again"] = await migrate(url, report=said.append)
        done.facts["applied_again"] = sum(line.startswith("applying ") for line in said)
    finally:
        await statement(server, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def _is_ready(settings: Any) -> int:
    async with on_socket(settings) as url, client_of(url) as client:
        return (await client.get("/readyz")).status_code


async def _killed(url: str) -> int:
    """A process that is killed in the middle of its migration, under the lock; its exit code."""
    program = (
        "import asyncio, os, sys; from app.storage.migrate import migrate; "
        "asyncio.run(migrate(sys.argv[1], report=lambda line: os.kill(os.getpid(), 9) if line.startswith('applying') else None))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, url, cwd=ROOT)
    return await asyncio.wait_for(process.wait(), START_SECONDS_MAX)


async def _without_network(done: Done) -> None:
    """A service whose look-ups all fail, from its start on: nothing may be fetched to count tokens."""

    def refuse(*_: Any) -> Any:
        raise OSError("there is no network")

    with patch("socket.getaddrinfo", refuse), patch("urllib.request.urlopen", refuse):
        done.place = await done.places.own()
        done.facts["counted"] = []
        for step in done.case.input["then"]:
            one = replace(done.case, input=step)
            inner = Done(one, done.places, done.place)
            await counting.count(inner)
            done.facts["counted"] += inner.facts["tokens"]


async def refused_start(database_url: str) -> str:
    """What `serve` says of a database URL that it cannot use, before it ends."""
    environ = {**os.environ, "CONTEXT_LEDGER_DATABASE_URL": database_url}
    command = (sys.executable, "-m", "app.cli", "serve", "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    said, _ = await asyncio.wait_for(process.communicate(), START_SECONDS_MAX)
    assert process.returncode not in (0, None)
    return said.decode()
