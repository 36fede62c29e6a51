"""The README says what `app/config` says."""

import pytest

from tests.settings_table import README, TABLES, documented_limits, section

UNITS = ("BYTES", "CHARS", "SECONDS", "MS", "ROWS", "ENTRIES", "MESSAGES")


@pytest.mark.parametrize("name", TABLES)
def test_the_readme_shows_the_table(name):
    text = README.read_text("utf-8")
    start, end = section(text, name)
    assert text[start:end] == TABLES[name](), "run `make settings`"


def test_every_limit_is_positive_and_says_its_unit():
    for name, value, meaning in documented_limits():
        assert value > 0, name
        assert meaning.endswith("."), name
        # A bare count of things that the name says (`TOOLS_MAX`) needs no unit; an amount of time or space does.
        assert not any(word in name.split("_") for word in ("TIMEOUT", "SIZE", "LENGTH", "DURATION")), f"{name}: name the unit, one of {UNITS}"
