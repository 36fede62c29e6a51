"""The counting endpoint: of a call's tree, what it takes, and the count of its answer."""

import orjson
import pytest

from app.entries import lossless
from app.formats.anthropic import FORMAT
from app.formats.anthropic.write_request import write_request
from tests.formats.anthropic.judge import count_objections, objections
from tests.formats.anthropic.requests import LOOKUP, NEW, message, request, target


def test_what_is_counted_is_what_is_sent_but_for_the_cap_and_the_stream():
    counting = FORMAT.counting
    assert counting is not None
    assert counting.path("m") == "/messages/count_tokens"
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": lossless.loads('{"big": 123456789012345678901234567890}')})
    aim = target(NEW, reasoning={"effort": "low"}, extra={"cache_control": {"type": "ephemeral"}, "stop_sequences": ["x"]})
    sent = write_request(request(message("user", "q\ud83d"), system=("s",), tools=(odd,), tool_choice="auto", target=aim), {})
    assert not objections(sent.body)
    counted = counting.body(NEW, sent.document)
    assert not count_objections(counted)
    whole = orjson.loads(sent.body)
    assert orjson.loads(counted) == {key: value for key, value in whole.items() if key not in ("max_tokens", "stream", "stop_sequences")}
    assert b"123456789012345678901234567890" in counted


@pytest.mark.parametrize(
    ("body", "count"),
    [(b'{"input_tokens": 42}', 42), (b'{"input_tokens": -1}', None), (b'{"input_tokens": true}', None), (b"{}", None), (b"[]", None), (b"<", None)],
)
def test_the_count(body: bytes, count: int | None):
    assert FORMAT.counting is not None
    assert FORMAT.counting.read(body) == count
