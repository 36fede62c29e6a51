"""The draft as it begins: a checkpoint's summary, every message of the window, and the ephemeral ones where they stand.

Who is out before any renderer runs is decided here (T-09, T-10): failed, cancelled and interrupted answers, redacted messages, system
rows of imports, and not-in-context messages of other turns than the running one, so that no filter spends its quota on them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from app.context.draft import Count, Draft, EphemeralOrigin, History, Item, NeutralMessage, Origin, Reason, Role
from app.context.origins import check_checkpoint
from app.context.sources import Ephemeral, InForce, Sources
from app.context.telling import summary_message
from app.entries.messages import Answer, Body, Entry, Status, ToolResult
from app.entries.parts import Part, Text

NAME = "window"

_ROLES: Mapping[str, Role] = MappingProxyType(
    # A system row has no role of its own: it is never sent, and stands as `user` only until it is dropped.
    {"user_message": "user", "agent_message": "agent", "assistant_message": "assistant", "tool_result": "tool", "system_message": "user"}
)

_history: Callable[[tuple[int, int]], History] = partial(tuple.__new__, History)
_message: Callable[[tuple[Role, tuple[Part, ...], Origin, str | None, str | None, bool]], NeutralMessage] = partial(tuple.__new__, NeutralMessage)
"""Make one from all of its fields at once, once for each message of each call: a third of the time of the named constructors."""


def open_draft(sources: Sources, count: Count) -> Draft:
    """All messages of the sources, unplaced, the ones that are out already dropped. Raises `ValueError` for an entry that is no message."""
    draft = Draft(sources)
    if sources.checkpoint is not None:
        _summary(draft, sources.checkpoint, count)
    waiting = _positions(sources)
    keep_text, add = sources.agent.partial_answers == "text", draft.items.append
    scaled = None if sources.target.estimate.factor == 1 else sources.target.estimate.scaled
    runs = 0
    for position, source in enumerate(sources.messages):
        if waiting:
            _ephemeral(draft, waiting, position)
        entry, body = source
        runs |= entry.invocation
        index = entry.message_index
        if index is None:
            raise ValueError("the window holds messages alone")
        origin = _history((entry.seq, index))
        parts = body.parts
        if isinstance(body, ToolResult):
            message = _message(("tool", parts, origin, body.tool_call_id, body.name, body.is_error))
        else:
            message = _message((_ROLES[entry.kind], parts, origin, None, None, False))
        tokens = entry.tokens if scaled is None else scaled(entry.tokens)
        item = Item(origin, message, tokens, tokens, source)
        add(item)
        reason = _out(entry, body, sources.running_turn)
        if reason is not None and not (keep_text and _text_kept(draft, item, reason, count)):
            draft.drop(item, reason, NAME)
    _ephemeral(draft, waiting, len(sources.messages))
    draft.several_runs = runs > 0
    return draft


def _summary(draft: Draft, checkpoint: InForce, count: Count) -> None:
    """What stands for everything before the window stands first. Raises `InvalidOrigins` for a checkpoint that the sources contradict."""
    sources = draft.sources
    check_checkpoint(checkpoint.body, sources.history_message_count, sources.messages)
    message = summary_message(checkpoint.body)
    tokens = sum(count(part.text) for part in message.parts if isinstance(part, Text))
    draft.items.append(Item(message.origin, message, tokens, tokens))


def _out(entry: Entry, body: Body, running_turn: int | None) -> Reason | None:
    """Why a message is out before any renderer runs; the strongest reason where several hold."""
    if entry.payload is None:
        return Reason.REDACTED
    if entry.kind == "system_message":
        return Reason.SYSTEM_MESSAGE
    if not entry.include_in_context and (running_turn is None or entry.turn != running_turn):
        return Reason.NOT_IN_CONTEXT
    if isinstance(body, Answer) and body.status is not Status.COMPLETED:
        return Reason.FAILED_RESPONSE
    return None if body.parts or isinstance(body, ToolResult) else Reason.EMPTY_MESSAGE


def _text_kept(draft: Draft, item: Item, reason: Reason, count: Count) -> bool:
    """Keeps the text of a stopped answer (`partial_answers: "text"`). A failed one says nothing (S2-23), and calls are never kept:
    nothing of an unfinished answer was acted on (X-74)."""
    source, message = item.source, item.message
    if reason is not Reason.FAILED_RESPONSE or source is None or message is None:
        return False
    places = tuple(place for place, part in enumerate(message.parts) if isinstance(part, Text) and part.text)
    parts = tuple(part for part in message.parts if isinstance(part, Text) and part.text)
    if not parts or not isinstance(source.body, Answer) or source.body.status is Status.FAILED:
        return False
    text = NeutralMessage("assistant", parts, item.origin)
    draft.replace(item, (Reason.PARTIAL_ANSWER,), NAME, text, sum(count(part.text) for part in parts), places)
    return True


def _positions(sources: Sources) -> list[tuple[int, int, Ephemeral]]:
    """The ephemeral messages, last first, with their number and the position in the window before which each stands."""
    if not sources.ephemeral:
        return []
    own = [position for position, source in enumerate(sources.messages) if source.entry.turn == sources.running_turn is not None]
    first = own[0] if own else len(sources.messages)
    found = []
    for number, ephemeral in enumerate(sources.ephemeral):
        after = ephemeral.after_seq
        position = first if after is None else sum(source.entry.seq <= after for source in sources.messages)
        found.append((position, number, ephemeral))
    return sorted(found, key=lambda row: row[:2], reverse=True)


def _ephemeral(draft: Draft, waiting: list[tuple[int, int, Ephemeral]], position: int) -> None:
    while waiting and waiting[-1][0] <= position:
        _, number, ephemeral = waiting.pop()
        after = ephemeral.after_seq
        if after is None:
            after = draft.sources.messages[position - 1].entry.seq if position else 0
        origin = EphemeralOrigin(after, number)
        tokens = draft.sources.target.estimate.scaled(ephemeral.tokens)
        draft.items.append(Item(origin, NeutralMessage(_ROLES[ephemeral.kind], ephemeral.parts, origin), tokens, tokens))
