"""The dated catalogue."""

import json
import re
from pathlib import Path

import pytest

from app.models.catalogue import CATALOGUE, CATALOGUE_DATE, SOURCES, lookup, plain_name
from app.models.families import FAMILIES
from app.models.resolve import UnknownCapacity, resolve_limits
from app.models.tokens import ENCODINGS

FIGURES = ("context_window", "max_input_tokens", "max_output_tokens", "shared_window", "encoding", "takes", "tools", "reasoning", "shutdown_date")


@pytest.mark.req("S3-04", "X-44")
def test_every_figure_is_dated_and_says_where_it_comes_from_and_nothing_else_has_a_source():
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", CATALOGUE_DATE)
    assert len(CATALOGUE) > 50
    for source in SOURCES.values():
        assert source.url.startswith("https://")
        assert source.what
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", source.read)
    for name, row in CATALOGUE.items():
        assert row.name == name
        for figure in FIGURES:
            named = row.sources.get(figure, "").split()
            assert all(source in SOURCES for source in named), (name, figure)
            if getattr(row, figure) is not None and row.reasoning is not False:
                assert named, (name, figure, "a figure without a source")
        assert set(row.sources) <= set(FIGURES)
        assert row.encoding is None or row.encoding in ENCODINGS
        assert row.family == row.encoding if row.encoding else row.family in FAMILIES


@pytest.mark.req("S3-04", "S3-06")
def test_a_model_has_a_capacity_here_only_where_window_and_output_limit_are_known():
    known = {name for name, row in CATALOGUE.items() if row.context_window is not None and row.max_output_tokens is not None}
    assert 40 < len(known) < len(CATALOGUE)
    for name, row in CATALOGUE.items():
        if name not in known:
            with pytest.raises(UnknownCapacity):
                resolve_limits(name)
            continue
        limits = resolve_limits(name)
        assert (limits.context_window, limits.max_output_tokens, limits.source) == (row.context_window, row.max_output_tokens, "catalogue")
        assert limits.max_output_tokens <= limits.context_window
        assert limits.max_input_tokens in (None, row.max_input_tokens)
        assert (limits.max_input_tokens or 0) < limits.context_window


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("openai/gpt-5.4", "gpt-5.4"),
        ("openai/gpt-oss-120b", "openai/gpt-oss-120b"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("global.anthropic.claude-opus-5-5", "global.anthropic.claude-opus-5-5"),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("publishers/google/models/gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("projects/p/locations/l/publishers/google/models/gemini-3.5-flash", "gemini-3.5-flash"),
        ("deepseek/deepseek-v4-pro:nitro", "deepseek-v4-pro"),
        ("mistralai/mistral-large-4", "mistral-large-4"),
    ],
)
def test_a_model_is_found_under_the_spellings_of_other_places(spelled: str, name: str):
    assert lookup(spelled) is CATALOGUE[name]


@pytest.mark.parametrize("name", ["gpt-4.1-nano", "gpt-4.1-20", "my-gpt-4o", "gpt-4o-finetuned-2025-01-01", "openai", "", "gemini-2.5", "x/gpt-4o"])
def test_what_only_resembles_a_model_is_none(name: str):
    assert lookup(name) is None


def test_every_row_is_found_by_its_name_dated_or_behind_its_vendor():
    prefixes = {"openai": "openai/", "anthropic": "us.anthropic.", "google": "models/", "deepseek": "deepseek/", "mistral": "mistralai/"}
    for name, row in CATALOGUE.items():
        assert lookup(name) is row
        if row.vendor not in prefixes:
            continue
        for date in ("-2026-01-31", "-20260131"):
            assert lookup(name + date) is row
        found = lookup(prefixes[row.vendor] + name)
        assert found is not None
        assert found.name.endswith(name)
        assert lookup(prefixes[row.vendor] + name + "-20260131") is not None
        assert plain_name(prefixes[row.vendor] + name) == name


@pytest.mark.req("S3-04")
def test_the_figures_are_those_of_the_collected_seed(shared: Path):
    rows = json.loads((shared / "specs" / "model_catalog_seed.json").read_text())["models"]
    assert {row["id"] for row in rows} == set(CATALOGUE)
    later = {"claude-opus-4-5": {"shutdown_date": "2027-01-22"}}  # stands in the notes on the seed and not in it
    for seed in rows:
        row = CATALOGUE[seed["id"]]
        expected = {
            "vendor": seed["provider"],
            "context_window": seed["context_window"],
            "max_input_tokens": seed["max_input_tokens"],
            "max_output_tokens": seed["max_output_tokens"],
            "shared_window": seed["window_shared_by_input_and_output"],
            "encoding": seed["encoding"],
            "takes": None if seed["input_modalities"] is None else tuple(seed["input_modalities"]),
            "tools": seed["tools"],
            "shutdown_date": seed["shutdown_date"],
        } | later.get(row.name, {})
        assert {figure: getattr(row, figure) for figure in expected} == expected, row.name
        thinks = seed["reasoning"]
        if isinstance(thinks, dict) and isinstance(thinks.get("efforts"), list):
            assert row.efforts == tuple(thinks["efforts"])
        if isinstance(thinks, dict) and isinstance(thinks.get("can_disable"), bool):
            assert row.always_reasons is not thinks["can_disable"]
        assert (row.reasoning is False) is (thinks is False)
