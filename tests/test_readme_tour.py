"""The README does what it says: its tour is run as it stands, and its examples of settings and commands are real."""

import asyncio
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from app.cli import COMMANDS
from app.config.secret import Secret
from app.config.settings import Settings, load_settings
from tests.api.conftest import on_socket

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
PORT = "http://127.0.0.1:8080"
BETWEEN = "--- between two calls ---"

_NAMED = re.compile(r"(?:ses|trn|mcl)_[0-9a-z]{26}|sha256:[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_TOKEN = re.compile(rf"{_NAMED.pattern}|{_TIME.pattern}|…|\s*\n\s*")


def tour() -> tuple[list[str], list[str]]:
    """The commands and the answers that the README shows for them."""
    text = README.split("<!-- tour", 1)[1].split("<!-- end of tour -->", 1)[0]
    commands = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    answers = re.findall(r"^```\n(.*?)^```", re.sub(r"^```sh\n.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE | re.DOTALL)
    return commands, answers


def differs(shown: str, real: str, known: dict[str, str]) -> str | None:
    """The first line of a shown answer that the real one does not bear out; None where all does.

    `…` stands for anything and a line break for any white space. Ids, digests and times differ from run to run; what is the
    same id in the README must be the same in the run, which is what `known` (shown → real) is for.
    """
    pieces, at, groups = [], 0, list[str]()
    for token in _TOKEN.finditer(shown := shown.strip()):
        pieces += [re.escape(shown[at : token.start()]), _pattern(token.group(), known, groups)]
        at = token.end()
    pieces.append(re.escape(shown[at:]))
    found = re.fullmatch("".join(pieces), real.strip(), re.DOTALL)
    if found is not None:
        known.update(zip(groups, found.groups(), strict=True))
        return None
    lengths = [length for length in range(len(pieces)) if re.match("".join(pieces[: length + 1]), real.strip(), re.DOTALL) is None]
    return f"{pieces[lengths[0]] if lengths else 'something follows the end'}\n--- is not in ---\n{real}"


def _pattern(token: str, known: dict[str, str], groups: list[str]) -> str:
    if token == "…":
        return ".*?"
    if not token.strip():
        return r"\s*"
    if _TIME.fullmatch(token):
        return _TIME.pattern
    if token in known:
        return re.escape(known[token])
    if token in groups:
        return rf"(?:\{groups.index(token) + 1})"
    groups.append(token)
    return f"({_NAMED.pattern})"


@pytest.mark.skipif(shutil.which("curl") is None, reason="it runs the README word for word, and the README calls curl, which this machine lacks")
async def test_the_tour_of_six_calls(database_url: str, tmp_path: Path):
    commands, answers = tour()
    assert len(commands) == len(answers) == 6
    async with on_socket(Settings(database_url=Secret(database_url), log_level="warning", drain_seconds=0.5)) as url:
        script = f"\necho; echo '{BETWEEN}'\n".join(commands).replace(PORT, url)
        assert script.count(url) == 6, "each call names the address that `make serve` prints"
        shell = await asyncio.create_subprocess_exec(
            "sh", "-eu", cwd=tmp_path, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, told = await asyncio.wait_for(shell.communicate(script.encode()), 60)
    assert shell.returncode == 0, told.decode()
    real = out.decode().split(f"\n{BETWEEN}\n")
    known: dict[str, str] = {}
    assert [found for shown, answer in zip(answers, real, strict=True) if (found := differs(shown, answer, known))] == []
    assert len({each for each in known if each.startswith(("ses_", "trn_", "mcl_"))}) == 3


def test_a_tour_that_is_not_true_is_seen():
    one, other = "sha256:" + "1" * 64, "sha256:" + "2" * 64
    assert differs('{"a":1,…\n "c":3}', '{"a":1,"b":2,"c":3}', {}) is None
    assert differs('{"a":1,…"c":4}', '{"a":1,"b":2,"c":3}', {}) is not None
    assert differs('{"a":1}', '{"a":1,"b":2}', {}) is not None
    assert differs(f'["{one}","{one}"]', f'["{other}","{other}"]', {}) is None
    assert differs(f'["{one}","{one}"]', f'["{other}","{one}"]', {}) is not None
    assert differs(f'"{one}"', f'"{one}"', {one: other}) is not None


def test_the_examples_of_upstreams_and_tool_servers_are_accepted(tmp_path: Path):
    example = "\n".join(re.findall(r"^```toml\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
    file = tmp_path / "context-ledger.toml"
    file.write_text(example, "utf-8")
    made_up = {"OPENAI_API_KEY": "sk-made-up", "GATEWAY_KEY": "made-up", "FILES_AUTHORIZATION": "Bearer made-up"}
    settings = load_settings({**made_up, "DESK_SIGNING_KEY": "whsec_" + "c2lnbmVkIGJ5IHRlc3Rz" * 2}, file)
    assert set(settings.upstreams) == {*tomllib.loads(example)["upstreams"], "scripted"}
    assert set(settings.tool_servers) == set(tomllib.loads(example)["tool_servers"])


def test_the_commands_are_those_of_the_command_line():
    table = README.split("## Command line", 1)[1].split("##", 1)[0]
    named = {words.split()[0] for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for words in re.findall(r"`([^`]+)`", row)}
    assert named == set(COMMANDS)
