"""Answers with what a provider put into them, as an export of ours spells them: no client may append such blocks, an archive brings them.

Each block has the form in which the reader of its format keeps it, and names as its producer the upstream of a place that speaks the dialect.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.entries.producers import Producer
from app.formats.openai_responses.blocks import text_block
from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.rows import STATUS, NotSaid
from tests.services.world import World

_KEYS = frozenset({"blocks", "item_id", "origin", "provider_state", "reasoning"})


def has_blocks(row: Mapping[str, Any]) -> bool:
    """Whether the row says more than an append may: what a provider put with an answer, or whose answer it is."""
    return bool(_KEYS & row.keys()) or any("thought_signature" in call for call in row.get("calls", ()))


def answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as a line of an export, all but its place. `provider_state` is nobody's but its client's, and stands in the attributes."""
    said = [*row.get("reasoning", ()), *row.get("blocks", ())]
    origin: Mapping[str, Any] = row.get("origin") or next((block for block in said if "model" in block), {})
    body = {
        "parts": list(_parts(row, origin)),
        "status": STATUS.get(row.get("status", ""), "completed"),
        "model": origin.get("model"),
        "stop_reason": "tool_calls" if row.get("calls") else "finished",
        "call_id": None,
    }
    attributes = json.dumps(row["provider_state"]) if "provider_state" in row else None
    return {"kind": "assistant_message", "version": 1, "attributes": attributes, "body": json.dumps(body)}


async def archived(world: World, session: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows behind all that the session holds: its own export, grown by them and imported again."""
    exported = (await world.call("GET", f"/sessions/{session}/export", 200, params={"format": "jsonl"})).content
    *lines, _ = exported.strip().split(b"\n")
    count = sum(line.startswith(b'{"seq":') for line in lines)
    lines += [json.dumps({"seq": count + number, **answer(row)}).encode() for number, row in enumerate(rows, 1)]
    lines.append(json.dumps({"end": {"entries": count + len(rows)}}).encode())
    report = (await world.call("POST", "/sessions/import", 201, params={"format": "jsonl"}, content=b"\n".join(lines))).json()
    assert [(one["id"], one["lost"]) for one in report["sessions"]] == [(session, [])]


def _parts(row: Mapping[str, Any], origin: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for block in row.get("reasoning", ()):
        yield _reasoning(block)
    for block in row.get("blocks", ()):
        yield _block(block)
    if "text" in row:
        yield _text(row)
    for call in row.get("calls", ()):
        signature = call.get("thought_signature")
        beside = {} if signature is None else _owned(origin, {"thoughtSignature": signature})
        yield _call(call) | beside


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "tool_call":
            return _call(block)
        case _:
            return _reasoning(block)


def _reasoning(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            opaque = {"type": "thinking", "thinking": block["text"], "signature": block["signature"]}
        case "redacted_thinking":
            opaque = {"type": "redacted_thinking", "data": block["data"]}
        case "reasoning_item":
            opaque = {"id": block["id"], "type": "reasoning", "summary": block["summary"], "encrypted_content": block["encrypted_content"]}
        case "summary":
            opaque = {"type": "reasoning", "summary": [{"type": "summary_text", "text": block["text"]}]}
        case other:
            raise NotSaid(f"a block of type {other}")
    return {"type": "reasoning", "text": block.get("text", ""), **_owned(block, opaque)}


def _text(row: Mapping[str, Any]) -> dict[str, Any]:
    """The text; with the message item that it was, and the reasoning item that led to it, where the row names the item."""
    if "item_id" not in row:
        return {"type": "text", "text": row["text"]}
    content = [{"type": "output_text", "text": row["text"], "annotations": []}]
    item = {"id": row["item_id"], "type": "message", "status": "completed", "role": "assistant", "content": content}
    led = row["reasoning"][-1]
    return {"type": "text", "text": row["text"], "opaque": text_block(item, 0, led["id"]), "producer": _producer(led)}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "tool_call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}


def _owned(by: Mapping[str, Any], opaque: Mapping[str, Any]) -> dict[str, Any]:
    return {"opaque": json.dumps(opaque, separators=(",", ":")), "producer": _producer(by)}


def _producer(by: Mapping[str, Any]) -> str:
    dialect = dialect_of(by["provider"])
    return str(Producer(dialect, upstream_of(dialect), by["model"]))
