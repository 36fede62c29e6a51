"""The provider's own count of a request's tokens (wire-format notes 7.1)."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import token_count
from app.formats.protocols import Counting
from app.formats.writing import spelled

_COUNTED = ("model", "thinking", "output_config", "cache_control", "tools", "tool_choice", "system", "messages")


class _Counted:
    """The part of a model call's tree that the endpoint takes."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.tree = tree

    def document(self) -> dict[str, Any]:
        return {key: self.tree[key] for key in _COUNTED if key in self.tree}


def _path(model: str) -> str:
    return "/messages/count_tokens"


def _body(model: str, tree: Mapping[str, Any]) -> bytes:
    return spelled(lambda scrub: _Counted(tree))[0]


def _read(body: bytes) -> int | None:
    try:
        found = lossless.loads(body)
    except lossless.InvalidJson:
        return None
    count = found.get("input_tokens") if isinstance(found, dict) else None
    return token_count(count)


COUNTING = Counting(_path, _body, _read)
