"""Streams for tests of the Responses format: made by hand, and the recorded ones."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta
from app.formats.openai_responses.read_stream import ResponsesStreamReader


def event(type: str, **keys: Any) -> bytes:
    """One event; the name stands in the frame and in the data, as OpenAI has it."""
    return f"event: {type}\ndata: {json.dumps({'type': type, 'sequence_number': 0} | keys)}\n\n".encode()


CREATED = event("response.created", response={"id": "resp_1", "status": "in_progress", "output": [], "usage": None})


def added(index: int, item: Any) -> bytes:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int, item: Any) -> bytes:
    return event("response.output_item.done", output_index=index, item=item)


def said(index: int, delta: str, kind: str = "output_text", content_index: int = 0) -> bytes:
    return event(f"response.{kind}.delta", output_index=index, content_index=content_index, delta=delta)


def summed(index: int, delta: str, summary_index: int = 0) -> bytes:
    return event("response.reasoning_summary_text.delta", output_index=index, summary_index=summary_index, delta=delta)


def argued(index: int, delta: str) -> bytes:
    return event("response.function_call_arguments.delta", output_index=index, delta=delta)


def ended(status: str = "completed", *output: Any, **keys: Any) -> bytes:
    """A terminal event; `output` are the items that it repeats."""
    return event(f"response.{status}", response={"id": "resp_1", "status": status, "output": list(output)} | keys)


END = ended("completed", usage={"input_tokens": 3, "output_tokens": 4})
FAILS_ITSELF = {"openai/aisdk-openai-error.1.chunks.txt"}


def message(*texts: str, id: str | None = "msg_1", **keys: Any) -> dict[str, Any]:
    """A message item as OpenAI finishes it."""
    content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text} for text in texts]
    return ({} if id is None else {"id": id}) | {"type": "message", "status": "completed", "content": content, "role": "assistant"} | keys


def reasoning(id: str | None = "rs_1", encrypted: str | None = "E1", *summaries: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return ({} if id is None else {"id": id}) | {"type": "reasoning", "encrypted_content": encrypted, "summary": summary}


def call(call_id: str = "call_1", arguments: str = "{}", name: str = "lookup", id: str | None = "fc_1", **keys: Any) -> dict[str, Any]:
    named = {"type": "function_call", "status": "completed", "arguments": arguments, "call_id": call_id, "name": name}
    return ({} if id is None else {"id": id}) | named | keys


def whole(*items: Any, status: str = "completed", **keys: Any) -> bytes:
    """A stream in which each item comes whole, in no other events than the two that every server sends."""
    pieces = [CREATED]
    for index, item in enumerate(items):
        pieces += [added(index, item), done(index, item)]
    return b"".join([*pieces, ended(status, *items, **keys)])


def read(pieces: Iterable[bytes], producer: str = "openai-responses/openai/m") -> list[Delta]:
    """All deltas of a stream that comes in these pieces and then ends."""
    reader = ResponsesStreamReader(producer)
    found = [delta for piece in pieces for delta in reader.feed(piece)]
    return found + reader.end()


def fold(deltas: Iterable[Delta]) -> AnswerFold:
    answer = AnswerFold()
    for delta in deltas:
        answer.add(delta)
    return answer


def recorded(shared: Path) -> dict[str, bytes]:
    """Every recorded Responses stream, re-framed where the recorder kept the payloads alone, and apart where it put several into one file."""
    found = {}
    for path in sorted((shared / "corpus" / "streams").glob("*/*")):
        content = path.read_bytes()
        if path.suffix == ".bin" or b'"response.' not in content:
            continue
        if path.name.endswith(".chunks.txt"):
            lines = [line for line in content.split(b"\n") if line.strip()]
            content = b"".join(b"event: " + json.loads(line)["type"].encode() + b"\ndata: " + line + b"\n\n" for line in lines)
        begins = [match.start() for match in re.finditer(rb"event: response\.created\n", content)]
        name = f"{path.parent.name}/{path.name}"
        if len(begins) < 2:
            found[name] = content
        else:
            found |= {f"{name}#{number}": content[at:to] for number, (at, to) in enumerate(zip(begins, [*begins[1:], None], strict=True))}
    return found
