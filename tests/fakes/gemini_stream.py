"""An answer as Gemini sends it (wire-format notes 5.3): whole responses, text in pieces, calls in one piece, usage that grows.

A response with calls has its signature on the first of them. One without has it on a last part: an empty text that comes late, or the
last piece of the text itself.
"""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes.answers import Answer, Stop, Text, Thinking, ToolCall, Usage, pieces
from tests.fakes.gemini_models import since

FINISH_REASONS: dict[Stop, str] = {
    "finished": "STOP",
    "stop_sequence": "STOP",
    "tool_calls": "STOP",
    "output_cap": "MAX_TOKENS",
    "window_full": "MAX_TOKENS",
    "refused": "SAFETY",
}
Sign = Callable[[dict[str, Any]], bytes]
"""Makes a signature for a part."""


def chunks(answer: Answer, model: str, number: int, sign: Sign | None, thoughts: bool, late: bool = True) -> list[dict[str, Any]]:
    """The responses of a stream. `sign` None: nothing is signed; `thoughts`: what was thought is shown; `late`: see above."""
    parts = [part for said in _said(answer, model, number, thoughts) for part in _in_pieces(said)]
    parts = _signed(parts, sign, late)
    if not late or not parts or parts[-1].get("text") != "":
        parts.append({"text": ""})
    sent = [_response([part], answer.usage, model, number, (index + 1) / len(parts)) for index, part in enumerate(parts)]
    sent[-1]["candidates"][0]["finishReason"] = _reason(answer)
    return sent


def whole(answer: Answer, model: str, number: int, sign: Sign | None, thoughts: bool) -> dict[str, Any]:
    """The one response of a request that does not stream."""
    parts = _signed(list(_said(answer, model, number, thoughts)), sign, late=False)
    response = _response(parts or [{"text": ""}], answer.usage, model, number, 1)
    response["candidates"][0]["finishReason"] = _reason(answer)
    return response


def framed(responses: list[dict[str, Any]], events: bool) -> bytes:
    """Server-sent events, whose lines end as Google's do, or one array of all responses."""
    if not events:
        return b"[" + b"\r\n,\r\n".join(json.dumps(response, ensure_ascii=False).encode() for response in responses) + b"]"
    return b"".join(event(response) for response in responses)


def event(document: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\r\n\r\n"


def usage(used: Usage, share: float = 1) -> dict[str, Any]:
    """The figures once that share of the answer was sent. The prompt includes what was cached, candidates do not include thoughts (0.4)."""
    prompt = used.input_tokens + used.cache_read_tokens + used.cache_written_tokens
    candidates = round((used.output_tokens - used.thinking_tokens) * share)
    figures: dict[str, Any] = {"promptTokenCount": prompt, "candidatesTokenCount": candidates}
    figures["totalTokenCount"] = prompt + candidates + used.thinking_tokens
    if used.cache_read_tokens:
        figures["cachedContentTokenCount"] = used.cache_read_tokens
    figures["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": prompt}]
    if used.thinking_tokens:
        figures["thoughtsTokenCount"] = used.thinking_tokens
    return figures


def _said(answer: Answer, model: str, number: int, thoughts: bool) -> Iterator[dict[str, Any]]:
    for index, part in enumerate(answer.parts):
        match part:
            case Thinking(text) if thoughts:
                yield {"text": text, "thought": True}
            case Text(text):
                yield {"text": text}
            case ToolCall(name, _, call_id) if part.parsed() is not None:
                minted = f"fake{number:04}{index}" if since(model, 3) else None  # older models name no calls
                id = call_id or minted
                yield {"functionCall": {"name": name, "args": part.parsed(), **({"id": id} if id else {})}}


def _in_pieces(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "functionCall" in part:
        yield part
    else:
        yield from ({**part, "text": piece} for piece in pieces(part["text"]))


def _signed(parts: list[dict[str, Any]], sign: Sign | None, late: bool) -> list[dict[str, Any]]:
    if sign is None:
        return parts
    bearer = next((index for index, part in enumerate(parts) if "functionCall" in part), None)
    if bearer is None and (late or not parts or parts[-1].get("thought")):
        parts.append({"text": ""})
    bearer = len(parts) - 1 if bearer is None else bearer
    parts[bearer] = {**parts[bearer], "thoughtSignature": base64.b64encode(sign(parts[bearer])).decode()}
    return parts


def _reason(answer: Answer) -> str:
    broken = any(isinstance(part, ToolCall) and part.parsed() is None for part in answer.parts)
    return "MALFORMED_FUNCTION_CALL" if broken else FINISH_REASONS[answer.why]


def _response(parts: list[dict[str, Any]], used: Usage, model: str, number: int, share: float) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": usage(used, share),
        "modelVersion": model,
        "responseId": f"fake-{number:06}",
    }
