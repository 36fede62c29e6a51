"""Calls and results in pairs, as every wire format asks: each call answered once, by a result that directly follows its answer.

A result belongs to the newest answer before it, and there to the first call of its id that is still open: pairing is by
place, so a server that gives every call the same id loses nothing. Results are never moved. What does not fit (S0-28, X-21, T-09):

- its call is nowhere before it: dropped, `orphan_tool_result`;
- its call has a result already: dropped, `duplicate_tool_result`; the first one is what the model saw;
- a user or assistant message stands between: dropped, `late_tool_result`, and a repair stands at the call. Moving it up would
  change messages that a model was already sent, and moving the message between would reorder what was said;
- a call without a result: a request-only repair after the other results of its answer. Nothing touches the ledger.
"""

from app.context.draft import Count, Draft, History, Item, NeutralMessage, Reason, ToolRepair
from app.entries.parts import Text, ToolCall

NAME = "pairing"

REPAIR_TEXT = "No result was recorded for this call. It may or may not have run."


def run(draft: Draft, count: Count) -> None:
    """Drops what pairs with nothing and inserts the repairs; O(messages)."""
    open_calls: list[ToolCall] = []
    answered: set[str] = set()
    repaired: set[str] = set()
    answer: Item | None = None
    gaps: list[tuple[int, Item, list[ToolCall]]] = []
    placed = draft.placed
    for position, item in enumerate(placed):
        message = item.message
        if message is None:
            continue
        role = message.role
        if role == "tool":
            call_id = message.tool_call_id or ""
            call = next((call for call in open_calls if call.tool_call_id == call_id), None)
            if call is not None:
                open_calls.remove(call)
                answered.add(call_id)
            else:
                draft.drop(item, _misfit(call_id, answered, repaired), NAME)
            continue
        if open_calls and answer is not None:
            gaps.append((position, answer, open_calls))
            repaired.update(call.tool_call_id for call in open_calls)
        open_calls = [part for part in message.parts if isinstance(part, ToolCall)] if role == "assistant" else []
        answer = item
    if open_calls and answer is not None:
        gaps.append((len(placed), answer, open_calls))
    _repair(draft, gaps, count)


def _misfit(call_id: str, answered: set[str], repaired: set[str]) -> Reason:
    if call_id in repaired:
        repaired.discard(call_id)
        answered.add(call_id)
        return Reason.LATE_TOOL_RESULT
    return Reason.DUPLICATE_TOOL_RESULT if call_id in answered else Reason.ORPHAN_TOOL_RESULT


def _repair(draft: Draft, gaps: list[tuple[int, Item, list[ToolCall]]], count: Count) -> None:
    if not gaps:
        return
    tokens, before = count(REPAIR_TEXT), len(draft.inserted)
    for position, answer, calls in reversed(gaps):
        index = answer.origin.message_index if isinstance(answer.origin, History) else 0
        for call in reversed(calls):
            origin = ToolRepair(index, call.tool_call_id)
            repair = NeutralMessage("tool", (Text(REPAIR_TEXT),), origin, call.tool_call_id, call.name, True)
            draft.insert(position, repair, Reason.MISSING_TOOL_RESULT, NAME, tokens)
    draft.inserted[before:] = reversed(draft.inserted[before:])
