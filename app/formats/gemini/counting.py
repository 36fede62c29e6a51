"""Google's own count of a request's tokens (wire-format notes 7.1)."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import token_count
from app.formats.gemini.rules import model_path
from app.formats.protocols import Counting
from app.formats.writing import as_bytes


def _path(model: str) -> str:
    return f"{model_path(model)}:countTokens"


def _body(model: str, document: Mapping[str, Any]) -> bytes:
    """The whole request, since system text and tools are counted in no other form; it has to name its model once more."""
    return as_bytes({"generateContentRequest": {"model": model if "/" in model else f"models/{model}", **document}})


def _read(body: bytes) -> int | None:
    """The count; None for an answer that holds none."""
    try:
        document = lossless.loads(body)
    except lossless.InvalidJson:
        return None
    total = document.get("totalTokens") if isinstance(document, dict) else None
    return token_count(total)


COUNTING = Counting(_path, _body, _read)
