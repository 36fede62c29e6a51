"""Responses API requests and stored responses to sessions: an object with `input` or `output`, an array of items, or one of these a line.

A request does not say who gave its answers: their blocks are noted for the model that it asks, under the account `import`, to which
nothing is sent back (`app/entries/producers.py`). A stored response says who gave it, and how it ended.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.entries.messages import Answer, Message, Status
from app.entries.parts import Text, ToolCall
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import documents, moment
from app.formats.reading.responses_items import Items

_STATUSES = {
    "completed": Status.COMPLETED,
    "incomplete": Status.COMPLETED,
    "failed": Status.FAILED,
    "cancelled": Status.CANCELLED,
    "in_progress": Status.INTERRUPTED,
    "queued": Status.INTERRUPTED,
}
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "refused"}
_CONVERSATION = frozenset({"input", "instructions"})
_ANSWERED = _CONVERSATION | {"object", "output", "status", "incomplete_details", "model", "id", "created_at", "usage", "error"}
_TOLD = ("id", "status", "incomplete_details", "usage", "error")


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """A session for each request or response of the file. Raises `UnreadableImport` where there is none."""
    for prefix, document in documents(data):
        yield _session(document, prefix)


def _session(document: Any, prefix: str) -> ImportedSession:
    found: Mapping[str, Any] = {"input": document} if isinstance(document, list) else mapping(document)
    said, answered = found.get("input"), found.get("output")
    if not isinstance(said, str | list) and not isinstance(answered, list):
        raise UnreadableImport("A request is an object with `input`, or an array of items; a response has `output`.")
    entries = Entries("openai_responses", "items")
    items = Items(entries, word(found, "model"))
    for key in spare(found, _ANSWERED if isinstance(answered, list) else _CONVERSATION):
        entries.lose(f"{prefix}document", str(key), "not part of the conversation")
    _instructions(found.get("instructions"), f"{prefix}instructions", entries, items)
    for index, item in enumerate([{"role": "user", "content": said}] if isinstance(said, str) else said or ()):
        items.take(mapping(item), f"{prefix}item {index}")
    if isinstance(answered, list):
        _response(found, answered, prefix, entries, items)
    if not entries.session.entries:
        raise UnreadableImport("The file holds no item of the Responses API.")
    return entries.finish()


def _instructions(value: Any, place: str, entries: Entries, items: Items) -> None:
    """A text; a stored response may have them as items."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            items.take(mapping(item), f"{place} {index}")
    elif isinstance(value, str) and value:
        entries.add("system_message", Message((Text(value),)), place)
        entries.keep()
    elif value:
        entries.lose(place, "instructions", "neither text nor items")


def _response(found: Mapping[str, Any], answered: list[Any], prefix: str, entries: Entries, items: Items) -> None:
    """The output of one response: how it ended holds for its last answer."""
    items.close()
    items.says_model = items.says_end = True
    at = moment(found.get("created_at"))
    before = len(entries.session.entries)
    for index, item in enumerate(answered):
        items.take(mapping(item), f"{prefix}output {index}", at)
    last = next(
        (at for at in range(len(entries.session.entries) - 1, before - 1, -1) if entries.session.entries[at].kind == "assistant_message"), None
    )
    if last is None:
        last = entries.add("assistant_message", Answer((), Status.COMPLETED, items.model), f"{prefix}output", at)
        entries.keep()
    status = _STATUSES.get(str(found.get("status")), Status.COMPLETED)
    entries.settle(last, status, _stop_reason(found, entries, last))
    entries.tell(last, {"response": {key: found[key] for key in _TOLD if found.get(key) is not None}})
    entries.session.external_id = word(found, "id")


def _stop_reason(found: Mapping[str, Any], entries: Entries, last: int) -> str | None:
    """Wire-format notes 0.5."""
    if found.get("status") == "incomplete":
        return _INCOMPLETE.get(str(mapping(found.get("incomplete_details")).get("reason")), "other")
    if found.get("status") != "completed":
        return None
    return "tool_calls" if any(isinstance(part, ToolCall) for part in entries.parts(last)) else "finished"
