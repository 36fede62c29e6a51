"""The command line's frame: help, usage, exit codes, what a program reads and what a person reads."""

import json
import socket
import subprocess
import sys

import pytest

from app.cli import COMMANDS, main
from app.cli.console import IN_USE, USAGE, Console
from tests.cli.commands import environment

MODULES_A_HELP_MAY_NOT_LOAD = {"fastapi", "sqlalchemy", "uvicorn", "tiktoken", "rich", "aiohttp"}


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    """No setting of the machine reaches a test, and no file of the folder that pytest was started in."""
    import os

    for name in [name for name in os.environ if name.startswith("CONTEXT_LEDGER_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_that_names_the_exit_codes(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "--json" in said
    assert "--config FILE" in said
    assert "3 the data folder or the port is in use" in said


@pytest.mark.parametrize("words", [[], ["nonsense"], ["serve", "--nonsense"], ["keys"], ["keys", "revoke", "not-a-uuid"], ["import"]])
def test_wrong_usage_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == USAGE
    assert capsys.readouterr().out == ""


@pytest.mark.req("X-86")
def test_a_bad_setting_is_named_and_its_value_is_not(monkeypatch, capsys):
    monkeypatch.setenv("CONTEXT_LEDGER_POOL_SIZE", "s3cret-looking")
    assert main(["serve", "--json"]) == USAGE
    said = capsys.readouterr()
    assert "CONTEXT_LEDGER_POOL_SIZE" in said.err
    assert "s3cret-looking" not in said.err + said.out
    assert json.loads(said.out)["error"]["exit_code"] == USAGE


def test_a_misspelt_variable_is_refused_with_the_nearest_name(monkeypatch, capsys):
    monkeypatch.setenv("CONTEXT_LEDGER_PROT", "1")
    assert main(["serve"]) == USAGE
    assert "CONTEXT_LEDGER_PORT" in capsys.readouterr().err


def test_a_port_in_use_is_said_before_anything_starts(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == IN_USE
    assert f"127.0.0.1:{port} is in use" in capsys.readouterr().err
    assert not (tmp_path / ".data").exists()


def test_help_loads_nothing_heavy():
    lines = [
        "import sys",
        "from app.cli import main",
        "try: main(['--help'])",
        "except SystemExit: pass",
        f"print({MODULES_A_HELP_MAY_NOT_LOAD!r} & set(sys.modules))",
    ]
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env=environment())
    assert ran.stdout.splitlines()[-1] == "set()"


def test_a_program_reads_one_document_and_a_pipe_gets_no_bar(capsys):
    console = Console(json=True)
    with console.progress("entries", 10) as progress:
        progress.advance(3)
    console.show("for people")
    console.result({"text": "\ud800", "big": 2**70})
    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out) == {"text": "\ud800", "big": 2**70}


def test_long_work_says_where_it_is_in_plain_lines(monkeypatch, capsys):
    monkeypatch.setattr("app.cli.console.PLAIN_LINE_SECONDS", 0.0)
    with Console().progress("entries", 10) as progress:
        progress.advance(3)
        progress.advance(4)
    assert capsys.readouterr().err.splitlines() == ["entries: 3 of 10", "entries: 7 of 10"]
