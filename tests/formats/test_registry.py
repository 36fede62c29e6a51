"""The table of formats."""

import pytest

from app.formats.registry import FORMATS, IMPORTERS


@pytest.mark.req("S0-25")
def test_every_format_is_listed_under_its_dialect():
    assert all(name == found.dialect for name, found in FORMATS.items())


def test_the_importers_of_this_build():
    assert list(IMPORTERS) == [
        "jsonl",
        "openai-chat",
        "openai-responses",
        "anthropic-messages",
        "gemini",
        "ai-sdk",
        "claude-code",
        "codex",
        "pi",
    ]
