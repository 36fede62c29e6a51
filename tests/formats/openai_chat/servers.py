"""Bodies for other servers that speak the format, by their presets, and answers as they stream them."""

from collections.abc import Iterable
from typing import Any

import orjson

from app.entries.deltas import Delta
from app.entries.messages import Status
from app.entries.parts import Blob, ToolCall
from app.formats.openai_chat.validate import validate
from app.formats.openai_chat.write_request import write_request
from app.formats.protocols import Written
from app.models.presets import PRESETS
from tests.formats.openai_chat.requests import message, request, target
from tests.formats.openai_chat.streams import fold

PDF = Blob("sha256:" + "c" * 64, "application/pdf", 3)
PNG = Blob("sha256:" + "a" * 64, "image/png", 3)
BLOBS = {PDF.digest: b"pdf", PNG.digest: b"png"}
USER = message("user", "q")
CALLING = message("assistant", ToolCall("c1", "lookup", "{}"))
RESULT = message("tool", "r", tool_call_id="c1")
CHAT = sorted(name for name, preset in PRESETS.items() if preset.dialect == "openai-chat")


def served(preset: str, *messages: Any, model: str = "house-model", params: Any = None, **changes: Any) -> tuple[dict[str, Any], Written]:
    """The body for a server of a preset, and everything that the writer returned; judged by the server's rules."""
    chosen = target(model, dict(PRESETS[preset].quirks), **(params or {}))
    found = write_request(request(*messages, target=chosen, **changes), BLOBS)
    body = orjson.loads(found.body)
    assert validate(body, chosen.rules) == []
    return body, found


def answered(deltas: Iterable[Delta]) -> Any:
    """The neutral message of an answer that was streamed."""
    answer = fold(deltas).answer(Status.COMPLETED, "m", "mcl_1")
    return message("assistant", *answer.parts)


def lost(found: Written) -> list[tuple[str, str]]:
    return [(loss.what, loss.why) for loss in found.losses]
