"""Tool results in fewer words, as recorded prunings say (S0-32, X-58). Nothing is decided here, and without prunings nothing is done.

`shortened` keeps the beginning and the end, `cleared` words alone; both name the tool, its arguments and the size. The words are made of
the entry and its call, so they are the same in every request. Pictures and files of the result go. Id, name and mark of an error stay, and with
them the pair of call and result.
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason
from app.entries.messages import ToolResult
from app.entries.parts import Media, Text, ToolCall
from app.entries.prunings import Form, PrunedResult, Staleness

NAME = "pruning"

KEPT_CHARS = 1_000
"""What is kept of a shortened text at its beginning, and as much at its end."""

ARGUMENTS_CHARS_MAX = 200
"""What is told of a call's arguments."""

REASONS: Mapping[Staleness, Reason] = MappingProxyType(
    {
        "superseded": Reason.PRUNED_STALE_TOOL_RESULT,
        "disposable": Reason.PRUNED_STALE_TOOL_RESULT,
        "old": Reason.PRUNED_OLD_TOOL_RESULT,
    }
)


def run(draft: Draft, count: Count) -> None:
    """Applies `Sources.pruned`. Relies on `pairing`: a result follows the answer that made its call. A result that a renderer already made
    lighter than the words stays as that renderer left it."""
    pruned = draft.sources.pruned
    if not pruned:
        return
    calls: dict[str, ToolCall] = {}
    for item in draft.placed:
        message = item.message
        if message is None:
            continue
        if message.role == "assistant":
            calls = {part.tool_call_id: part for part in message.parts if isinstance(part, ToolCall)}
        elif message.role == "tool" and item.source is not None:
            word = pruned.get(item.source.entry.seq)
            if word is not None:
                _prune(draft, item, message, calls.get(message.tool_call_id or ""), word, count)


def _prune(draft: Draft, item: Item, message: NeutralMessage, call: ToolCall | None, word: PrunedResult, count: Count) -> None:
    source = item.source
    if source is None or not isinstance(source.body, ToolResult):
        return
    text = told(source.body, source.entry.tokens, call, word.form)
    tokens = count(text)
    if tokens < item.tokens or any(isinstance(part, Media) for part in message.parts):
        draft.replace(item, (REASONS[word.why],), NAME, message._replace(parts=(Text(text),)), tokens, (None,))


def told(result: ToolResult, tokens: int, call: ToolCall | None, form: Form) -> str:
    """What stands for a result, long texts loaded; `tokens` is what its entry weighs."""
    what = result.name or ("the tool" if call is None else call.name)
    if call is not None:
        what = f"{what} {_bounded(call.arguments)}"
    media = sum(isinstance(part, Media) for part in result.parts)
    size = f"{tokens} tokens" + (f", images or files: {media}" if media else "")
    if form == "cleared":
        return f"[The result of {what} was left out: {size}.]"
    text = "\n".join([part.text for part in result.parts if isinstance(part, Text)])
    words = f"[A part of the result of {what} was left out here: it has {size}.]"
    if len(text) <= 2 * KEPT_CHARS + len(words):
        return f"{text}\n{words}" if text else words
    return f"{text[:KEPT_CHARS]}\n{words}\n{text[-KEPT_CHARS:]}"


def _bounded(arguments: str) -> str:
    return arguments if len(arguments) <= ARGUMENTS_CHARS_MAX else arguments[:ARGUMENTS_CHARS_MAX] + "…"
