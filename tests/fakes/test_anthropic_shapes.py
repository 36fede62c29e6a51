"""The tables of shapes name the keys that the official SDK names: those and, but for what is written down here, no others."""

from typing import Any

import pytest
from anthropic import types
from anthropic.types import beta, message_count_tokens_params, message_create_params

from tests.fakes import anthropic_shapes as shapes
from tests.fakes.shapes import Check

BLOCKS = {
    "text": types.TextBlockParam,
    "image": types.ImageBlockParam,
    "document": types.DocumentBlockParam,
    "search_result": types.SearchResultBlockParam,
    "thinking": types.ThinkingBlockParam,
    "redacted_thinking": types.RedactedThinkingBlockParam,
    "tool_use": types.ToolUseBlockParam,
    "tool_result": types.ToolResultBlockParam,
    "server_tool_use": types.ServerToolUseBlockParam,
    "container_upload": types.ContainerUploadBlockParam,
    "mcp_tool_use": beta.BetaMCPToolUseBlockParam,
    "tool_addition": beta.BetaRequestToolAdditionBlockParam,
    "tool_removal": beta.BetaRequestToolRemovalBlockParam,
}


def keys(kind: Any) -> set[str]:
    return set(kind.__annotations__) | {key for base in getattr(kind, "__orig_bases__", ()) for key in getattr(base, "__annotations__", {})}


def permits(check: Check, key: str) -> bool:
    """Whether some object with this key has no breach that calls the key unknown."""
    return not any(breach.gist == "Extra inputs are not permitted" for breach in check({key: "x"}, ""))


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks(kind: str):
    known = keys(BLOCKS[kind])
    assert {"type"} < known
    assert all(permits(shapes.BLOCKS[kind], key) for key in known)
    assert not permits(shapes.BLOCKS[kind], "seq")


def test_a_tool():
    assert all(permits(shapes.TOOL, key) for key in keys(types.ToolParam))


def test_a_body():
    created = keys(message_create_params.MessageCreateParamsBase) | {"stream"}
    assert created == shapes.NEEDED.keys() | shapes.CREATED.keys() | {"max_tokens"}
    assert keys(message_count_tokens_params.MessageCountTokensParams) == shapes.NEEDED.keys() | shapes.COUNTED.keys()
    assert keys(beta.message_create_params.MessageCreateParamsBase) - created - {"betas"} == shapes.BETA.keys()


def test_roles_cover_every_block():
    assert set().union(*shapes.ROLES.values()) == shapes.BLOCKS.keys()
