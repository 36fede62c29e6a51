"""Renderers of other packages: found by their entry points, in a process that has the sample package installed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "docs" / "examples" / "context-ledger-shout"

ASK = """
import json
from app.context.agents.check import check_document
from app.context.compile import compile_context, compiler_version
from tests.strategies import Ledger, agent
ledger = Ledger()
ledger.user("hello")
nurse = agent(context=[{"renderer": "history"}, {"renderer": "shout"}])
found = compile_context(ledger.sources(nurse), len)
faults = check_document({"model": {"upstream": "scripted", "name": "s"}, "context": [{"renderer": "shout", "mark": "x" * 9, "loud": 1}]})
print(json.dumps([compiler_version(nurse), [part.text for part in found.request.messages[0].parts], [fault.pointer for fault in faults]]))
"""


def installed(place: Path, name: str, entry: str, version: str = "0.1.0") -> None:
    """What an installer leaves of a package beside its code."""
    folder = place / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    (folder / "entry_points.txt").write_text(f"[context_ledger.renderers]\n{entry}\n", "utf-8")


def asked(*places: Path, script: str = ASK) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *places)))}
    return subprocess.run([sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.req("S4-09", "S4-48")
def test_the_sample_package_adds_a_renderer(tmp_path: Path):
    installed(tmp_path, "context_ledger_shout", "shout = context_ledger_shout:KIND", "0.3.1")
    answer = asked(tmp_path, SAMPLE)
    assert answer.returncode == 0, answer.stderr
    found: Any = json.loads(answer.stdout)
    assert found == ["1+shout@0.3.1", ["HELLO!"], ["/context/0/loud", "/context/0/mark"]]


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ("history = context_ledger_shout:KIND", "history is there twice"),
        ("loud = context_ledger_shout:render", "has to name a RendererKind"),
        ("loud = no_such_package:KIND", "no_such_package"),
    ],
)
def test_a_package_that_cannot_be_used_stops_the_start(tmp_path: Path, entry: str, word: str):
    installed(tmp_path, "broken", entry)
    answer = asked(tmp_path, SAMPLE, script="import app.context.renderers")
    assert answer.returncode != 0
    assert word in answer.stderr


def test_a_renderer_that_raises_is_a_failure_of_the_input(tmp_path: Path):
    package = tmp_path / "falls"
    package.mkdir()
    code = "from app.context.renderers.kinds import RendererKind\ndef render(draft, spec, count):\n    raise KeyError('secret')\n"
    (package / "__init__.py").write_text(code + "KIND = RendererKind(render, (), lambda *given: None)\n", "utf-8")
    installed(tmp_path, "falls", "falls = falls:KIND")
    said, failed = "[part.text for part in found.request.messages[0].parts]", "[(one.code, one.detail) for one in found.failures]"
    script = ASK.replace("shout", "falls").replace(said, failed)
    answer = asked(tmp_path, script=script)
    assert answer.returncode == 0, answer.stderr
    version, failures, _ = json.loads(answer.stdout)
    assert version == "1+falls@0.1.0"
    assert failures == [["renderer-failed", "The package that brings this renderer failed (KeyError)."]]
