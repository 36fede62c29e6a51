"""`select_recent`: keeps the newest `n` of what is placed before it (S4-27). System sections and the ledger's other entries count nothing.

`unit` says of what (T-02):

    parts     each part of an answer counts one, and each user, tool and agent message
    entries   each message counts one
    turns     a user message and everything before the next is one; a message that an agent posts or a renderer makes, or a
             summary, begins none

A result that is kept keeps its own call, even beyond `n`: of its answer that part alone. The other calls of that answer go, with their
results, which are older (S4-29, T-09). A small `n` can drop the question itself; the manifest says so (S4-32).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.draft import CompactionOrigin, Count, Draft, Item, Reason, Rendered
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.renderers.shortening import shortened
from app.context.sources import RendererSpec
from app.entries.parts import ToolCall

PARTS_SELECTED_MAX = 1_000_000
UNITS = ("parts", "entries", "turns")


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Drops what is older, and shortens the answer that the edge falls into and those whose calls are kept for their results."""
    items = [item for item in draft.placed if item.message is not None]
    n, unit = int(spec.options["n"]), spec.options["unit"]
    if unit == "turns":
        first, within = _turn_edge(items, n), 0
    else:
        first, within = _edge(items, n, unit == "parts")
    calls = _calls_of_kept_results(items, first)
    for position, item in enumerate(items[: first + (within > 0)]):
        message = item.message
        if message is None:
            continue
        wanted = calls.get(position, set())
        kept = [place for place in range(len(message.parts)) if place in wanted or (position == first and place >= within)]
        reason = Reason.CALL_KEPT_FOR_RESULT if wanted else Reason.NOT_RECENT
        shortened(draft, item, kept if message.role == "assistant" else [], reason, spec.renderer, count)


def _edge(items: list[Item], n: int, by_part: bool) -> tuple[int, int]:
    """The first message that stays, and how many of its first parts do not."""
    left = n
    for position in reversed(range(len(items))):
        message = items[position].message
        size = len(message.parts) if by_part and message is not None and message.role == "assistant" else 1
        if size >= left:
            return position, size - left
        left -= size
    return 0, 0


def _turn_edge(items: list[Item], n: int) -> int:
    """Where the n newest turns begin."""
    begun = [
        position
        for position, item in enumerate(items)
        if item.message is not None and item.message.role == "user" and not isinstance(item.origin, Rendered | CompactionOrigin)
    ]
    return begun[-n] if len(begun) >= n else 0


def _calls_of_kept_results(items: list[Item], first: int) -> dict[int, set[int]]:
    """Position of an answer → the places in it of the calls whose results stay. A result is of the newest answer before it."""
    found: dict[int, set[int]] = {}
    answer, taken = -1, set[int]()
    for position, item in enumerate(items):
        message = item.message
        if message is None:
            continue
        if message.role == "assistant":
            answer, taken = position, set()
        elif message.role == "tool" and answer >= 0 and (made := items[answer].message) is not None:
            calls = (place for place, part in enumerate(made.parts) if isinstance(part, ToolCall) and part.tool_call_id == message.tool_call_id)
            place = next((place for place in calls if place not in taken), None)
            if place is not None:
                taken.add(place)
                if position >= first:
                    found.setdefault(answer, set()).add(place)
    return found


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    if "n" in spec:
        check.integer(spec["n"], f"{pointer}/n", 1, PARTS_SELECTED_MAX)
    else:
        check.fault(f"{pointer}/n", "missing", "This key is required.")
    check.word(spec.get("unit", "parts"), f"{pointer}/unit", UNITS)


KIND = RendererKind(render, ("n", "unit"), check, MappingProxyType({"unit": "parts"}))
