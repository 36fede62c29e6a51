"""The tokens of a request, counted by Bedrock itself (wire-format notes 7.1). Taken for Claude models alone, as far as is known."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.formats.bedrock.model_ids import counting_path
from app.formats.protocols import Counting
from app.formats.writing import spelled

_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")


class _Count:
    """What of a request is counted: the endpoint refuses any other key."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def document(self) -> dict[str, Any]:
        return {"input": {"converse": {key: self._document[key] for key in _COUNTED if key in self._document}}}


def _body(model: str, document: Mapping[str, Any]) -> bytes:
    return spelled(lambda _: _Count(document))[0]


def _read(body: bytes) -> int | None:
    try:
        found = lossless.loads(body)
    except lossless.InvalidJson:
        return None
    count = found.get("inputTokens") if isinstance(found, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


COUNTING = Counting(counting_path, _body, _read)
