"""What the Responses endpoint refuses of the order of items: calls and outputs, twice the same, reasoning left alone (wire-format notes 3.2)."""

from collections.abc import Iterator
from typing import Any

from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_responses_items import kind_of

# What answers what. A hosted tool has its output in the call's own item, and is not here.
CALL_OF = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "tool_search_output": "tool_search_call",
}
_GIVEN = {*CALL_OF, "additional_tools", "compaction_trigger", "configuration_update", "mcp_approval_response"}


def made_by_model(item: Any) -> bool:
    """Whether the item is one that a model writes, so that it may be what a reasoning item led to."""
    return item.get("role") == "assistant" if kind_of(item) == "message" else kind_of(item) not in _GIVEN


def order_breaches(items: list[Any], elsewhere: bool = False) -> Iterator[Breach]:
    """Walks the items once. `elsewhere`: the conversation began in items that the endpoint keeps, so a call may stand there."""
    known = [item for item in items if kind_of(item)]
    yield from _twice(known)
    yield from _pairs(known, elsewhere)
    for index, item in enumerate(known):
        following = known[index + 1] if index + 1 < len(known) else None
        if kind_of(item) == "reasoning" and (following is None or not made_by_model(following)):
            yield alone(item)


def alone(item: dict[str, Any]) -> Breach:
    """A reasoning item without what it led to."""
    return Breach(f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.", "input")


def _twice(items: list[Any]) -> Iterator[Breach]:
    seen = set()
    for item in items:
        id = item.get("id")
        if isinstance(id, str) and id in seen:
            yield Breach(f"Duplicate item found with id {id}. Remove duplicate items from your input and try again.", "input")
        seen.add(id if isinstance(id, str) else None)


def _pairs(items: list[Any], elsewhere: bool) -> Iterator[Breach]:
    open_calls: dict[str, str] = {}
    seen: set[str] = set()
    requests = {item.get("id") for item in items if kind_of(item) == "mcp_approval_request"}
    for item in items:
        kind = kind_of(item)
        call_id = item.get("id") if kind == "local_shell_call_output" else item.get("call_id")
        if kind == "mcp_approval_response" and item.get("approval_request_id") not in requests and not elsewhere:
            yield Breach("No approval request found for the approval response.", "input")
        if not isinstance(call_id, str) or (kind.startswith("tool_search") and item.get("execution") != "client"):
            continue  # a search that the endpoint ran is replayed with its output or without
        if kind in CALL_OF.values():
            if call_id in seen:
                yield Breach(f"Duplicate 'call_id': {call_id}.", "input")
            seen.add(call_id)
            open_calls[call_id] = kind
        elif kind in CALL_OF and open_calls.pop(call_id, None) != CALL_OF[kind] and not (elsewhere and call_id not in seen):
            yield Breach(f"No tool call found for {kind.replace('_', ' ')} with call_id {call_id}.", "input")
    for call_id, kind in open_calls.items():
        yield Breach(f"No tool output found for {kind.replace('_', ' ')} {call_id}.", "input")
