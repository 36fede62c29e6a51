"""The kinds of difference that are explained, and whether two bodies differ in nothing else.

Two bodies match when they are equal once all kinds of their wire were applied; the kinds that they need are those without which they
are not.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.judges.kinds.anthropic import MESSAGES
from tests.judges.kinds.gemini import GEMINI
from tests.judges.kinds.kind import Kind
from tests.judges.kinds.openai_chat import CHAT, GROQ, MISTRAL, OPENROUTER
from tests.judges.kinds.openai_responses import RESPONSES

KINDS: Mapping[str, tuple[Kind, ...]] = MappingProxyType(
    {
        "openai-chat": CHAT,
        "openai-responses": RESPONSES,
        "anthropic-messages": MESSAGES,
        "gemini": GEMINI,
        "groq": GROQ,
        "mistral": MISTRAL,
        "openrouter": OPENROUTER,
    }
)


def alike(recorded: dict[str, Any], compiled: dict[str, Any], kinds: tuple[Kind, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both bodies once the kinds were applied, in their order."""
    for kind in kinds:
        recorded, compiled = kind.change(recorded), kind.change(compiled)
    return recorded, compiled


def needed(recorded: dict[str, Any], compiled: dict[str, Any], kinds: tuple[Kind, ...]) -> list[str] | None:
    """The kinds without which the bodies differ; None where they differ with all of them."""
    one, other = alike(recorded, compiled, kinds)
    if one != other:
        return None
    left = list(kinds)
    for kind in kinds:
        fewer = tuple(each for each in left if each is not kind)
        one, other = alike(recorded, compiled, fewer)
        if one == other:
            left.remove(kind)
    return [kind.name for kind in left]
