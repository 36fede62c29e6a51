"""Families of tokenizers that are not public."""

import pytest

from app.models.catalogue import CATALOGUE
from app.models.families import _BY_NAME, FAMILIES, HEURISTIC, family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-5-sonnet-20241022", "claude"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude"),
        ("claude-sonnet-4-20250514", "claude"),
        ("claude-opus-4-1", "claude"),
        ("claude-4-opus", "claude"),
        ("anthropic/claude-4.6-sonnet-20260217", "claude"),
        ("claude-opus-4-7", "claude-4.7"),
        ("claude-opus-4.8", "claude-4.7"),
        ("claude-nova-9", "claude-4.7"),
        ("models/gemini-3-pro", "gemini"),
        ("deepseek-chat", "deepseek"),
        ("ministral-8b", "mistral"),
        ("gpt-6.3-terra", "gpt-6"),
        ("amazon.nova-pro-v1:0", "other"),
        ("gemma-3", "other"),
        ("", "other"),
    ],
)
def test_a_name_tells_the_family(model: str, family: str):
    assert family_of(model).name == family


def test_names_and_rows_agree_on_the_family():
    for name, row in CATALOGUE.items():
        if row.encoding is None:
            bare = name.removeprefix("global.anthropic.")
            assert next((family for pattern, family in _BY_NAME if pattern.match(bare)), "other") == row.family


@pytest.mark.req("X-39", "X-38")
def test_each_family_has_a_name_a_factor_a_band_and_says_why():
    for name, family in FAMILIES.items():
        assert (family.name, family.estimator) == (name, HEURISTIC + name)
        assert 1 <= family.factor < 2
        assert 0 < family.error_band <= 0.25
        assert family.evidence
    assert FAMILIES["claude-4.7"].factor / FAMILIES["claude"].factor == pytest.approx(1.3, abs=0.01), "30 % more for the same text"
