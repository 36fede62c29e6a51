"""Converse answers on the wire: scripted ones written as frames or a document, recorded frames read back (wire-format notes 6.3)."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, pieces
from tests.fakes.aws_frames import read_frames, write_event

_STOPS = {
    "finished": "end_turn",
    "tool_calls": "tool_use",
    "output_cap": "max_tokens",
    "window_full": "model_context_window_exceeded",
    "refused": "content_filtered",
    "stop_sequence": "stop_sequence",
}
_PADDING = "abcdefghijklmnopqrstuvwxyz"


def message(answer: Answer, number: int, mint: Callable[[], str] | None, thinks: bool, omitted: bool) -> dict[str, Any]:
    """The answer as a whole document, but that `input` of a call is the text the model wrote. Without `mint`, thinking is not signed."""
    content: list[dict[str, Any]] = []
    for index, part in enumerate(answer.parts):
        match part:
            case Text(text):
                content.append({"text": text})
            case Thinking(text) if thinks:
                signed = {"signature": mint()} if mint else {}
                content.append({"reasoningContent": {"reasoningText": {"text": "" if omitted else text, **signed}}})
            case Redacted() if thinks and mint:
                content.append({"reasoningContent": {"redactedContent": mint()}})
            case ToolCall(name, arguments, tool_call_id):
                content.append({"toolUse": {"toolUseId": tool_call_id or f"tooluse_fake{number:04}{index:02}", "name": name, "input": arguments}})
    usage = answer.usage
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _STOPS[answer.why],
        "usage": {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_written_tokens,
            "cacheReadInputTokens": usage.cache_read_tokens,
            "cacheWriteInputTokens": usage.cache_written_tokens,
        },
        "metrics": {"latencyMs": 12},
    }


def with_objects(made: dict[str, Any]) -> dict[str, Any]:
    """The document with parsed arguments; those that are no object come as an empty one."""
    told = made["output"]["message"]
    return {**made, "output": {"message": {**told, "content": [_with_object(block) for block in told["content"]]}}}


def _with_object(block: dict[str, Any]) -> dict[str, Any]:
    call = block.get("toolUse")
    if call is None or not isinstance(call["input"], str):
        return block
    return {"toolUse": {**call, "input": ToolCall("", call["input"]).parsed() or {}}}


def write(made: dict[str, Any]) -> bytes:
    """The document as frames. Each payload has a padding `p`, which clients pass over."""
    frames: list[bytes] = []
    for kind, payload in _events(made):
        padded = {**payload, "p": _PADDING[: 1 + len(frames) % len(_PADDING)]}
        frames.append(write_event(kind, json.dumps(padded, ensure_ascii=False).encode()))
    return b"".join(frames)


def _events(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "messageStart", {"role": "assistant"}
    for index, block in enumerate(made["output"]["message"]["content"]):
        if "toolUse" in block:
            start = {key: value for key, value in block["toolUse"].items() if key != "input"}
            yield "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": start}}
        for delta in _deltas(block):
            yield "contentBlockDelta", {"contentBlockIndex": index, "delta": delta}
        yield "contentBlockStop", {"contentBlockIndex": index}
    yield "messageStop", {"stopReason": made["stopReason"]}
    yield "metadata", {"usage": made["usage"], "metrics": made["metrics"]}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block:
        case {"text": text}:
            yield from ({"text": piece} for piece in pieces(text))
        case {"toolUse": {"input": arguments}}:
            yield from ({"toolUse": {"input": piece}} for piece in pieces(arguments))
        case {"reasoningContent": {"redactedContent": data}}:
            yield {"reasoningContent": {"redactedContent": data}}
        case {"reasoningContent": {"reasoningText": told}}:
            yield from ({"reasoningContent": {"text": piece}} for piece in (pieces(told["text"]) if told["text"] else ()))
            if "signature" in told:
                yield {"reasoningContent": {"signature": told["signature"]}}


def read(stream: bytes) -> dict[str, Any]:
    """The document that recorded frames tell, as far as they go."""
    blocks: dict[int, dict[str, Any]] = {}
    told: dict[str, Any] = {"stopReason": "end_turn", "usage": {}, "metrics": {"latencyMs": 0}}
    for headers, raw in read_frames(stream):
        payload = json.loads(raw or b"{}")
        match headers.get(":event-type"):
            case "contentBlockStart" if "toolUse" in payload["start"]:
                blocks[payload["contentBlockIndex"]] = {"toolUse": {**payload["start"]["toolUse"], "input": ""}}
            case "contentBlockDelta":
                _grow(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
            case "messageStop":
                told["stopReason"] = payload["stopReason"]
            case "metadata":
                told |= {key: payload[key] for key in ("usage", "metrics")}
    content = [blocks[index] for index in sorted(blocks) if blocks[index]]
    return {"output": {"message": {"role": "assistant", "content": content}}, **told}


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    match delta:
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": piece}} if "toolUse" in block:
            block["toolUse"]["input"] += piece
        case {"reasoningContent": {"redactedContent": data}}:
            earlier = base64.b64decode(block.get("reasoningContent", {}).get("redactedContent", ""))
            block["reasoningContent"] = {"redactedContent": base64.b64encode(earlier + base64.b64decode(data)).decode()}
        case {"reasoningContent": piece}:
            held = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
            for key in ("text", "signature"):
                if key in piece:
                    held[key] = held.get(key, "") + piece[key]
