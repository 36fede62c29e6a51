"""The fakes, each started once a run, and the service in front of one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.third_party.fakes import aimock_command, llmock_command, started
from tests.third_party.rules import AIMOCK_RULES


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running aimock that plays `AIMOCK_RULES` and refuses what matches none."""
    command = aimock_command()
    folder = tmp_path_factory.mktemp("aimock")
    rules: Path = folder / "rules.json"
    rules.write_text(json.dumps({"fixtures": AIMOCK_RULES}), "utf-8")
    with started([*command, "--fixtures", str(rules), "--strict", "--chunk-size", "7"], folder) as url:
        yield url


@pytest.fixture(scope="session")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running llmock, whose tests tell it what to say next."""
    command = llmock_command()
    with started([*command, "--log-level", "warning"], tmp_path_factory.mktemp("llmock")) as url:
        yield url
