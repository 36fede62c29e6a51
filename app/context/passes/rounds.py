"""A round of tool calls that cannot go back as it was is closed by words of ours (wire-format notes 4.2, rule 1).

Some providers want the calls that the end of the list answers back with all that was thought before them. Where a renderer leaves that
out, or it is bound to a prefix that is not what it was, no body with the open round would be taken: behind a reply of ours it is history.
"""

from collections.abc import Iterator, Sequence

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason, Rendered, Role
from app.context.passes.adjacency import CLOSING_TEXT, REPLY_TEXT
from app.context.passes.binding import lacks_thoughts
from app.entries.parts import Text

NAME = "rounds"

_BOUND_TO_THINK = ("adaptive",)
"""The ways of asking for thinking in which such a round is refused. One with a budget goes without it instead (`not_in_this_round`)."""


def run(draft: Draft, count: Count) -> None:
    """Closes the round that the list ends in, where an answer of it lacks thinking of the target's own. Runs behind `binding`; O(parts)."""
    target = draft.sources.target
    if target.rules.thinking not in _BOUND_TO_THINK or not any(lacks_thoughts(item, target) for item in _open_rounds(draft.placed)):
        return
    results = max(at for at, item in enumerate(draft.placed) if item.message is not None and item.message.role == "tool")
    _insert(draft, results + 1, "assistant", REPLY_TEXT, count)
    if results + 2 == len(draft.placed):
        _insert(draft, results + 2, "user", CLOSING_TEXT, count)


def _open_rounds(placed: Sequence[Item]) -> Iterator[Item]:
    """The answers whose calls are answered at the end: those before a run of input that holds a result, and so on before them."""
    answered, answers = False, False
    for item in reversed(placed):
        message = item.message
        if message is None:
            continue
        if message.role == "assistant":
            if not answered:
                return
            answers = True
            yield item
        else:
            if answers:
                answered = answers = False
            answered = answered or message.role == "tool"


def _insert(draft: Draft, at: int, role: Role, text: str, count: Count) -> None:
    draft.insert(at, NeutralMessage(role, (Text(text),), Rendered(NAME)), Reason.ROUND_CLOSED, NAME, count(text))
