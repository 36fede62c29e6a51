"""Renderers of other packages, at arm's length: what one cannot do, or leaves unsound, is a failure of the input, and the draft is as it was."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from app.context.directives import Directives
from app.context.draft import Count, Draft, Item, Loss, NeutralMessage, Rendered, SystemSection
from app.context.renderers.kinds import RendererKind
from app.context.sources import RendererSpec
from app.context.templates.render import RenderFailedError
from app.entries.parts import Part, Reasoning, Text, ToolCall

_ROLES = frozenset({"user", "agent", "assistant", "tool"})


def guarded(kind: RendererKind, draft: Draft, spec: RendererSpec, count: Count) -> None:
    """Runs the renderer. Raises `RenderFailedError` in place of anything else, and then nothing of what it did is left."""
    before = _Before.of(draft)
    try:
        kind.render(draft, spec, count)
        unsound = not before.sound(draft)
    except RenderFailedError:
        before.restore(draft)
        raise
    except Exception as error:
        before.restore(draft)
        detail = f"The package that brings this renderer failed ({type(error).__name__})."
        raise RenderFailedError("renderer-failed", detail) from None
    if unsound:
        before.restore(draft)
        raise RenderFailedError("renderer-failed", "The package that brings this renderer left something that no request is made of.")


@dataclass(frozen=True, slots=True)
class _Before:
    """A draft as it was, with its rows field by field."""

    rows: tuple[tuple[Item, Item], ...]
    items: list[Item]
    placed: list[Item]
    inserted: list[Item]
    system: list[tuple[SystemSection, int]]
    tail: list[tuple[SystemSection, int]]
    losses: list[Loss]
    directives: Directives

    @classmethod
    def of(cls, draft: Draft) -> "_Before":
        rows = tuple([(item, replace(item)) for item in (*draft.items, *draft.inserted)])
        lists = list(draft.items), list(draft.placed), list(draft.inserted)
        return cls(rows, *lists, list(draft.system), list(draft.tail), list(draft.losses), _copied(draft.directives))

    def restore(self, draft: Draft) -> None:
        for item, was in self.rows:
            item.message, item.tokens, item.steps, item.places = was.message, was.tokens, was.steps, was.places
        draft.items, draft.placed, draft.inserted = self.items, self.placed, self.inserted
        draft.system, draft.tail, draft.losses, draft.directives = self.system, self.tail, self.losses, self.directives

    def sound(self, draft: Draft) -> bool:
        """Whether the passes that follow can work on the draft: the same rows, each placed once, all of what messages are made of."""
        known = set(map(id, (*draft.items, *draft.inserted)))
        placed = list(map(id, draft.placed))
        new = draft.inserted[len(self.inserted) :]
        return (
            list(map(id, draft.items)) == list(map(id, self.items))
            and list(map(id, draft.inserted[: len(self.inserted)])) == list(map(id, self.inserted))
            and len(set(placed)) == len(placed)
            and known.issuperset(placed)
            and all(isinstance(item.origin, Rendered) and item.message is not None for item in new)
            and all(_whole(item) for item in (*draft.items, *draft.inserted))
            and _worded(draft.system)
            and _worded(draft.tail)
            and _directed(draft.directives)
        )


def _copied(directives: Directives) -> Directives:
    taps, unmet, blank, failures = list(directives.taps), list(directives.unmet), list(directives.blank), list(directives.failures)
    return replace(directives, masked=set(directives.masked), taps=taps, unmet=unmet, blank=blank, failures=failures)


def _whole(item: Item) -> bool:
    message: Any = item.message  # whatever the package put there
    if type(item.tokens) is not int or item.tokens < 0:
        return False
    if message is None:
        return bool(item.steps)
    if not isinstance(message, NeutralMessage) or message.role not in _ROLES or message.origin != item.origin or type(message.parts) is not tuple:
        return False
    if item.places is not None and len(item.places) != len(message.parts):
        return False
    parts: tuple[Any, ...] = message.parts
    return all(isinstance(part, Part) and _spelled(part) for part in parts)


def _spelled(part: Any) -> bool:
    match part:
        case Text() | Reasoning():
            return type(part.text) is str
        case ToolCall():
            return all(isinstance(text, str) for text in (part.tool_call_id, part.name, part.arguments))
        case _:
            return True


def _worded(sections: Iterable[tuple[Any, Any]]) -> bool:
    return all(isinstance(one, SystemSection) and type(one.text) is str and type(tokens) is int for one, tokens in sections)


def _directed(directives: Directives) -> bool:
    names = (*directives.masked, *(directives.allowed or ()), *(() if directives.choice is None else (directives.choice,)))
    return all(isinstance(name, str) for name in names)
