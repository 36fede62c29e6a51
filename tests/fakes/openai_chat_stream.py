"""An answer as Chat Completions streams it (wire-format notes 1.3): one chunk a piece, calls by index, then the usage, then the mark.

Of what the model thought only the number of tokens is told: this endpoint shows no reasoning and gives nothing to send back.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.fakes.answers import Answer, Stop, Text, ToolCall, Usage, pieces

FINISH_REASONS: dict[Stop, str] = {
    "finished": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "output_cap": "length",
    "window_full": "length",
    "refused": "content_filter",
}


def write_stream(answer: Answer, model: str, number: int, include_usage: bool) -> bytes:
    """`number` tells answers apart: ids are made of it."""
    head = {"id": f"chatcmpl-fake{number:06}", "object": "chat.completion.chunk", "created": 1_790_000_000 + number, "model": model}
    head |= {"service_tier": "default", "system_fingerprint": "fp_fake"}
    silent = {"usage": None} if include_usage else {}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}], **silent}
        for delta, reason in _deltas(answer, number)
    ]
    if include_usage:
        chunks.append({**head, "choices": [], "usage": usage(answer.usage)})
    return b"".join(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _deltas(answer: Answer, number: int) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": "" if any(isinstance(part, Text) for part in answer.parts) else None, "refusal": None}, None
    for part in answer.parts:
        if isinstance(part, Text):
            for piece in pieces(part.text):
                yield {"content": piece}, None
    for index, call in enumerate(part for part in answer.parts if isinstance(part, ToolCall)):
        yield {"tool_calls": [{"index": index, **_started(call, f"call_fake{number:06}x{index}")}]}, None
        for piece in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, FINISH_REASONS[answer.why]


def _started(call: ToolCall, minted: str) -> dict[str, Any]:
    return {"id": call.tool_call_id or minted, "type": "function", "function": {"name": call.name, "arguments": ""}}


def usage(used: Usage) -> dict[str, Any]:
    """Prompt tokens include cached ones, completion tokens include reasoning (0.4)."""
    prompt = used.input_tokens + used.cache_read_tokens + used.cache_written_tokens
    cached = {"cached_tokens": used.cache_read_tokens, "cache_write_tokens": used.cache_written_tokens}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": used.output_tokens,
        "total_tokens": prompt + used.output_tokens,
        "prompt_tokens_details": {**cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": used.thinking_tokens, "audio_tokens": 0},
    }
