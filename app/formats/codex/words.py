"""Why lines of a rollout become no entry, and which words stand where: an event that mirrors an item is no loss, another one may be."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

from app.formats.reading import mapping, word

NO_MESSAGE = frozenset({"ghost_snapshot", "other"})
"""Types of `response_item` that were never said to a model or by one."""

BARE = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call"}
    | {"web_search_call"}
)
"""Types of items that files of the older layout hold, each as a line of its own."""

_LINES = {
    "session_meta": "the head of the session that this one was made from",
    "turn_context": "settings of a turn; its model stands with the answers",
    "world_state": "what the client knew of its surroundings",
    "state": "a mark of the client",
    "response_item": "the client's undo data for files",
}
_EVENTS = {
    "token_count": "figures of the client's use so far and of its rate limits",
    "task_started": "a mark of the client: a turn began",
    "task_complete": "a mark of the client: a turn ended",
    "turn_aborted": "a mark of the client; the answer that it cut short has the status",
    "thread_rolled_back": "a mark of the client; what it took back is out of context",
    "thread_name_updated": "the title of the session",
}
_MIRRORS = {"user_message": "message", "agent_message": "message", "agent_reasoning": "text", "agent_reasoning_raw_content": "text"}


def why_lost(kind: str, payload: Mapping[str, Any], spoken: Set[str]) -> str:
    """The reason for a line that is no entry. `spoken`: the words of all items."""
    if kind != "event_msg":
        return _LINES.get(kind, "a line of a kind that is not known")
    event = str(payload.get("type"))
    if event in _MIRRORS:
        said = payload.get(_MIRRORS[event])
        if isinstance(said, str) and said.strip() and said.strip() not in spoken:
            return "the client's view of the conversation, in words that no item of the file has"
        return "the client's view of what stands in the conversation"
    return _EVENTS.get(event, "an event of the client beside the conversation")


def spoken_in_events(events: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    """The prompts that the client mirrors; None where it mirrors none."""
    found = frozenset([said.strip() for event in events if event.get("type") == "user_message" and isinstance(said := event.get("message"), str)])
    return found or None


def spoken_by_items(items: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The texts of items, each by itself and those of one item joined; an item with a picture also speaks the empty text."""
    found: set[str] = set()
    for item in items:
        content = item.get("content")
        texts = [content.strip()] if isinstance(content, str) else []
        for key in ("content", "summary"):
            for piece in item[key] if isinstance(item.get(key), list) else ():
                if (text := word(mapping(piece), "text")) is not None:
                    texts.append(text.strip())
                elif mapping(piece).get("type") == "input_image":
                    found.add("")
        found.update(texts)
        found.update([joint.join(texts).strip() for joint in ("", "\n", "\n\n")])
    return frozenset(found)
