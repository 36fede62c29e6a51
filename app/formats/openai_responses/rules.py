"""Limits and words of Responses. What differs by model or server stands in `WireRules` and is overridden by quirks.

Sources: the wire-format notes 0, 1.1 (efforts), 1.4, 3 and 12 (openai 3.57.0 types, OpenAPI 2.3.0, recorded exchanges).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from app.models.wire_rules import WireRules

DIALECT = "openai-responses"
RULES = WireRules(
    call_id_chars_max=64,
    input_needed=True,
    file_urls=True,
    image_bytes_max=15_700_000,
    file_bytes_max=55_000_000,
    result_images=True,
    result_files=True,
    provider_blocks=True,
    cache_key=True,
)
"""The defaults. The sizes are what fits as a base64 data URL into the 20,971,520 and 73,400,320 characters of 3.1."""

_DATED = r"(-\d{4}-\d\d-\d\d)?"
_ALL = "none low medium high xhigh max"
_FAMILIES: tuple[tuple[re.Pattern[str], WireRules], ...] = tuple(
    (re.compile(pattern), rules)
    for pattern, rules in (
        (r"gpt-[34].*|chatgpt-4.*|gpt-5-chat.*", replace(RULES, thinking="", efforts="")),
        (r"gpt-5.*-chat-latest", replace(RULES, efforts="medium", temperature=False)),
        (r"o\d.*", replace(RULES, efforts="low medium high", temperature=False)),
        (rf"gpt-5-pro{_DATED}", replace(RULES, efforts="high", temperature=False)),
        (rf"gpt-5\.\d+-pro{_DATED}", replace(RULES, efforts="medium high xhigh", temperature=False)),
        (r"gpt-5\.1(?!\d).*", replace(RULES, efforts="none low medium high", default_effort="none")),
        (r"gpt-5\.[2-4](?!\d).*", replace(RULES, efforts=_ALL, default_effort="none")),
        (r"gpt-5\.\d.*", replace(RULES, efforts=_ALL, default_effort="medium")),
        (r"gpt-5(?!\d).*", replace(RULES, efforts="minimal low medium high", temperature=False)),
        (r"gpt-(6-astra|6\.1-sol|6\.2-astra).*", replace(RULES, efforts="low medium high xhigh max", temperature=False)),
        (r"gpt-6(?!\d).*", replace(RULES, efforts=_ALL, temperature=False)),
    )
)
"""What 1.1 says of OpenAI's own models, the first that matches; `max` stands beside `xhigh`, which Chat ends with. Of a name that is not
here, as other servers have them, nothing is assumed."""


def rules_for(model: str) -> WireRules:
    """The rules for a model, before any quirk.

    A model without thinking gets no effort and is asked for no encrypted reasoning, which it would refuse (3.2). One that always
    thinks takes no sampling parameters; one that thinks when it is asked to takes them while it does not (1.1).
    """
    return next((rules for pattern, rules in _FAMILIES if pattern.fullmatch(model)), RULES)


def path(model: str) -> str:
    """Where a request goes, below the base URL; the model stands in the body."""
    return "/responses"


OUTPUT_TOKENS_MIN = 16
CALL_ID_CHARS_MAX = 64
NAME_PATTERN = "[a-zA-Z0-9_-]{1,128}"
"""What the endpoint takes as a name (3.1); `WireRules.name_pattern` is what we send."""
TEXT_CHARS_MAX = 10_485_760
IMAGE_URL_CHARS_MAX = 20_971_520
FILE_DATA_CHARS_MAX = 73_400_320
COMPACT_THRESHOLD_MIN = 1_000

PROMPT_ORDER = ("tools", "instructions", "input")
"""The keys of which the prompt is built, the first that differs ending what a cache can reuse."""

ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""The word of `include` that asks for reasoning items that can be sent back without the server having stored them."""

ERROR_MARK = "[error] "
"""What a failed tool result begins with: the format has no flag for it."""

PROTECTED_KEYS = frozenset(
    {"model", "instructions", "input", "tools", "stream", "store", "previous_response_id", "conversation", "background", "prompt"}
)
"""Keys that `params.extra` cannot override: the record of the call would no longer say what was sent, or the call would no longer be
whole in itself, because the server adds what it stored."""

RESULT_OF: Mapping[str, str] = MappingProxyType(
    {
        "function_call": "function_call_output",
        "custom_tool_call": "custom_tool_call_output",
        "computer_call": "computer_call_output",
        "shell_call": "shell_call_output",
        "apply_patch_call": "apply_patch_call_output",
    }
)
"""Items that need a result of the same `call_id`, and the type of it."""

GIVEN_TYPES = frozenset(
    {
        *RESULT_OF.values(),
        "additional_tools",
        "compaction_trigger",
        "configuration_update",
        "local_shell_call_output",
        "mcp_approval_response",
        "tool_search_output",
    }
)
"""Items that no model makes, so that no reasoning leads to them."""

ID_MAY_GO = frozenset({"message", *RESULT_OF, "custom_tool_call", "web_search_call", "tool_search_call"}) - {"computer_call"}
"""Items that are taken without their `id` (12.2, and the SDK's types)."""

INCOMPLETE_REASONS: Mapping[str, str] = MappingProxyType({"max_output_tokens": "length", "content_filter": "refused"})
"""Why an answer is incomplete → neutral; a word that is not here is neutral `other`, so that no unknown ending passes for a finished one."""
