"""Long texts and long blocks of providers leave their entries for blobs, and come back as they were."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.limits import PAYLOAD_INLINE_BYTES_MAX
from app.entries.messages import Answer, decode, encode, with_parts
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.services.write import _fitted, loaded
from app.storage.types import NewBlob

SIZES = st.sampled_from([0, 1, 150, 5_000, 40_000, 300_000])
LETTERS = st.sampled_from(["x", "é", "\ud83d", '"', "\x00"])
BY = "anthropic-messages/claude/m"


def part_of(kind: str, letter: str, chars: int, block_chars: int | None) -> Part:
    text, block = letter * chars, None if block_chars is None else '{"signature": "' + "S" * block_chars + '"}'
    match kind:
        case "text":
            return Text(text, None, block, BY)
        case "reasoning":
            return Reasoning(text, block, BY)
        case "tool_call":
            return ToolCall("c", "lookup", text, None, block, None, BY)
        case _:
            return Opaque("anthropic-messages", BY, block or "{}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["text", "reasoning", "tool_call", "opaque"]), LETTERS, SIZES, st.none() | SIZES), min_size=1, max_size=4))
def test_whatever_a_part_holds_comes_back(shapes: list[tuple[str, str, int, int | None]]):
    body = Answer(tuple([part_of(*shape) for shape in shapes]), model="m")
    blobs: dict[str, NewBlob] = {}
    fitted, payload = _fitted(body, blobs)
    assert len(payload.encode()) <= PAYLOAD_INLINE_BYTES_MAX, "an entry takes no more"
    read = decode("assistant_message", payload)
    texts = {digest: (blob.media_type, blob.body) for digest, blob in blobs.items()}
    found = with_parts(read, tuple([loaded(part, texts) for part in read.parts]))
    assert encode(found) == encode(body)
    assert encode(fitted) == payload
