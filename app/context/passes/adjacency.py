"""Who may stand beside whom: results in the order of their calls, user input first and last, an answer between results and input.

What is put in is request-only text of a few words; nothing touches the ledger. Each is asked for by one of the target's rules, and
none of them depends on what comes after its place, but for the closing words, which go as soon as there is an input in their place.
"""

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason, Rendered, Role
from app.entries.messages import Answer
from app.entries.parts import Media, Reasoning, Text, ToolCall

NAME = "adjacency"

OPENING_TEXT = "(The conversation begins here.)"
CLOSING_TEXT = "Continue."
REPLY_TEXT = "OK."

_INPUT: tuple[Role, ...] = ("user", "agent")


def run(draft: Draft, count: Count) -> None:
    """Orders results, then fills what the wire's order leaves open. Relies on `pairing`: results directly follow their answer."""
    rules = draft.sources.target.rules
    if rules.results_in_call_order:
        _order(draft)
    if rules.reply_after_results or not rules.files_beside_results:
        _reply(draft, count, rules.reply_after_results)
    if rules.user_last:
        _go_on(draft, count)
    messages = [item.message for item in draft.placed if item.message is not None]
    opened = messages[0].role in _INPUT if messages else not draft.system
    if not opened and (rules.user_first or (rules.input_needed and not messages)):
        _insert(draft, 0, "user", OPENING_TEXT, Reason.USER_FIRST, count)
    if rules.user_last and messages and messages[-1].role == "assistant" and not _paused(_last(draft)):
        _insert(draft, len(draft.placed), "user", CLOSING_TEXT, Reason.USER_LAST, count)


def _paused(item: Item) -> bool:
    """Whether a message is an answer that its provider paused: that one goes back as it is, to be gone on with (0.5)."""
    body = None if item.source is None else item.source.body
    return isinstance(body, Answer) and body.stop_reason == "paused"


def _last(draft: Draft) -> Item:
    return next(item for item in reversed(draft.placed) if item.message is not None)


def _order(draft: Draft) -> None:
    """Results in the order of their calls, where several answers' worth never mix: only places between two answers are exchanged."""
    placed = draft.placed
    wanted: dict[str, int] = {}
    group: list[int] = []
    for position, item in enumerate(placed):
        message = item.message
        if message is None:
            continue
        if message.role == "tool":
            group.append(position)
            continue
        if len(group) > 1:
            _sort(draft, group, wanted)
        group = []
        wanted = {part.tool_call_id: number for number, part in enumerate(message.parts) if isinstance(part, ToolCall)}
    if len(group) > 1:
        _sort(draft, group, wanted)


def _sort(draft: Draft, group: list[int], wanted: dict[str, int]) -> None:
    items: list[tuple[Item, NeutralMessage]] = [(item, item.message) for item in map(draft.placed.__getitem__, group) if item.message is not None]
    ordered = sorted(items, key=lambda row: wanted.get(row[1].tool_call_id or "", len(wanted)))
    for position, (before, _), (item, message) in zip(group, items, ordered, strict=True):
        if item is not before:
            draft.placed[position] = item
            draft.replace(item, (Reason.RESULT_ORDER,), NAME, message)


def _reply(draft: Draft, count: Count, always: bool) -> None:
    """An answer between results and the inputs behind them: always, or where there is a file among these."""
    before: str | None = None
    gap: int | None = None
    gaps: list[int] = []
    for position, item in enumerate(draft.placed):
        message = item.message
        if message is None:
            continue
        if message.role not in _INPUT:
            gap = None
        elif before == "tool":
            gap = position
        if gap is not None and (always or any(isinstance(part, Media) and part.kind == "file" for part in message.parts)):
            gaps.append(gap)
            gap = None
        before = message.role
    for number, position in enumerate(gaps):
        _insert(draft, position + number, "assistant", REPLY_TEXT, Reason.REPLY_AFTER_RESULTS, count)


def _go_on(draft: Draft, count: Count) -> None:
    """The closing words stay before an answer that was given to them with thinking of the target's own.

    Such an answer may not become the end of the message before it: its thinking leads its message, and may be bound to what stood
    before it, the words included (wire-format notes 4.2).
    """
    after_answer = False
    gaps: list[int] = []
    for position, item in enumerate(draft.placed):
        message = item.message
        if message is None:
            continue
        answers = message.role == "assistant"
        if after_answer and answers and any(isinstance(part, Reasoning) and part.opaque is not None for part in message.parts):
            gaps.append(position)
        after_answer = answers and not _paused(item)
    for number, position in enumerate(gaps):
        _insert(draft, position + number, "user", CLOSING_TEXT, Reason.USER_LAST, count)


def _insert(draft: Draft, at: int, role: Role, text: str, reason: Reason, count: Count) -> None:
    draft.insert(at, NeutralMessage(role, (Text(text),), Rendered(NAME)), reason, NAME, count(text))
