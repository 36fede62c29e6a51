"""The lock files: every package with its hashes, no address, and one version of each in both."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
THIRD_PARTY = ROOT / "tests" / "third_party"


def pinned(name: str) -> dict[str, tuple[str, int]]:
    """Package to version (with its marker) and number of hashes."""
    text = re.sub(r"\\\n", " ", (ROOT / name).read_text("utf-8"))
    found = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            match = re.match(r"([a-z0-9][a-z0-9._-]*)==([^\s;]+(?:\s*;[^-]*?)?)\s+--hash", line)
            assert match, f"{name}: {line[:80]}"
            found[match[1]] = (match[2].strip(), len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)))
    return found


@pytest.mark.parametrize("name", [*LOCKS, "tests/third_party/requirements.lock"])
def test_every_package_has_hashes_and_no_address(name):
    assert all(hashes > 0 for _, hashes in pinned(name).values())
    assert not re.search(r"https?:|file:|--(?:extra-)?index|--find-links|@ ", (ROOT / name).read_text("utf-8"))


def test_development_runs_on_what_the_service_runs_on():
    service, development = pinned(LOCKS[0]), pinned(LOCKS[1])
    assert service.items() <= development.items()
    assert len(development) > len(service) > 20


def test_everything_that_the_project_asks_for_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements):
        return {re.split(r"[\[<>=~!; ]", each)[0].lower().replace("_", "-") for each in requirements}

    extras = project["optional-dependencies"]
    assert names(project["dependencies"] + extras["build"]) <= set(pinned(LOCKS[0]))
    assert names(project["dependencies"] + [one for extra in extras.values() for one in extra]) <= set(pinned(LOCKS[1]))


def test_the_fakes_of_others_are_locked_too():
    packages = json.loads((THIRD_PARTY / "package-lock.json").read_text("utf-8"))["packages"]
    assert packages.pop("")["dependencies"] == json.loads((THIRD_PARTY / "package.json").read_text("utf-8"))["dependencies"]
    assert packages
    for name, package in packages.items():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package["integrity"]), name
        assert not {"resolved", "hasInstallScript"} & package.keys(), f"{name}: neither an address nor a program that runs when it is installed"
    asked = dict(line.split("==") for line in (THIRD_PARTY / "requirements.in").read_text("utf-8").splitlines())
    locked = pinned("tests/third_party/requirements.lock")
    assert {name: locked[name][0] for name in asked} == asked
