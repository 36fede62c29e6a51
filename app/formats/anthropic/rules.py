"""Limits and words of Messages, and what each Claude model takes. What an endpoint takes otherwise is overridden by quirks.

Sources: the wire-format notes 4, 4.1, 4.3, 7.3, 7.4 and 12 (anthropic 2.14.0 types, vendor pages and issue threads named there).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from app.models.wire_rules import WireRules

DIALECT = "anthropic-messages"

VERSION = "2026-10-21"
"""The API version that is asked for. Under it no sampling parameter is taken, and no document of an assistant (4)."""

PROMPT_ORDER = ("tools", "system", "messages")
"""The order in which the prompt is built (4.4)."""

HEADERS: Mapping[str, str] = MappingProxyType({"anthropic-version": VERSION})

_LOW, _ALL = "low medium high", "low medium high xhigh max"

UNKNOWN = WireRules(
    call_id_pattern="[a-zA-Z0-9_-]+",
    call_id_chars_max=64,
    tools_max=10_000,
    description_chars_max=1_048_576,
    forced_choice=False,
    allowed_tools=False,
    arguments="object",
    system_inside=False,
    user_first=True,
    user_last=True,
    results_in_call_order=True,
    blank_texts=False,
    file_urls=True,
    file_types="application/pdf text/plain",
    image_bytes_max=5_242_880,
    image_pixels_max=8_000,
    images_max=600,
    many_images=20,
    many_image_pixels_max=2_000,
    error_media=False,
    result_images=True,
    result_files=True,
    provider_blocks=True,
    prefix_bound=True,
    thinking="adaptive",
    efforts=_LOW,
    thinking_types="adaptive",
    thinking_off_efforts=_LOW,
    temperature=False,
    stream_usage=False,
    max_tokens_key="max_tokens",
    cache_breakpoints=4,
    tools_overhead_tokens=804,
    image_tokens=4_784,
)
"""What is assumed of a model that no table knows: what every model from 5.5 on takes, and no more. No limit of Anthropic's is known for
the number of tools and the length of their descriptions. An image is estimated at the most that one weighs (7.4), the list of tools at
the greater of its two figures (7.3)."""

_ALWAYS = replace(UNKNOWN, efforts=_ALL, prefix_bound=False, system_inside=True)
_SINCE_4_7 = replace(
    _ALWAYS, forced_choice=True, efforts="none " + _ALL, thinking_types="adaptive disabled", thinking_off_efforts=_ALL, system_inside=False
)
_SINCE_4_6 = replace(
    _SINCE_4_7, efforts="none low medium high max", thinking_types="adaptive enabled disabled", tools_overhead_tokens=589, image_tokens=1_568
)
_SINCE_4 = replace(
    _SINCE_4_6,
    user_last=False,
    thinking="budget",
    efforts="none " + _LOW,
    thinking_types="enabled disabled",
    tools_overhead_tokens=588,
    images_max=100,
)

_FAMILIES: tuple[tuple[str, WireRules], ...] = (
    ("fable-5-[12]|mythos-5-2", replace(_ALWAYS, prefix_bound=True)),
    ("mythos-5-1", _ALWAYS),
    ("fable-5|mythos-5", replace(_ALWAYS, forced_choice=True)),
    ("opus-5-5", replace(_ALWAYS, prefix_bound=True)),
    ("sonnet-5-5", replace(_ALWAYS, prefix_bound=True, thinking_types="adaptive between_tools", thinking_off_efforts=_LOW)),
    ("haiku-5-5", replace(_SINCE_4_7, prefix_bound=True, thinking_off_efforts=_LOW, system_inside=True)),
    ("opus-5", replace(_SINCE_4_7, thinking_off_efforts=_LOW, system_inside=True, tools_overhead_tokens=406)),
    ("sonnet-5", replace(_SINCE_4_7, system_inside=True, tools_overhead_tokens=474)),
    ("opus-4-8", replace(_SINCE_4_7, system_inside=True, tools_overhead_tokens=410)),
    ("opus-4-7", _SINCE_4_7),
    ("(opus|sonnet)-4-6", _SINCE_4_6),
    ("(opus|sonnet|haiku)-4(-[0-5])?", _SINCE_4),
    ("3[-.]7-sonnet", _SINCE_4),
    ("(instant-)?[1-3]([-.]\\d)?(-(opus|sonnet|haiku))?", replace(_SINCE_4, thinking="", efforts="", thinking_types="")),
)
"""The table of 4.1. `thinking` is how thinking is asked for, `thinking_types` all that is taken: `enabled` is never asked of a model that
takes `adaptive`. The first pattern that fits counts."""

_MODELS = tuple([(re.compile(rf"(?:.*[./])?claude-(?:{family})(?!-?\d{{1,2}}(?!\d))"), rules) for family, rules in _FAMILIES])


def rules_for(model: str) -> WireRules:
    """The rules for a model, before any quirk. Names may carry a date, and a vendor or region in front, as gateways write them."""
    return next((rules for name, rules in _MODELS if name.match(model)), UNKNOWN)


def path(model: str) -> str:
    """Where a request goes, below the base URL; the model stands in the body."""
    return "/messages"


MESSAGES_MAX = 100_000
BUDGET_TOKENS_MIN = 1_024
STRICT_TOOLS_MAX = 20
STRICT_OPTIONAL_MAX = 24
STRICT_UNIONS_MAX = 16

IMAGE_TYPES = frozenset(UNKNOWN.image_types.split())
FILE_TYPES = frozenset(UNKNOWN.file_types.split())

THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls of tools that the provider runs; an answer that pauses may end with one, and goes back as it is."""

PROTECTED_KEYS = frozenset({"model", "messages", "tools", "system", "stream"})
"""Keys that `params.extra` cannot override: the record of the call would no longer say what was sent."""

BUDGET_TOKENS: Mapping[str, int] = MappingProxyType({"low": 4_096, "medium": 12_288, "high": 32_768, "xhigh": 49_152, "max": 63_488})
"""Effort → thinking tokens, for models that take a budget. Our own figures; a quarter of the output cap is always left for the answer."""

STOP_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "end_turn": "finished",
        "stop_sequence": "finished",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "window_full",
        "refusal": "refused",
        "pause_turn": "paused",
    }
)
"""Native → neutral (0.5); a word that is not here is neutral `other`, so that no unknown ending passes for a finished one."""

NATIVE_REASONS: Mapping[str, str] = MappingProxyType({neutral: native for native, neutral in STOP_REASONS.items() if native != "stop_sequence"})
"""Neutral → native, for streams that we write."""
