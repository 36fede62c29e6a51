"""Laws of Converse bodies: whatever a ledger holds, under every family's rules, two judges find nothing, and every part is told of."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.sources import Sources
from app.entries.parts import Media, Text
from app.formats.bedrock.validate import validate
from app.formats.bedrock.write_request import write_request
from app.models.resolve import Target
from tests.formats.bedrock.judge import objections
from tests.formats.bedrock.requests import BOUND, HAIKU, LLAMA, MISTRAL, NOVA, OPUS, target
from tests.formats.pointing import at
from tests.strategies import sources, tokens

PNG = b"\x89PNG\r\n\x1a\n"
BLOBS = {"sha256:" + "a" * 64: PNG}
FAMILIES: Sequence[Target] = [
    target(name)
    for name in ("x", NOVA, HAIKU, OPUS, BOUND, LLAMA, MISTRAL, "writer.palmyra-x5-v1:0", "openai.gpt-oss-20b-1:0", "qwen.qwen3-32b-v1:0")
]


@pytest.mark.req("S0-25", "S0-28", "S0-30", "X-23", "X-24", "X-64", "T-19")
@settings(max_examples=1_000, deadline=None)
@given(sources(), st.sampled_from(FAMILIES))
def test_whatever_the_ledger_holds_the_body_is_valid_and_every_part_of_it_is_told(given_sources: Sources, chosen: Target):
    compiled = compile_context(replace(given_sources, target=chosen), tokens)
    found = write_request(compiled.request, BLOBS)
    body = json.loads(found.body.decode("utf-8"))
    assert write_request(compiled.request, BLOBS).body == found.body
    for judged in (chosen.rules, replace(chosen.rules, call_id_pattern="[a-z]{2}", user_first=True)):  # the second one finds violations
        assert validate(found.document, judged) == validate(body, judged), "the tree is judged in place of the body"
    if body["messages"]:
        assert not validate(body, chosen.rules)
        assert not objections(found.body)
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    for index, sent in enumerate(compiled.request.messages):
        assert (index, None) in told
        for number, part in enumerate(sent.parts):
            assert (index, number) in told, "sent, or listed as lost"
            places = [at(body, pointer.pointer) for pointer in found.pointers if (pointer.source, pointer.part) == (index, number)]
            if isinstance(part, Text) and part.text.isascii() and part.opaque is None:
                assert places == [{"text": part.text}] or index == len(compiled.request.messages) - 1
            elif isinstance(part, Media):
                assert [next(iter(place)) for place in places] in (["image"], ["document"], ["text"])
    for pointer in found.pointers:
        at(body, pointer.pointer)
