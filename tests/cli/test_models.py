"""`context-ledger models`: the table, what a program reads, and estimates against what providers reported."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from app.cli import main
from app.cli.console import DONE, USAGE, WRONG
from app.config.secret import Secret
from app.config.settings import Settings
from app.models.catalogue import CATALOGUE
from tests.api.conftest import running, talking
from tests.cli.commands import command
from tests.services.world import World

TOML = """
[upstreams.house]
preset = "vllm"
base_url = "http://127.0.0.1:9/v1"
[upstreams.house.models."house-model"]
context_window = 40960
max_output_tokens = 40960
tokenizer = "heuristic:claude"
"""


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CONTEXT_LEDGER_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    Path("context-ledger.toml").write_text(TOML, "utf-8")


@pytest.mark.req("S3-04", "X-44")
def test_a_person_reads_a_table_and_a_program_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert "2026-11-29" in lines[0]
    assert len(lines) == 2 + len(CATALOGUE) + 1
    gpt = next(line for line in lines if " gpt-5 " in line)
    assert gpt.split() == ["gpt-5", "400,000", "272,000", "128,000", "o200k_base", "0%", "2026-12-11", "catalogue"]
    fable = next(line for line in lines if "claude-fable-5-2" in line)
    assert fable.split() == ["claude-fable-5-2", "1,000,000", "?", "?", "heuristic:claude-4.7", "25%", "catalogue"]
    assert lines[-1].split() == ["house", "house-model", "40,960", "?", "40,960", "heuristic:claude", "15%", "operator"]
    assert main(["models", "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert len(found["data"]) == len(CATALOGUE) + 1
    assert found["sources"]["litellm"]["url"]


def test_asking_a_server_that_is_not_there_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    Path("context-ledger.toml").write_text(TOML.replace('preset = "vllm"', 'preset = "vllm"\nmetadata = true\nallow_private_network = true'))
    assert main(["models", "--ask", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["data"][-1]["source"] == "operator"


def test_wrong_presets_and_days_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["models", "--accuracy", "--days", "0"])
    assert ended.value.code == USAGE
    Path("context-ledger.toml").write_text('[upstreams.house]\npreset = "vlm"\n')
    assert main(["models"]) == USAGE
    assert "upstreams.house.preset: one of " in capsys.readouterr().err


@pytest_asyncio.fixture
async def client(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with running(Settings(database_url=Secret(database_url), log_level="warning", drain_seconds=0.5)) as app, talking(app) as found:
        yield found


async def spoken(client: httpx.AsyncClient, name: str, inputs: list[int]) -> list[int]:
    """Makes a call for each figure that the provider is to report; gives what was estimated."""
    world, found = World(client), []
    script = [{"text": "ok", "usage": {"input": figure, "output": 1}} for figure in inputs]
    agent = await world.agent(model={"upstream": "scripted", "name": name, "params": {"script": script}})
    session = await world.session(agent)
    for _ in inputs:
        turn = await world.turn(session, "How many?")
        call = (await client.get(f"/sessions/{session}/calls/{turn['calls'][-1]}")).json()
        found.append(int(call["budget"]["total"]))
    return found


@pytest.mark.req("X-38", "X-39", "X-42")
async def test_estimates_are_compared_with_what_was_reported_by_model_and_way_of_counting(
    client: httpx.AsyncClient, database_url: str, tmp_path: Path
) -> None:
    estimated = await spoken(client, "gpt-4o", [10, 10, 10])
    reported = [round(total * ratio) for total, ratio in zip(estimated, (1, 1, 2), strict=True)]
    await spoken(client, "gpt-4.1", reported)
    covered = await spoken(client, "claude-opus-5", [20, 20])
    silent = World(client)
    await silent.turn(await silent.session(script=[{"text": "no usage"}]), "x")
    ran = command(tmp_path, "models", "--accuracy", "--json", database_url=database_url)
    found: Any = json.loads(ran.stdout)
    assert ran.returncode == WRONG, ran.stderr
    rows = {row["model"]: row for row in found["data"]}
    assert set(rows) == {"gpt-4o", "gpt-4.1", "claude-opus-5"}, "a call of which nothing was reported says nothing"
    row = rows["gpt-4.1"]
    ratios = [figure / total for figure, total in zip(reported, estimated, strict=True)]
    assert (row["calls"], row["method"], row["estimator"], row["error_band"]) == (3, "tokenizer", "o200k_base", 0)
    assert row["mean_ratio"] == pytest.approx(sum(ratios) / 3)
    low, high = sorted(ratios)[1:]
    assert row["p95_ratio"] == pytest.approx(low + 0.9 * (high - low))
    assert (row["within"], row["ok"]) == (2, False)
    claude = rows["claude-opus-5"]
    assert (claude["estimator"], claude["method"], claude["error_band"]) == ("heuristic:claude-4.7", "heuristic", 0.25)
    assert claude["within"] == sum(total * 1.25 >= 20 for total in covered)
    assert not found["ok"]
    shown = command(tmp_path, "models", "--accuracy", database_url=database_url)
    assert shown.returncode == WRONG
    assert "too low" in next(line for line in shown.stdout.splitlines() if " gpt-4.1 " in line)
    nobody = command(tmp_path, "models", "--accuracy", "--json", "--tenant", "00000000-0000-0000-0000-00000000abcd", database_url=database_url)
    assert (nobody.returncode, json.loads(nobody.stdout)["data"]) == (DONE, [])
