"""Body, manifest, source map and losses of each scenario in each dialect, as files. `make golden` rewrites them; read the diff."""

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from app.context.compile import compile_context
from app.context.report import manifest, source_map
from app.formats.registry import FORMATS
from tests.golden.scenarios import BLOBS, SCENARIOS
from tests.judges.judging import objections
from tests.strategies import tokens


@pytest.mark.req("S0-24", "S2-09")
@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bodies_are_the_ones_of_the_golden_files(scenario: str, dialect: str, update_golden: bool):
    compiled = compile_context(SCENARIOS[scenario](dialect), tokens)
    written = FORMATS[dialect].write_request(compiled.request, BLOBS)
    found = {
        "digest": "sha256:" + sha256(written.body).hexdigest(),
        "body": orjson.loads(written.body),
        "manifest": manifest(compiled, written.pointers, written.sections, written.tools),
        "source_map": source_map(compiled, written.pointers),
        "losses": [*map(asdict, compiled.losses), *map(asdict, written.losses)],
    }
    path = Path(__file__).parent / scenario / f"{dialect}.json"
    text = json.dumps(found, indent=1) + "\n"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, "`make golden` rewrites the files; read the diff before it is committed"


@pytest.mark.req("S0-30")
@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bodies_are_valid_by_our_rules_the_vendors_types_and_the_fakes(scenario: str, dialect: str):
    sources = SCENARIOS[scenario](dialect)
    body = FORMATS[dialect].write_request(compile_context(sources, tokens).request, BLOBS).body
    allowed = ["reasoning_content", "encrypted_content"] if sources.target.rules.reasoning_key else []
    assert [text for text in objections(dialect, body, sources.target) if not any(key in text for key in allowed)] == []


def test_every_file_belongs_to_a_scenario():
    files = {path.relative_to(Path(__file__).parent).as_posix() for path in Path(__file__).parent.glob("*/*.json")}
    assert files == {f"{scenario}/{dialect}.json" for scenario in SCENARIOS for dialect in FORMATS}
