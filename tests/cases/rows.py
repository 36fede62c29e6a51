"""Ledger rows of a case as entries of the contract, and system rows as renderers of an agent. What a provider put into answers: `blocks`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

STATUS = {"aborted": "cancelled", "interrupted": "interrupted", "failed": "failed"}
"""How an answer ended: the word of the cases to ours."""


class NotSaid(Exception):
    """A row that no entry of the contract says yet; the text names what is missing."""


def split_system(rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Mapping[str, Any]]]:
    """The renderers that the system rows stand for, and the other rows: at the head before the history, later ones behind it.

    System text is no message of a ledger here: an agent has it, and what comes later than the head is placed at the tail.
    """
    spoken = next((at for at, row in enumerate(rows) if row["kind"] != "system"), len(rows))
    head = [{"renderer": "system", "text": row["text"]} for row in rows[:spoken]]
    tail = [{"renderer": "system", "text": row["text"], "placement": "tail"} for row in rows[spoken:] if row["kind"] == "system"]
    return [*head, {"renderer": "history"}, *tail], [row for row in rows[spoken:] if row["kind"] != "system"]


def entries(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as the bodies that `POST …/entries` takes. Raises `NotSaid`."""
    # Whose process died appended nothing more: an abort is no entry.
    return [_entry(row) for row in rows if row["kind"] != "abort"]


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    match row["kind"]:
        case "user":
            return {"kind": "user_message", "parts": _parts(row)}
        case "assistant":
            found = {"kind": "assistant_message", "parts": _answer_parts(row)}
            return found | ({"status": STATUS[row["status"]]} if row.get("status") in STATUS else {})
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
    texts = [{"type": "text", "text": row["text"]}] if "text" in row else []
    calls = [{"type": "tool_call", "tool_call_id": call["id"], "name": call["name"], "arguments": call["arguments"]} for call in row.get("calls", ())]
    return [*texts, *calls]
