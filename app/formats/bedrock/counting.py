"""The tokens of a request, counted by Bedrock itself (wire-format notes 7.1). Taken for Claude models alone, as far as is known."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import token_count
from app.formats.bedrock.model_ids import counting_path
from app.formats.protocols import Counting
from app.formats.writing import as_bytes

_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def _body(model: str, document: Mapping[str, Any]) -> bytes:
    """What of a request is counted: the endpoint refuses any other key."""
    return as_bytes({"input": {"converse": {key: document[key] for key in _COUNTED if key in document}}})


def _read(body: bytes) -> int | None:
    try:
        found = lossless.loads(body)
    except lossless.InvalidJson:
        return None
    count = found.get("inputTokens") if isinstance(found, dict) else None
    return token_count(count)


COUNTING = Counting(counting_path, _body, _read)
