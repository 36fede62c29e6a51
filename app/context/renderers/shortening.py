"""An answer of which some parts stay: what filters do to one, in one way."""

from collections.abc import Sequence

from app.context.draft import Count, Draft, Item, Reason
from app.entries.parts import Part, Reasoning, Text, ToolCall


def shortened(draft: Draft, item: Item, kept: Sequence[int], reason: Reason, by: str, count: Count, empty: Reason | None = None) -> None:
    """Keeps the parts at these places of a message, or drops it where none is left (`empty` is the reason then, by default the same)."""
    message = item.message
    if message is None:
        raise ValueError("a message that was dropped has no parts")
    if not kept:
        draft.drop(item, empty or reason, by)
        return
    wanted = frozenset(kept)
    gone = sum(part_tokens(part, count) for place, part in enumerate(message.parts) if place not in wanted)
    parts = tuple([message.parts[place] for place in kept])
    draft.replace(item, (reason,), by, message._replace(parts=parts), max(0, item.tokens - gone), tuple(kept))


def part_tokens(part: Part, count: Count) -> int:
    """What a part weighs in its entry's tokens: media and providers' own blocks have no text."""
    match part:
        case Text() | Reasoning():
            return count(part.text)
        case ToolCall():
            return count(part.name) + count(part.arguments)
        case _:
            return 0
