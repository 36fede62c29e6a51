"""Rounds of tool calls that the end of the list is in, of which not all thinking is sent, are closed (wire-format notes 4.2).

A Claude model that thinks of its own accord asks for all thinking of such a round, as it was: a renderer may have taken it out, and thinking
that is bound to what came before goes where that is not what it was. Words of the service between the results and what follows end the
round; of a closed one no thinking is asked for.
"""

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason, Rendered, Role
from app.context.passes.adjacency import CLOSING_TEXT, REPLY_TEXT
from app.entries.messages import Answer
from app.entries.parts import Reasoning, Text
from app.entries.producers import read_producer
from app.models.resolve import Target

NAME = "open_rounds"


def run(draft: Draft, count: Count) -> None:
    """Inserts the words where they are needed. Runs last: whatever it puts in stands behind every answer."""
    target = draft.sources.target
    if target.rules.thinking != "adaptive":
        return
    draft.sent()
    placed = draft.placed
    results = max((place for place, item in enumerate(placed) if _role(item) == "tool"), default=-1)
    if results < 0 or any(_role(item) == "assistant" for item in placed[results:]) or not _misses(placed, target):
        return
    _insert(draft, results + 1, "assistant", REPLY_TEXT, count)
    if results + 2 == len(draft.placed):
        _insert(draft, results + 2, "user", CLOSING_TEXT, count)


def _misses(placed: list[Item], target: Target) -> bool:
    """Whether an answer of the open rounds lacks thinking of its own."""
    end = len(placed)
    while end:
        inputs = end
        while inputs and _role(placed[inputs - 1]) != "assistant":
            inputs -= 1
        if not any(_role(item) == "tool" for item in placed[inputs:end]):
            return False
        end = inputs
        while end and _role(placed[end - 1]) == "assistant":
            end -= 1
            if _lacks(placed[end], target):
                return True
    return False


def _lacks(item: Item, target: Target) -> bool:
    body, message = None if item.source is None else item.source.body, item.message
    if message is None or not isinstance(body, Answer):
        return False
    return any(isinstance(part, Reasoning) and _own(part, target) and part not in message.parts for part in body.parts)


def _own(part: Reasoning, target: Target) -> bool:
    made_by = None if part.opaque is None else read_producer(part.producer or "")
    return made_by is not None and made_by._replace(prefix="") == target.producer


def _role(item: Item) -> Role | None:
    return None if item.message is None else item.message.role


def _insert(draft: Draft, at: int, role: Role, text: str, count: Count) -> None:
    draft.insert(at, NeutralMessage(role, (Text(text),), Rendered(NAME)), Reason.ROUND_CLOSED, NAME, count(text))
