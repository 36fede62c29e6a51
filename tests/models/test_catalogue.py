"""The dated catalogue."""

import json
import re
from pathlib import Path

import pytest

from app.models.catalogue import CATALOGUE, CATALOGUE_DATE, lookup
from app.models.tokens import ESTIMATORS


@pytest.mark.req("S3-04")
def test_every_row_is_dated_complete_and_says_where_it_comes_from():
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", CATALOGUE_DATE)
    for name, row in CATALOGUE.items():
        assert row.name == name
        assert row.context_window >= row.max_output_tokens > 0
        assert row.sources
        assert row.encoding is None or row.encoding in ESTIMATORS


def test_a_dated_name_is_a_snapshot_of_its_model():
    assert lookup("gpt-4.1-2025-04-14") == lookup("gpt-4.1")
    assert lookup("gpt-4.1-nano") is None
    assert lookup("gpt-4.1-20") is None


@pytest.mark.req("S3-04")
def test_the_figures_are_those_of_the_collected_seed(shared: Path):
    rows = json.loads((shared / "specs" / "model_catalog_seed.json").read_text())["models"]
    seed = {row["id"]: row for row in rows}
    for name, row in CATALOGUE.items():
        assert (row.context_window, row.max_output_tokens, row.encoding) == (
            seed[name]["context_window"],
            seed[name]["max_output_tokens"],
            seed[name]["encoding"],
        )
        assert row.shutdown_date == seed[name]["shutdown_date"]
