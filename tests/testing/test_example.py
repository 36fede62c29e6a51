"""The documented example, run as a reader would: pytest alone, nothing of our own set-up, an embedded Postgres, nothing left behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = Path("docs/examples/test_triage.py")


@pytest.mark.req("S4-20", "S4-21", "S4-22", "S4-23", "X-89")
def test_the_example_runs_and_leaves_nothing(tmp_path: Path):
    plain = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environ = {**os.environ, **plain, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    words = ["-m", "pytest", "-q", "-W", "error", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(ROOT / EXAMPLE)]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_page_shows_the_example_as_it_stands():
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    shown = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "TRIAGE = {" in block]
    assert shown == [(ROOT / EXAMPLE).read_text("utf-8").partition('"""\n\n')[2]]
    assert "docs/testing.md" in (ROOT / "README.md").read_text("utf-8")
