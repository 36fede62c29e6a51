"""The table of formats."""

import pytest

from app.formats.registry import FORMATS, IMPORTERS
from app.models.wire_rules import RULES_OF


@pytest.mark.req("S0-25")
def test_every_dialect_that_has_wire_rules_has_a_format_and_no_other():
    assert set(FORMATS) == set(RULES_OF)
    assert all(name == found.dialect for name, found in FORMATS.items())


def test_the_importers_of_this_build():
    assert set(IMPORTERS) == {"jsonl", "openai-chat", "claude-code"}
