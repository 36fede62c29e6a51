"""Google's own count: the request that asks for it, and its answer."""

import json
from pathlib import Path
from types import MappingProxyType

import orjson
import pytest
from jsonschema import Draft202012Validator

from app.entries import lossless
from app.formats.gemini import FORMAT
from app.formats.gemini.counting import COUNTING
from app.formats.gemini.write_request import write_request
from tests.formats.gemini.requests import LOOKUP, message, request, target

WRITTEN = write_request(request(message("user", "q"), system=("s",), tools=(LOOKUP,), target=target(max_output_tokens=5)), {})


def test_the_whole_request_is_counted_under_its_model():
    assert FORMAT.counting is COUNTING
    assert COUNTING.path("gemini-3-pro") == "/models/gemini-3-pro:countTokens"
    body = orjson.loads(COUNTING.body("gemini-3-pro", WRITTEN.document))
    assert body == {"generateContentRequest": {"model": "models/gemini-3-pro", **orjson.loads(WRITTEN.body)}}
    assert orjson.loads(COUNTING.body("tunedModels/x", {}))["generateContentRequest"]["model"] == "tunedModels/x"


def test_numbers_and_mappings_of_the_tree_are_spelled_as_in_the_request():
    document = MappingProxyType({"contents": (lossless.loads('{"n":1e2,"big":123456789012345678901234567890}'), 2**70)})
    spelled = COUNTING.body("m", document)
    assert spelled.endswith(b'"contents":[{"n":1e2,"big":123456789012345678901234567890},1180591620717411303424]}}')


def test_what_is_counted_fits_the_published_schema_of_what_is_sent(shared: Path):
    schema = json.loads((shared / "specs" / "derived" / "gemini_vertex.request.schema.json").read_text())
    assert not list(Draft202012Validator(schema).iter_errors(orjson.loads(WRITTEN.body)))


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (b'{"totalTokens": 31, "cachedContentTokenCount": 3}', 31),
        (b'{"totalTokens": 0}', 0),
        (b'{"totalTokens": "31"}', None),
        (b'{"totalTokens": true}', None),
        (b'{"totalTokens": -1}', None),
        (b"{}", None),
        (b"[1]", None),
        (b"<html>", None),
    ],
)
def test_the_count_is_read_or_unknown(answer: bytes, count: int | None):
    assert COUNTING.read(answer) == count
