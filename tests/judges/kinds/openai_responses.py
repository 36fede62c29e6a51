"""Differences on Responses."""

from typing import Any

from tests.judges.kinds.kind import Kind, everywhere, less, listed, top, without, without_saying


def _function(tool: Any) -> Any | None:
    return tool if tool["type"] == "function" else None


def _no_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


RESPONSES = (
    Kind("no tools", "An agent without tools sends no list of them.", without_saying("tools", [])),
    Kind(
        "nothing is stored",
        "We keep the conversation and send all of it: `store` is false, and nothing is continued by id.",
        top("store", "previous_response_id"),
    ),
    Kind("cache key", "Calls of a session are routed by one key.", top("prompt_cache_key")),
    Kind(
        "strict tools",
        "An agent document has no word for strictness; false is sent, since the wire has no default that may be left out.",
        listed("tools", lambda tool: less(tool, "strict")),
    ),
    Kind(
        "status of items",
        "Items go back as they came, with their `status`; the client left it out.",
        listed("input", lambda item: less(item, "status")),
    ),
    Kind(
        "provider's own tools",
        "Tools that the provider runs are none of an agent document; their items go back all the same.",
        listed("tools", _function),
    ),
    Kind(
        "deferred tools",
        "An agent document has no word for tools that are found by search.",
        listed("tools", lambda tool: less(tool, "defer_loading")),
    ),
    Kind(
        "search of tools",
        "Items of a search for tools go back as they came, where the client rebuilds them in its own words; an import keeps them for nobody.",
        listed("input", lambda item: None if str(item.get("type")).startswith(("tool_search_", "additional_tools")) else item),
    ),
    Kind(
        "namespace of a call",
        "The client adds to a call which of the tools that it found it is of; an answer goes back with what came with it.",
        listed("input", lambda item: less(item, "namespace")),
    ),
    Kind("empty reasoning", "A reasoning item goes back with the empty list that came with it.", without_saying("content", [])),
    Kind("nulls", "Items go back with the nulls that they came with.", everywhere(_no_nulls)),
    Kind(
        "sources of a search",
        "A search goes back with the sources that came with it; the client left them out.",
        without("sources", where=lambda value: value.get("type") == "search"),
    ),
    Kind(
        "tools of a server",
        "The list of a server's tools goes back as it came; the client emptied it, and left out what the call said.",
        listed("input", lambda item: less(item, "tools", "output") if item.get("type", "").startswith("mcp_") else item),
    ),
    Kind(
        "quotation marks",
        "The recorder spelled typographic marks as plain ones.",
        everywhere(lambda value: {key: _plain(item) for key, item in value.items()}),
    ),
)


def _plain(value: Any) -> Any:
    return value.translate(str.maketrans("“”’", '""\'')) if isinstance(value, str) else value
