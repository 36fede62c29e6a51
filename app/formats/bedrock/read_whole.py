"""An answer that came as one JSON document: Converse without a stream, or an error under status 200 (wire-format notes 6.3)."""

from typing import Any

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries import lossless
from app.entries.deltas import (
    Delta,
    Finished,
    OpaqueBlock,
    PartBlock,
    ReasoningDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReport,
)
from app.formats.bedrock.errors import stream_error
from app.formats.bedrock.rules import DIALECT, STOP_REASONS
from app.formats.bedrock.usage import read_usage


def read_whole(body: bytes, producer: str) -> list[Delta]:
    """All deltas of the document; the input of a call is spelled as received, but for blanks between its words."""
    try:
        document = lossless.loads(body)
    except lossless.InvalidJson:
        return [StreamFailed("stream-truncated", "The answer is no whole document.", retryable=True)]
    output = document.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    native = document.get("stopReason")
    if not isinstance(message, dict) or not isinstance(native, str):
        return [stream_error(None, body)]
    content = message.get("content")
    found: list[Delta] = []
    parts = calls = 0
    for block in content if isinstance(content, list) else ():
        said = _deltas(block, parts, producer) if isinstance(block, dict) else []
        parts += bool(said)
        calls += any(isinstance(delta, ToolCallStarted) for delta in said)
        found.extend(said)
    if calls > TOOL_CALLS_PER_ANSWER_MAX:
        return [StreamFailed("upstream-error", "The answer is larger than the service takes.")]
    if isinstance(usage := document.get("usage"), dict):
        found.append(UsageReport(read_usage(usage), lossless.dumps({"usage": usage})))
    reason = STOP_REASONS.get(native, "other")
    return [*found, Finished("tool_calls" if reason == "finished" and calls else reason, native)]


def _deltas(block: dict[str, Any], part: int, producer: str) -> list[Delta]:
    text, call, thought, cited = (block.get(key) for key in ("text", "toolUse", "reasoningContent", "citationsContent"))
    if isinstance(text, str):
        return [TextDelta(part, text)] if text else []
    if isinstance(call, dict) and call.get("type") != "server_tool_use" and isinstance(name := call.get("name"), str) and name:
        provider_id = call.get("toolUseId")
        started = ToolCallStarted(part, name, provider_id if isinstance(provider_id, str) else "")
        return [started, ToolCallDelta(part, lossless.dumps(call.get("input", {})))]
    if isinstance(thought, dict):
        inner = thought.get("reasoningText")
        said = inner.get("text") if isinstance(inner, dict) else None
        signed = "redactedContent" in thought or (isinstance(inner, dict) and bool(inner.get("signature")))
        deltas: list[Delta] = [ReasoningDelta(part, said)] if isinstance(said, str) and said else []
        return [*deltas, PartBlock(part, lossless.dumps(block), producer)] if signed else deltas
    if isinstance(cited, dict):
        pieces = cited.get("content")
        texts = [piece.get("text") for piece in pieces if isinstance(piece, dict)] if isinstance(pieces, list) else []
        words = "".join(text for text in texts if isinstance(text, str))
        return [TextDelta(part, words), PartBlock(part, lossless.dumps(block), producer)]
    return [OpaqueBlock(part, DIALECT, producer, lossless.dumps(block), ", ".join(block)[:200])]
