"""What stands beside the parts of an answer, so that its items go back as they came (wire-format notes 0.3, 3.1, 12.2).

Reasoning.opaque   the item as received, whole
Opaque.block       the same, of an item that we do not model
ToolCall.opaque    `{"item": …, "after": …}`: the item, `arguments` emptied, since the part has them
Text.opaque        `{"item": …, "index": …, "part": …, "after": …}`: the message, `content` emptied; the position of this text in it; the
                   content part, its text emptied and without `logprobs`, which nobody takes back

`after` is the id of the reasoning item that led to this one, left out where there was none. A message of several texts has as many parts,
one behind the other; the first has index 0. An item alone is read like one in an `item`: transcripts have no more.
"""

from typing import Any, NamedTuple

import orjson

from app.config.limits import JSON_DEPTH_MAX
from app.entries import lossless
from app.formats.reading import word

TEXT_KEYS = {"output_text": "text", "refusal": "refusal"}
"""Content parts of a message that say something, and the key under which they do."""

_PLAIN_PART = {"type": "output_text", "annotations": [], "text": ""}


class Beside(NamedTuple):
    """What was read back. `part` is None for a call; `after` None where no reasoning led to the item."""

    item: dict[str, Any]
    position: int
    part: dict[str, Any] | None
    after: str | None


def exact(text: str) -> Any:
    """The value of a JSON text that spells as the text does; None for no JSON. The fast reader serves where it loses nothing."""
    try:
        value = orjson.loads(text)
        if orjson.dumps(value) == text.encode():
            return value
    except (ValueError, TypeError):
        pass
    try:
        return lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        return None


def call_block(item: dict[str, Any], after: str | None) -> str:
    """What stands beside a call."""
    return _spelled({"item": item | {"arguments": ""}}, after)


def text_block(item: dict[str, Any], index: int, after: str | None) -> str:
    """What stands beside the text of content part `index` of a message item."""
    part = item["content"][index]
    key = TEXT_KEYS.get(word(part, "type") or "")
    kept = {name: value for name, value in part.items() if name != "logprobs"}
    return _spelled({"item": item | {"content": []}, "index": index, "part": kept if key is None else kept | {key: ""}}, after)


def read_block(text: str, kind: str) -> Beside | None:
    """What `call_block` or `text_block` made, or a bare item. None for what is not of the type `kind`, and goes back to nobody."""
    value = exact(text)
    if not isinstance(value, dict):
        return None
    item = value.get("item", value)
    if not isinstance(item, dict) or item.get("type") != kind:
        return None
    if kind != "message":
        return Beside(item, 0, None, word(value, "after"))
    part, index = value.get("part", _PLAIN_PART), value.get("index", 0)
    if not isinstance(part, dict) or not isinstance(index, int):
        return None
    return Beside(item, index, part, word(value, "after"))


def _spelled(block: dict[str, Any], after: str | None) -> str:
    return lossless.dumps(block if after is None else block | {"after": after})
