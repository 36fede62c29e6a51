"""Limits and words of Chat Completions. What differs by model or server stands in `WireRules` and is overridden by quirks.

Sources: the wire-format notes 1.1, 1.2, 1.4 and 7.3 (openai 3.57.0 types, OpenAPI 2.3.0, issue threads named there).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from app.models.catalogue import lookup
from app.models.wire_rules import WireRules

DIALECT = "openai-chat"
RULES = WireRules(provider_blocks=True)
"""The defaults. Blocks go back to who made them: OpenAI makes none here, other servers that speak the format do. Token overheads are the
cookbook's (7.3): 3 a message, 3 for the reply; tools are estimates."""

_DEVELOPER = re.compile(r"(o\d|gpt-[5-9])(?!.*chat)")


def rules_for(model: str) -> WireRules:
    """The rules for a model, before any quirk.

    OpenAI's o-series and its models from gpt-5 on take instructions as `developer`, chat variants and every other server as
    `system` (1.1, as the AI SDK does). Words of effort are those that the catalogue knows, less OpenAI's `max`, which is one of Responses
    only; models that always reason, and gpt-6 at all times, refuse sampling parameters.
    """
    rules = replace(RULES, system_role="developer") if _DEVELOPER.match(model) else RULES
    row = lookup(model)
    if row is None:
        return rules
    if row.reasoning is False:
        return replace(rules, thinking="")
    if row.efforts is not None and isinstance(row.reasoning, Mapping) and row.reasoning.get("mode") == "effort":
        taken = [word for word in row.efforts if word != "max" or row.vendor != "openai"]
        rules = replace(rules, efforts=" ".join(taken))
    if row.vendor == "openai" and (row.always_reasons or row.name.startswith("gpt-6")):
        rules = replace(rules, temperature=False)
    return rules


def path(model: str) -> str:
    """Where a request goes, below the base URL; the model stands in the body."""
    return "/chat/completions"


CALLS_PER_MESSAGE_MAX = 128
STOPS_MAX = 4
CONTENT_CHARS_MAX = 10_485_760

EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
"""`max` is an OpenAI word of Responses only, and a DeepSeek one on Chat; it is let through."""

AUDIO_FORMATS: Mapping[str, str] = MappingProxyType({"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"})

ERROR_MARK = "[error] "
"""What a failed tool result begins with: the format has no flag for it."""

EMPTY_ARGUMENTS = "{}"
"""What a call without argument text is sent with."""

PROTECTED_KEYS = frozenset({"model", "messages", "tools", "stream"})
"""Keys that `params.extra` cannot override: the record of the call would no longer say what was sent."""

GIVEN_BACK = frozenset({"extra_content"})
"""Keys of a message that we do not model and that are sent back where they came from (2.7: Gemini's signatures behind a compatible endpoint)."""

STOP_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "stop": "finished",
        "eos": "finished",
        "end_turn": "finished",
        "stop_sequence": "finished",
        "tool_calls": "tool_calls",
        "function_call": "tool_calls",
        "tool_use": "tool_calls",
        "length": "length",
        "model_length": "length",
        "max_tokens": "length",
        "content_filter": "refused",
        "sensitive": "refused",
    }
)
"""Native → neutral; a word that is not here is neutral `other`, so that no unknown ending passes for a finished one."""

FINISH_REASONS: Mapping[str, str] = MappingProxyType(
    {"finished": "stop", "tool_calls": "tool_calls", "length": "length", "refused": "content_filter"}
)
"""Neutral → native, for streams that we write."""

REASONS_ALWAYS = re.compile(r"gpt-(6-astra|6\.1-sol|6\.2-astra)")
"""Models that cannot switch reasoning off, so that function tools need another dialect (1.2)."""

REASONS_UNLESS_NONE = re.compile(r"gpt-(5\.[6-9]|[6-9])")
"""Models that refuse function tools on this route unless `reasoning_effort` says `none`."""

SAMPLES_WITHOUT_REASONING = re.compile(r"gpt-5\.[56](?!\d)")
"""Models that reason by default, and refuse sampling parameters unless `reasoning_effort` says `none` (1.1)."""

REASONS_WHEN_ASKED = re.compile(r"gpt-5\.[45](?!\d)")
"""Models that refuse function tools on this route when `reasoning_effort` asks for any."""
