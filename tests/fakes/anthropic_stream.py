"""Messages answers on the wire: scripted ones written as a stream or a document, recorded streams read back (wire-format notes 4.5)."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, pieces

_STOPS = {
    "finished": "end_turn",
    "tool_calls": "tool_use",
    "output_cap": "max_tokens",
    "window_full": "model_context_window_exceeded",
    "refused": "refusal",
    "stop_sequence": "stop_sequence",
}
_EMPTY: dict[str, dict[str, Any]] = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}


def message(answer: Answer, model: str, number: int, mint: Callable[[], str], thinks: bool, omitted: bool) -> dict[str, Any]:
    """The answer as a whole message, but that `input` of a call is the text the model wrote. Without `thinks` it has no thinking."""
    content: list[dict[str, Any]] = []
    for index, part in enumerate(answer.parts):
        match part:
            case Text(text):
                content.append({"type": "text", "text": text})
            case Thinking(text) if thinks:
                content.append({"type": "thinking", "thinking": "" if omitted else text, "signature": mint()})
            case Redacted() if thinks:
                content.append({"type": "redacted_thinking", "data": mint()})
            case ToolCall(name, arguments, tool_call_id):
                made = tool_call_id or f"toolu_fake{number:04}{index:02}"
                content.append({"type": "tool_use", "id": made, "name": name, "input": arguments})
    usage = {
        "input_tokens": answer.usage.input_tokens,
        "cache_creation_input_tokens": answer.usage.cache_written_tokens,
        "cache_read_input_tokens": answer.usage.cache_read_tokens,
        "output_tokens": answer.usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": answer.usage.thinking_tokens},
        "service_tier": "standard",
    }
    return {
        "id": f"msg_fake{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": _STOPS[answer.why],
        "stop_sequence": None,
        "usage": usage,
    }


def with_objects(made: dict[str, Any]) -> dict[str, Any]:
    """The message with parsed arguments; those that are no object come as an empty one, as a document can hold no other."""
    return {**made, "content": [_with_object(block) for block in made["content"]]}


def _with_object(block: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(block.get("input"), str):
        return block
    return {**block, "input": ToolCall("", block["input"]).parsed() or {}}


def write(made: dict[str, Any]) -> bytes:
    """The message as server-sent events."""
    return b"".join(event(kind, {"type": kind, **data}) for kind, data in _events(made))


def event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _events(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = made["usage"]
    first = {**usage, "output_tokens": 1}
    del first["output_tokens_details"]
    yield "message_start", {"message": {**made, "content": [], "stop_reason": None, "usage": first}}
    yield "ping", {}
    for index, block in enumerate(made["content"]):
        yield "content_block_start", {"index": index, "content_block": {**block, **_EMPTY.get(block["type"], {})}}
        for delta in _deltas(block):
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    end = {"stop_reason": made["stop_reason"], "stop_sequence": made["stop_sequence"]}
    yield "message_delta", {"delta": end, "usage": {key: value for key, value in usage.items() if key != "service_tier"}}
    yield "message_stop", {}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
        case "tool_use":
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(block["input"])])
        case "thinking":
            for piece in pieces(block["thinking"]) if block["thinking"] else ():
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}


def read(stream: bytes) -> dict[str, Any]:
    """The message that a recorded stream tells, as far as it goes. Lines that say nothing are passed over."""
    told: dict[str, Any] = {"content": []}
    blocks: dict[int, dict[str, Any]] = {}
    for line in stream.decode("utf-8", "replace").split("\n"):
        try:
            data = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
        except ValueError:
            continue
        match data:
            case {"type": "message_start", "message": start}:
                told |= start
            case {"type": "content_block_start", "index": index, "content_block": block}:
                blocks[index] = {**block, "input": ""} if block.get("type") == "tool_use" else dict(block)
            case {"type": "content_block_delta", "index": index, "delta": delta} if index in blocks:
                _grow(blocks[index], delta)
            case {"type": "message_delta", "delta": delta, "usage": usage}:
                told |= delta
                told["usage"] = told.get("usage", {}) | usage
    return {**told, "content": [blocks[index] for index in sorted(blocks)]}


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("text", "thinking", "signature"):
        if key in delta:
            block[key] = block.get(key, "") + delta[key]
    if "partial_json" in delta:
        block["input"] = (block["input"] if isinstance(block.get("input"), str) else "") + delta["partial_json"]
