"""What the items of a Responses request owe one another: results to calls, reasoning to what it led to, ids to nobody else (3.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.formats.openai_responses.rules import GIVEN_TYPES, RESULT_OF
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_RESULTS = frozenset(RESULT_OF.values())
_OTHERS_IDS = frozenset({"local_shell_call_output"})
"""Types of which `id` is another item's."""


def check_order(items: Sequence[Any], body: Mapping[str, Any], rules: WireRules, found: list[Violation]) -> None:
    """Appends what is wrong between the items; O(items). Where the conversation began elsewhere a call may stand there."""
    stored = body.get("store") is not False or bool(rules.reasoning_key)
    elsewhere = bool(body.get("previous_response_id") or body.get("conversation"))
    open_calls: dict[tuple[str, str], int] = {}
    called: set[str] = set()
    ids: set[str] = set()
    thinking: int | None = None
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = item.get("type") if isinstance(item.get("type"), str) else None
        if thinking is not None and kind != "reasoning":
            if item.get("role", "assistant") != "assistant" or kind in GIVEN_TYPES:
                _alone(thinking, found)
            thinking = None
        id = item.get("id")
        if isinstance(id, str) and kind not in _OTHERS_IDS:
            if id in ids:
                found.append(Violation(f"/input/{index}/id", "item-id-repeated", "Two items bear the same id."))
            ids.add(id)
        if kind is None or kind == "message":
            elsewhere = elsewhere or "role" not in item
        elif kind == "reasoning":
            thinking = index
            if not stored and not item.get("encrypted_content"):
                found.append(Violation(f"/input/{index}", "reasoning-not-stored", "With `store: false` reasoning needs its encrypted content."))
        elif kind == "item_reference":
            elsewhere = True
        elif kind == "compaction_trigger" and index != len(items) - 1:
            found.append(Violation(f"/input/{index}", "trigger-not-last", "A compaction trigger is the last item."))
        elif isinstance(call_id := item.get("call_id"), str):
            _pair(kind, call_id, index, open_calls, called, elsewhere, found)
    if thinking is not None:
        _alone(thinking, found)
    found.extend(Violation(f"/input/{index}", "call-without-result", "A call needs an item with its result.") for index in open_calls.values())


def _pair(
    kind: str, call_id: str, index: int, open_calls: dict[tuple[str, str], int], called: set[str], elsewhere: bool, found: list[Violation]
) -> None:
    if kind in RESULT_OF:
        if call_id in called:
            found.append(Violation(f"/input/{index}/call_id", "call-id-repeated", "Two calls bear the same `call_id`."))
        else:
            open_calls[RESULT_OF[kind], call_id] = index
        called.add(call_id)
    elif kind in _RESULTS and open_calls.pop((kind, call_id), None) is None and not (elsewhere and call_id not in called):
        found.append(Violation(f"/input/{index}", "result-without-call", "A result answers a call that stands before it and has no other."))


def _alone(index: int, found: list[Violation]) -> None:
    found.append(Violation(f"/input/{index}", "reasoning-without-item", "Reasoning stands before an item that the model made next."))
