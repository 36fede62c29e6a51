"""Long sessions, brought in and driven on through windows that are too small for them, in every dialect.

Of each call: derived again to the byte, within its limit, nobody objects, and what is covered and what has a row are all that was said.
Under `make laws` every session goes through every window in every dialect with both forms of summary, else each window of each dialect once.
"""

import json
import os
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import on_socket
from tests.database.copies import copy_of_template, with_database
from tests.database.shared import Server
from tests.judges.driven import CONTEXT, SCRIPT, SUMMARIES, TOOLS, WINDOWS, WORDS_OF_SUMMARY, Drive, summary
from tests.judges.long_sessions import CORPUS, OWN, Long, brought
from tests.judges.targets import MODELS
from tests.services.world import World, client_of

pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

WAYS = [(dialect, window) for window in WINDOWS for dialect in MODELS]
ALL = [(name, *way, form) for name, way, form in product((OWN, *CORPUS), WAYS, SUMMARIES)]
SOME = [
    (name, *way, SUMMARIES[(at + at // len(MODELS)) % len(SUMMARIES)])
    for at, way in enumerate(WAYS)
    for name in (tuple(CORPUS)[at % len(CORPUS)], *([] if at % 2 else [OWN]))
]
DRIVES = ALL if os.environ.get("CONTEXT_LEDGER_TEST_NEW_EXAMPLES") else SOME
FOLDS = ("checkpoint", "compaction_failed", "pruned")
TURNS = 3


@dataclass
class Place:
    """A running service, and the long sessions that were brought into it so far."""

    world: World
    transcripts: Path | None
    long: dict[str, Long] = field(default_factory=dict)

    async def of(self, name: str) -> Long:
        """The session of that name, brought in once."""
        if name != OWN and self.transcripts is None:
            pytest.skip(f"{name} is a real transcript that is no part of the project, and its folder is absent; the project's own is driven alike")
        if name not in self.long:
            self.long[name] = await brought(self.world, name, None if name == OWN else self.transcripts)
        return self.long[name]

    async def agent(self, long: Long, dialect: str, window: str, form: str, **document: Any) -> str:
        """An agent for a window of that size, whose summaries have that form."""
        params = {"dialect": dialect, "script": SCRIPT, "compaction_script": [summary(form, long.first_seq)]}
        model = {"upstream": "scripted", "name": MODELS[dialect][0], "params": params}
        limits = dict(zip(("context_window", "max_output_tokens"), WINDOWS[window], strict=True))
        return await self.world.agent(model=model, limits=limits, tools=TOOLS, context=CONTEXT, **document)

    async def drive(self, name: str, dialect: str) -> tuple[Drive, Long]:
        """A fork of the session where it was brought in, so that each drive has a session of its own with the same past."""
        long = await self.of(name)
        fork = (await self.world.call("POST", f"/sessions/{long.session}/fork", 201, json={"at_seq": long.head_seq})).json()
        return Drive(self.world, fork["id"], dialect), long


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(database_server: Server) -> AsyncIterator[Place]:
    folder = Path(os.environ.get("CONTEXT_LEDGER_SHARED") or Path(__file__).parents[3] / "shared") / "corpus" / "transcripts"
    async with copy_of_template(database_server) as name:
        settings = Settings(database_url=Secret(with_database(database_server.app_url, name)), log_level="warning", pool_size=5)
        async with on_socket(replace(settings, drain_seconds=0.5)) as url, client_of(url) as client:
            yield Place(World(client), folder if folder.is_dir() else None)


def result_for(window: str) -> str:
    """A tool's result that takes about a fifth of the window."""
    return "a line of output " * (WINDOWS[window][0] // 20)


async def kinds(drive: Drive) -> Counter[str]:
    return Counter(json.loads(line)["kind"] for line in (await drive.bytes("ledger")).splitlines())


@pytest.mark.req("S1-25", "S1-27", "S1-28", "S2-42", "S3-31", "S3-35", "X-45", "X-47", "X-49", "X-52", "X-58", "T-15", "T-17", "T-18")
@pytest.mark.parametrize(("name", "dialect", "window", "form"), DRIVES, ids=[" ".join(each) for each in DRIVES])
async def test_a_long_session_goes_on_in_a_window_of_any_size(place: Place, name: str, dialect: str, window: str, form: str) -> None:
    drive, long = await place.drive(name, dialect)
    await drive.switch(await place.agent(long, dialect, window, form))
    for number in range(TURNS):
        turn = await drive.turn(f"Go on, {number}. " + "word " * 100, result_for(window))
        assert turn["status"] == "completed", turn["error"]
    assert drive.rounds == TURNS
    found = await kinds(drive)
    assert found["compaction_failed"] == 0
    assert found["compaction_requested"] == found["checkpoint"]
    asked = [entry["body"] for entry in map(json.loads, (await drive.bytes("ledger")).splitlines()) if entry["kind"] == "compaction_requested"]
    assert sum(not body.get("piece") for body in asked) <= 2 * TURNS
    if window != "200k":  # no session of these fits in there
        assert found["checkpoint"] >= 1
        shown = await place.world.input(drive.session)
        assert WORDS_OF_SUMMARY in str(shown["body"])


@pytest.mark.req("S3-35", "X-48", "T-17")
@pytest.mark.parametrize("dialect", MODELS)
async def test_what_no_summary_makes_fit_is_not_sent_and_kept(place: Place, dialect: str) -> None:
    drive, long = await place.drive(OWN, dialect)
    await drive.switch(await place.agent(long, dialect, "8k", "structured"))
    await drive.turn("Go on.")
    text = "What I need. " * 4_000
    turn = await drive.turn(text)
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    assert all(word in turn["error"]["detail"] for word in ("the instructions take", "the tools", "the newest turn"))
    listed = (await place.world.call("GET", f"/sessions/{drive.session}/calls", 200)).json()["data"]
    assert [
        (call["purpose"], call["status"], call["attempts"]) for call in listed if call["turn_id"] == turn["id"] and call["purpose"] == "main"
    ] == [("main", "refused", [])]
    *_, last = map(json.loads, (await drive.bytes()).splitlines())
    assert (last["seq"], last["kind"], text in json.dumps(last["body"])) == (turn["input_seq"], "user_message", True)
    await place.world.call("PUT", f"/sessions/{drive.session}/line", 200, json={"turn": turn["id"]})
    again = await place.world.turn(drive.session, "Then something short.")
    assert again["status"] in ("completed", "requires_action"), again["error"]


@pytest.mark.req("S1-26", "S1-30", "S2-25", "X-11", "X-13", "X-53", "T-15")
@pytest.mark.parametrize(
    ("name", "dialect"),
    [(name, dialect) for name in ((OWN, *CORPUS) if DRIVES is ALL else (OWN,)) for dialect in MODELS]
    + ([] if DRIVES is ALL else [("swe-agent-sqlfluff", "anthropic-messages"), ("claude-code-spotter", "openai-responses")]),
)
async def test_windows_change_in_mid_session_and_a_fork_goes_on_from_the_checkpoint(place: Place, name: str, dialect: str) -> None:
    """200k, then 8k, then 200k without the checkpoint: everything is there again; then a fork behind the checkpoint."""
    drive, long = await place.drive(name, dialect)
    large, small = [await place.agent(long, dialect, window, "structured") for window in ("200k", "8k")]
    path = f"/sessions/{drive.session}"
    await drive.switch(large)
    assert (await drive.turn("In a large window."))["status"] == "completed"
    await drive.switch(small)
    assert (await drive.turn("In a small window.", result_for("8k")))["status"] == "completed"
    checkpoint = (await place.world.call("GET", path, 200)).json()["checkpoint"]
    assert checkpoint is not None
    await drive.switch(large)
    await place.world.call("PATCH", path, 200, json={"checkpoint": "none"})
    assert "compaction" not in [source["type"] for source in (await place.world.input(drive.session))["source_map"]["sources"]]
    assert (await drive.turn("In a large window again."))["status"] == "completed"
    await place.world.call("PATCH", path, 200, json={"checkpoint": checkpoint})
    assert (await place.world.input(drive.session))["source_map"]["sources"][0]["checkpoint_id"] == checkpoint
    await drive.switch(small)
    parent = await drive.bytes("ledger")
    fork = (await place.world.call("POST", f"{path}/fork", 201, json={"at_seq": json.loads(parent.splitlines()[-1])["seq"]})).json()
    assert fork["checkpoint"] == checkpoint
    beside = Drive(place.world, fork["id"], dialect)
    for number in range(3):
        assert (await beside.turn(f"In the fork, {number}.", result_for("8k")))["status"] == "completed"
    assert await drive.bytes("ledger") == parent
    assert (await drive.turn("In the parent."))["status"] == "completed"
    for each in (drive, beside):
        assert (await place.world.call("GET", f"/sessions/{each.session}/verify", 200)).json()["ok"] is True
