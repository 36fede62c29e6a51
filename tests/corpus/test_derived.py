"""Every call of a long session is derived again: by a later process, with another version of a package that has no part in it, and
until one byte of one payload is changed, which is then found with its place."""

import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.cli.commands import serving
from tests.corpus.played import LONG, of_corpus, of_file, of_our_own, played
from tests.services.world import World

UNRELATED = "sniffio"
"""A package that the service loads and that plays no part in compiling."""


SAID = re.compile('"type":"text","text":"(?=[A-Z])')


@dataclass(frozen=True, slots=True)
class Played:
    settings: Settings
    url: str
    session: str
    calls: list[Any]


@pytest_asyncio.fixture(params=["own", "file", "files"])
async def long_session(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Played]:
    """A session of more than 200 calls, whose service has ended; but for the one file, whose turns are long, of more than 200 turns too."""
    settings = Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5)
    if request.param == "own":
        play = of_our_own()
    else:
        folder = request.getfixturevalue("shared") / "corpus" / "transcripts"
        play = of_file(folder / "claude_code" / LONG) if request.param == "file" else of_corpus(folder, 210)
    async with running(settings) as app, talking(app) as client:
        session, calls = await played(World(client), play)
    assert len(calls) >= max(200, len(play.steps))
    assert request.param == "file" or len({call["turn_id"] for call in calls}) > 200
    yield Played(settings, database_url, session, calls)


def upgraded(folder: Path) -> None:
    """Another version of the package in a folder that comes first on the path of a process started there; loading it leaves a mark."""
    found = metadata.distribution(UNRELATED)
    for name in {Path(str(file)).parts[0] for file in found.files or ()}:
        shutil.copytree(str(found.locate_file(name)), folder / name)
    (info,) = folder.glob(f"{UNRELATED}-*.dist-info")
    about = (info / "METADATA").read_text()
    (info / "METADATA").write_text(about.replace(f"Version: {found.version}", "Version: 9999.1.1"))
    loaded = folder / UNRELATED / "__init__.py"
    loaded.write_text(f'{loaded.read_text()}\n__version__ = "9999.1.1"\nopen({str(folder / "loaded")!r}, "w").close()\n')


@pytest.mark.req("S3-01", "S3-16", "S3-39", "S0-06")
@pytest.mark.timeout(300)
async def test_every_call_is_derived_again_after_a_restart_and_an_upgrade(long_session: Played, tmp_path: Path) -> None:
    paths = [f"/sessions/{long_session.session}/calls/{call['id']}/model-input" for call in long_session.calls]
    async with running(long_session.settings) as app, talking(app) as client:
        for path, call in zip(paths, long_session.calls, strict=True):
            seen = (await client.get(path)).json()
            assert (seen["verified"], seen["digest"]) == (True, call["digest"]), call
    upgraded(tmp_path)
    with serving(tmp_path, database_url=long_session.url) as service:
        assert [service.ask(path)[1]["verified"] for path in paths] == [True] * len(paths)
        assert service.ask(f"/sessions/{long_session.session}/verify")[1]["ok"] is True
    assert (tmp_path / "loaded").exists()


@pytest.mark.req("S3-40", "X-91")
@pytest.mark.parametrize("long_session", ["own"], indirect=True)
@pytest.mark.timeout(300)
async def test_one_changed_byte_is_found_by_verify_and_by_the_calls_that_were_sent_it(long_session: Played, migrate_url: str) -> None:
    owner = await asyncpg.connect(migrate_url)
    try:
        rows = await owner.fetch("SELECT seq, payload::text AS payload FROM ledger.entries WHERE kind = 'assistant_message' ORDER BY seq")
        seq, payload = next((row["seq"], row["payload"]) for row in rows[len(rows) // 2 :] if SAID.search(row["payload"]))
        at = next(SAID.finditer(payload)).end()  # the first letter of what the model was sent
        changed = payload[:at] + chr(ord(payload[at]) ^ 1) + payload[at + 1 :]
        await owner.execute("SET session_replication_role = replica")
        await owner.execute("UPDATE ledger.entries SET payload = $1::text::json WHERE seq = $2", changed, seq)
    finally:
        await owner.close()
    async with running(long_session.settings) as app, talking(app) as client:
        world = World(client)
        verified = (await world.call("GET", f"/sessions/{long_session.session}/verify", 200)).json()
        assert (verified["ok"], [problem["seq"] for problem in verified["problems"]]) == (False, [seq])
        touched = [call for call in long_session.calls if call["head_seq"] >= seq]
        spared = [call for call in long_session.calls if call["head_seq"] < seq]
        assert touched
        assert spared
        for call in (spared[-1], touched[0], touched[-1]):
            seen = (await world.call("GET", f"/sessions/{long_session.session}/calls/{call['id']}/model-input", 200)).json()
            found = (seen["verified"], seen.get("mismatch"))
            assert found == ((True, None) if call in spared else (False, {"source": "entries", "seq": seq}))
