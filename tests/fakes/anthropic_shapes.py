"""The shapes of a Messages body: every key that Anthropic knows, and of what kind its value is (wire-format notes 4.1).

What server tools and betas bring is taken as it comes, where it may stand at all. `test_anthropic_shapes` holds the tables against the
official SDK.
"""

from collections.abc import Iterator
from typing import Any

from tests.fakes.claude_thinking import THINKING
from tests.fakes.shapes import (
    Breach,
    Check,
    an_object,
    anything,
    either,
    flag,
    listing,
    maybe,
    number,
    one_of,
    record,
    tagged,
    text,
)

ID = text(1, None, "[a-zA-Z0-9_-]+")
CACHE = maybe(record({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")}))
_CACHED = {"cache_control": CACHE}
_T = {"type": anything}

TEXT = record({**_T, "text": text()}, {**_CACHED, "citations": maybe(listing(an_object))})
_IMAGE = record(
    {
        **_T,
        "source": tagged(
            {
                "base64": record({**_T, "media_type": one_of("image/jpeg", "image/png", "image/gif", "image/webp"), "data": text()}, {}),
                "url": record({**_T, "url": text(1)}, {}),
                "file": record({**_T, "file_id": text(1)}, {}),
            }
        ),
    },
    {**_CACHED, "transformations": anything},
)
_DOCUMENT = record(
    {
        **_T,
        "source": tagged(
            {
                "base64": record({**_T, "media_type": one_of("application/pdf"), "data": text()}, {}),
                "text": record({**_T, "media_type": one_of("text/plain"), "data": text()}, {}),
                "url": record({**_T, "url": text(1)}, {}),
                "file": record({**_T, "file_id": text(1)}, {}),
                "content": record({**_T, "content": either(text(), listing(tagged({"text": TEXT, "image": _IMAGE})))}, {}),
            }
        ),
    },
    {**_CACHED, "title": maybe(text(1, 500)), "context": maybe(text(1)), "citations": maybe(record({}, {"enabled": flag}))},
)
_SEARCH = record({**_T, "source": text(), "title": text(), "content": listing(TEXT)}, {**_CACHED, "citations": maybe(record({}, {"enabled": flag}))})
_RESULT = tagged(
    {
        "text": TEXT,
        "image": _IMAGE,
        "document": _DOCUMENT,
        "search_result": _SEARCH,
        "tool_reference": record({**_T, "tool_name": text(1, 256)}, _CACHED),
    }
)
_CALLED = {**_T, "id": ID, "name": text(1, 200, "[a-zA-Z0-9_-]{1,200}"), "input": an_object}
BLOCKS: dict[str, Check] = {
    "text": TEXT,
    "image": _IMAGE,
    "document": _DOCUMENT,
    "search_result": _SEARCH,
    "thinking": record({**_T, "thinking": text(), "signature": text()}, {}),
    "redacted_thinking": record({**_T, "data": text()}, {}),
    "tool_use": record(_CALLED, {**_CACHED, "caller": anything, "toolset_name": maybe(text())}),
    "tool_result": record(
        {**_T, "tool_use_id": ID},
        {**_CACHED, "content": either(text(), listing(_RESULT)), "is_error": maybe(flag), "toolset_name": maybe(text())},
    ),
    "server_tool_use": record(_CALLED, {**_CACHED, "caller": anything}),
    "mcp_tool_use": record({**_CALLED, "server_name": text()}, _CACHED),
    "container_upload": record({**_T, "file_id": text()}, _CACHED),
    "tool_addition": record({**_T, "tool": an_object}, _CACHED),
    "tool_removal": record({**_T, "tool": an_object}, _CACHED),
    "browser_state": an_object,
    "compaction": an_object,
    "fallback": an_object,
    "mcp_tool_listing": an_object,
}
ROLES = {
    "user": {"text", "image", "document", "search_result", "tool_result", "container_upload", "browser_state"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback"}
    | {"container_upload", "mcp_tool_listing"},
    "system": {"text", "tool_addition", "tool_removal"},
}
_TOOL = {
    **_CACHED,
    "type": maybe(one_of("custom")),
    "description": text(),
    "strict": flag,
    "defer_loading": flag,
    "eager_input_streaming": maybe(flag),
    "input_examples": listing(an_object),
    "allowed_callers": listing(text()),
}
TOOL = record({"name": text(1, 64, "[a-zA-Z0-9_-]{1,64}"), "input_schema": an_object}, _TOOL)
_PARALLEL = {"disable_parallel_tool_use": flag}
CHOICE = tagged(
    {
        "auto": record(_T, _PARALLEL),
        "any": record(_T, _PARALLEL),
        "tool": record({**_T, "name": text()}, _PARALLEL),
        "none": record(_T, {}),
    }
)
_OUTPUT = record(
    {},
    {
        "effort": maybe(one_of("low", "medium", "high", "xhigh", "max")),
        "format": maybe(record({"type": one_of("json_schema"), "schema": an_object}, {})),
    },
)


def message(value: Any, at: str) -> Iterator[Breach]:
    """One message, the blocks of which may stand with its role."""
    yield from record({"role": one_of(*ROLES), "content": either(text(), listing(anything))}, {})(value, at)
    if not isinstance(value, dict) or not isinstance(value.get("content"), list) or value.get("role") not in ROLES:
        return
    for index, block in enumerate(value["content"]):
        yield from _block(block, value["role"], f"{at}.content.{index}")


def _block(block: Any, role: str, at: str) -> Iterator[Breach]:
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind.endswith("_tool_result"):
        yield from an_object(block.get("content") if not isinstance(block.get("content"), list) else {}, f"{at}.{kind}.content")
        yield from ID(block.get("tool_use_id"), f"{at}.{kind}.tool_use_id")
        homes = ["assistant"]
    else:
        yield from tagged(BLOCKS)(block, at)
        homes = [home for home, kinds in ROLES.items() if kind in kinds] + ["assistant"] * (kind == "document")
    if homes and role not in homes:
        yield Breach(at, f"`{kind}` blocks can only be in `{homes[0]}` messages")


def _tool(value: Any, at: str) -> Iterator[Breach]:
    """A tool of the client's; tools of the server have a type with a date and keys of their own."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind != "custom":
        if not any(each.isdigit() for each in kind) and kind != "mcp_toolset":
            yield Breach(at, f"Input tag '{kind}' found using 'type' does not match any of the expected tags")
        return
    yield from TOOL(value, f"{at}.custom")


COUNTED: dict[str, Check] = {
    "cache_control": CACHE,
    "output_config": _OUTPUT,
    "speed": maybe(one_of("standard", "fast")),
    "system": either(text(), listing(tagged({"text": TEXT}))),
    "thinking": THINKING,
    "tool_choice": CHOICE,
    "tools": listing(_tool),
    "user_profile_id": maybe(text()),
    "workspace_id": maybe(text()),
}
NEEDED: dict[str, Check] = {"model": text(1, 256), "messages": listing(message, 1, 100_000)}
CREATED: dict[str, Check] = {
    **COUNTED,
    "container": maybe(either(text(), an_object)),
    "diagnostics": maybe(record({}, {"previous_message_id": maybe(text())})),
    "inference_geo": maybe(text()),
    "metadata": record({}, {"user_id": maybe(text(0, 512))}),
    "service_tier": one_of("auto", "standard_only"),
    "stop_sequences": listing(text(1)),
    "stream": flag,
}
SAMPLING: dict[str, Check] = {"temperature": number(0, 1, whole=False), "top_p": number(0, 1, whole=False), "top_k": number(0)}
BETA: dict[str, Check] = {
    "mcp_servers": listing(an_object, 0, 20),
    "context_management": maybe(an_object),
    "compaction": anything,
    "fallbacks": anything,
    "fallback_credit_token": anything,
    "billing_policy": anything,
    "thread": anything,
}
