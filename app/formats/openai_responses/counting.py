"""The endpoint that counts the tokens of a request: `POST /responses/input_tokens` (wire-format notes 7.1)."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import token_count
from app.formats.protocols import Counting
from app.formats.writing import as_bytes

_COUNTED = (
    "model",
    "instructions",
    "tools",
    "input",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "truncation",
    "previous_response_id",
    "conversation",
)
"""The keys of a call's body that the endpoint takes; any other one it refuses."""


def count_path(model: str) -> str:
    """Where a count is asked for, below the base URL."""
    return "/responses/input_tokens"


def count_body(model: str, document: Mapping[str, Any]) -> bytes:
    """The request of a count. `document`: the tree of the call's body, which names the model too."""
    return as_bytes({key: document[key] for key in _COUNTED if key in document})


def read_count(body: bytes) -> int | None:
    """The tokens that an answer names; None for an answer that names none."""
    try:
        found = lossless.loads(body)
    except lossless.InvalidJson:
        return None
    tokens = found.get("input_tokens") if isinstance(found, dict) else None
    return token_count(tokens)


COUNTING = Counting(count_path, count_body, read_count)
