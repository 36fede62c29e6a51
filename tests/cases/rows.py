"""Ledger rows of a case as entries of the contract, and the head of a ledger as renderers of an agent."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

_STATUS = {"aborted": "cancelled", "interrupted": "interrupted", "failed": "failed"}


class NotSaid(Exception):
    """A row that no entry of the contract says yet; the text names what is missing."""


def split_head(rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Mapping[str, Any]]]:
    """The renderers that the system rows at the head stand for, with the history after them, and the other rows."""
    head = 0
    while head < len(rows) and rows[head]["kind"] == "system":
        head += 1
    system = [{"renderer": "system", "text": row["text"]} for row in rows[:head]]
    return [*system, {"renderer": "history"}], list(rows[head:])


def entries(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as the bodies that `POST …/entries` takes. Raises `NotSaid`."""
    return [_entry(row) for row in rows]


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    match row["kind"]:
        case "user":
            return {"kind": "user_message", "parts": _parts(row)}
        case "assistant":
            found = {"kind": "assistant_message", "parts": _answer_parts(row)}
            return found | ({"status": _STATUS[row["status"]]} if row.get("status") in _STATUS else {})
        case "tool_result":
            is_error = {"is_error": row["is_error"]} if "is_error" in row else {}
            return {"kind": "tool_result", "tool_call_id": row["call_id"], "parts": _parts(row), **is_error}
        case "note":  # a message beside the conversation, such as an operator's
            return {"kind": "agent_message", "parts": _parts(row), "include_in_context": False}
        case other:
            raise NotSaid(f"a row of kind {other} after the head")


def _parts(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "json" in row:  # structured results are their JSON text: the contract's parts have no other form
        return [{"type": "text", "text": json.dumps(row["json"])}]
    return [_part(part) for part in row["parts"]] if "parts" in row else [{"type": "text", "text": row["text"]}]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "image":
        return {"type": "image", "data": part["b64"], "media_type": part["mime"]}
    return {"type": "text", "text": part["text"]}


def _answer_parts(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    if {"blocks", "raw_blocks", "reasoning"} & row.keys():
        raise NotSaid("blocks as a provider sent them")
    texts = [{"type": "text", "text": row["text"]}] if "text" in row else []
    calls = [{"type": "tool_call", "tool_call_id": call["id"], "name": call["name"], "arguments": call["arguments"]} for call in row.get("calls", ())]
    return [*texts, *calls]
