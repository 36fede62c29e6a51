"""An answer as the Responses endpoint sends it, event by event (wire-format notes 3.3): numbered, opened and closed, told again at the end.

A reasoning item has one token as it is opened, which is not good yet, another as it is closed, and a third as it is told again.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes.answers import Answer, Part, Redacted, Stop, Text, Thinking, ToolCall, Usage, pieces

_REASONS: dict[Stop, str] = {"output_cap": "max_output_tokens", "window_full": "max_output_tokens", "refused": "content_filter"}
# fmt: off
_ECHOED: dict[str, Any] = {
    "background": False, "instructions": None, "max_output_tokens": None, "max_tool_calls": None, "metadata": {}, "parallel_tool_calls": True,
    "previous_response_id": None, "prompt_cache_key": None, "reasoning": {"effort": None, "summary": None}, "safety_identifier": None,
    "service_tier": "default", "store": True, "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
    "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "user": None,
}
# fmt: on
Renewed = Callable[[dict[str, Any]], dict[str, Any]]
"""Gives an item that was told once as it is told again."""


def whole(answer: Answer, body: dict[str, Any], number: int, token: Callable[[], str]) -> dict[str, Any]:
    """The finished response object. `number` tells answers apart: ids are made of it; `token` makes opaque ones."""
    response = _head(body, number)
    reason = _REASONS.get(answer.why)
    response["status"] = "completed" if reason is None else "incomplete"
    response["incomplete_details"] = None if reason is None else {"reason": reason}
    response["output"] = [_item(part, f"{number:04}{index:04}", token) for index, part in enumerate(answer.parts)]
    for index, (part, item) in enumerate(zip(answer.parts, response["output"], strict=True)):
        if isinstance(part, Text):
            item["phase"] = "commentary" if any(isinstance(later, ToolCall) for later in answer.parts[index:]) else "final_answer"
    if reason is not None and response["output"] and "status" in response["output"][-1]:
        response["output"][-1]["status"] = "incomplete"
    response["usage"] = usage(answer.usage)
    return response


def events(response: dict[str, Any], token: Callable[[], str], renewed: Renewed, obfuscated: bool = True) -> Iterator[dict[str, Any]]:
    """The events that tell of a finished response, without their numbers."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item, token)}
        for event in _told(item):
            padding = {"obfuscation": "x" * (index + 3)} if obfuscated and event["type"].endswith(".delta") else {}
            yield {**event, "item_id": item["id"], "output_index": index, **padding}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": {**response, "output": [*map(renewed, response["output"])]}}


def failure(response: dict[str, Any], code: str, words: str, shape: str) -> Iterator[dict[str, Any]]:
    """An error in the middle of a stream: `flat`, `nested` (which `response.failed` follows, 12.5), or that event alone (`failed`)."""
    error = {"code": code, "message": words, "param": None}
    if shape == "flat":
        yield {"type": "error", **error}
        return
    if shape == "nested":
        yield {"type": "error", "error": {"type": code, **error}}
    yield {"type": "response.failed", "response": {**response, "status": "failed", "error": {"code": code, "message": words}}}


def framed(events: Iterator[dict[str, Any]], number: int = 0) -> bytes:
    """Events as they go over the wire, numbered from `number`."""
    lines = []
    for sequence_number, event in enumerate(events, number):
        data = json.dumps({"type": event["type"], "sequence_number": sequence_number, **event}, ensure_ascii=False)
        lines.append(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return b"".join(lines)


def usage(used: Usage) -> dict[str, Any]:
    """Input tokens include cached ones, output tokens include reasoning (0.4)."""
    tokens = used.input_tokens + used.cache_read_tokens + used.cache_written_tokens
    return {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": used.cache_read_tokens, "cache_write_tokens": used.cache_written_tokens},
        "output_tokens": used.output_tokens,
        "output_tokens_details": {"reasoning_tokens": used.thinking_tokens},
        "total_tokens": tokens + used.output_tokens,
    }


def _head(body: dict[str, Any], number: int) -> dict[str, Any]:
    given = {key: body[key] for key in _ECHOED if body.get(key) is not None}
    head = {"id": f"resp_fake{number:04}", "object": "response", "created_at": 1_790_000_000 + number, "model": body["model"]}
    return {**head, "status": "in_progress", "error": None, "incomplete_details": None, "output": [], "usage": None, **_ECHOED, **given}


def _item(part: Part, id: str, token: Callable[[], str]) -> dict[str, Any]:
    match part:
        case Thinking() | Redacted():
            summary = [{"type": "summary_text", "text": part.text}] if isinstance(part, Thinking) else []
            return {"id": f"rs_fake{id}", "type": "reasoning", "content": [], "encrypted_content": token(), "summary": summary}
        case Text(text):
            said = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
            return {"id": f"msg_fake{id}", "type": "message", "status": "completed", "content": [said], "role": "assistant"}
        case ToolCall(name, arguments, call_id):
            call = {"arguments": arguments, "call_id": call_id or f"call_fake{id}", "name": name}
            return {"id": f"fc_fake{id}", "type": "function_call", "status": "completed", **call}


def _opened(item: dict[str, Any], token: Callable[[], str]) -> dict[str, Any]:
    match item["type"]:
        case "reasoning":
            return {**item, "summary": [], "encrypted_content": token()}
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case _:
            return {**item, "status": "in_progress", "arguments": ""}


def _told(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match item["type"]:
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                at = {"summary_index": index}
                yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
                for piece in pieces(part["text"]):
                    yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
                yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
                yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
        case "message":
            for index, part in enumerate(item["content"]):
                at = {"content_index": index}
                yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
                for piece in pieces(part["text"]):
                    yield {"type": "response.output_text.delta", **at, "logprobs": [], "delta": piece}
                yield {"type": "response.output_text.done", **at, "logprobs": [], "text": part["text"]}
                yield {"type": "response.content_part.done", **at, "part": part}
        case _:
            for piece in pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": piece}
            yield {"type": "response.function_call_arguments.done", "name": item["name"], "arguments": item["arguments"]}
