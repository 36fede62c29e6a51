"""Counting by the provider: what is asked, judged by the SDK's model, and what its answer says."""

import orjson
import pytest

from app.formats.bedrock import FORMAT
from app.formats.bedrock.write_request import write_request
from tests.formats.bedrock.judge import objections
from tests.formats.bedrock.requests import LOOKUP, OPUS, message, request, target


def test_the_conversation_is_counted_with_its_tools_and_nothing_else():
    chosen = target(OPUS, max_output_tokens=99, reasoning={"effort": "low"}, extra={"requestMetadata": {"a": "b"}})
    written = write_request(request(message("user", "q\udc00"), system=("s",), tools=(LOOKUP,), tool_choice="auto", target=chosen), {})
    assert FORMAT.counting is not None
    body = FORMAT.counting.body("m", written.document)
    counted = orjson.loads(body)["input"]["converse"]
    sent = orjson.loads(written.body)
    assert set(sent) == {"messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "requestMetadata"}
    assert counted == {key: sent[key] for key in ("messages", "system", "toolConfig", "additionalModelRequestFields")}
    assert not objections(body, "CountTokens")


@pytest.mark.parametrize(
    ("answer", "count"),
    [(b'{"inputTokens":38}', 38), (b'{"inputTokens":"38"}', None), (b'{"inputTokens":-1}', None), (b"[]", None), (b"no", None), (b"{}", None)],
)
def test_the_count_is_read_or_unknown(answer: bytes, count: int | None):
    assert FORMAT.counting is not None
    assert FORMAT.counting.read(answer) == count
