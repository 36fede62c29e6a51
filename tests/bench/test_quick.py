"""The benchmark runs through: every group gives rows with a figure. What the figures are is no matter of a test."""

import json
import subprocess
import sys

import pytest

from app.formats.registry import FORMATS
from tests.cli.commands import ROOT, environment

GROUPS = ("appends", "reads", "longest", "compile", "parse", "http", "streams")


@pytest.mark.timeout(240)
def test_a_quick_run_measures_every_group():
    words = [sys.executable, "-m", "bench", "--quick", "--json", "--only", *GROUPS]
    ran = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = json.loads(ran.stdout)
    assert len(rows) == 18 + 4 * len(FORMATS), "three rows of the compile and one of parsing for each dialect"
    assert all(any(letter.isdigit() for letter in row["reached"]) for row in rows)
    assert all(row["target"] and row["holds_back"] for row in rows)
