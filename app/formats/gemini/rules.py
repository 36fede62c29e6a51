"""Limits and words of Gemini's generateContent. What differs by model stands in `WireRules` and is overridden by quirks.

Sources: the wire-format notes 0.2, 0.5, 5.1 to 5.3 and 8; the docstrings of google-genai 3.6.1; Google's own mapping of effort to
thinking budgets for its OpenAI-compatible endpoint.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from app.models.wire_rules import WireRules

DIALECT = "gemini"

_IMAGE_TYPES = "image/png image/jpeg image/webp image/heic image/heif"
_FILE_TYPES = (
    f"{_IMAGE_TYPES} application/pdf text/plain text/html text/css text/csv text/markdown text/xml text/rtf"
    " text/javascript text/x-python application/json audio/wav audio/x-wav audio/mp3 audio/mpeg audio/aiff audio/aac audio/ogg audio/flac"
    " video/mp4 video/mpeg video/mov video/quicktime video/avi video/x-flv video/mpg video/webm video/wmv video/3gpp"
)
RULES = WireRules(
    call_id_pattern="(?s).+",  # an id of ours is never sent: calls pair by their order and, where Gemini gave one, by its own id
    call_id_chars_max=4_096,
    name_pattern="[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    tools_max=512,
    description_chars_max=1_000_000,  # no limit is known
    arguments="object",
    user_first=True,
    results_in_call_order=True,
    image_urls=False,
    image_types=_IMAGE_TYPES,
    file_types=_FILE_TYPES,
    provider_blocks=True,
    thinking="",
    efforts="",
    stream_usage=False,
    image_tokens=258,
)
"""The defaults: models before 2.5, and names that say nothing of their generation."""

_BUDGETS = replace(RULES, thinking="budget", efforts="none minimal low medium high")
_LEVELS = replace(RULES, thinking="level", efforts="low medium high", signs_calls=True, result_images=True, result_files=True, image_tokens=1_120)
_FOURTH = replace(_LEVELS, user_last=True, temperature=False)
_NAME = r"(?:.*/)?gemini-"
_FAMILIES: tuple[tuple[re.Pattern[str], WireRules], ...] = tuple(
    (re.compile(_NAME + pattern), rules)
    for pattern, rules in (
        (r"2\.5-pro", replace(_BUDGETS, efforts="minimal low medium high")),  # "Budget 0 is invalid. This model only works in thinking mode."
        (r"2\.5", _BUDGETS),
        (r"3-pro", replace(_LEVELS, efforts="low high")),
        (r"3-flash", replace(_LEVELS, efforts="minimal low medium high")),
        (r"3(?!\d)", _LEVELS),
        (r"4-neon", replace(_FOURTH, efforts="low medium high xhigh")),
        (r"(?:[4-9]|[1-9]\d)(?!\d)", _FOURTH),
        (r".*latest", replace(_LEVELS, efforts="low high")),  # an alias: what every model from the third generation on takes
    )
)

_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def rules_for(model: str) -> WireRules:
    """The rules for a model, before any quirk.

    2.5 thinks by a budget, 3 and later by a level. From 3 on, calls are signed and results may hold images and documents (5.1, 5.2).
    Gemini 4 takes no sampling parameters and no list that ends with the model's own turn.
    """
    return next((rules for pattern, rules in _FAMILIES if pattern.match(model)), RULES)


def path(model: str) -> str:
    """Where a request goes, below the base URL, which includes the version (`/v1beta`, `/v1`, or Vertex's `/v1/…/publishers/google`)."""
    return f"{model_path(model)}:streamGenerateContent?alt=sse"


def model_path(model: str) -> str:
    """The model as a path. Bytes of its name that a path could take for something else are percent-encoded."""
    spelled = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in model.encode("utf-8", "replace"))
    return f"/models/{spelled}"


BUDGETS_TOKENS: Mapping[str, int] = MappingProxyType({"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576})
"""`thinkingBudget` for a word of effort: Google's own figures for its OpenAI-compatible endpoint; 512 is the least that every 2.5 model takes."""

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""The signature of a call that has none, as the documentation gives it: this text, which is base64 of nothing (5.2)."""

RAW_ARGUMENTS_KEY = "rawInvalidInput"
"""The key under which arguments go that are no JSON object: the call has to stay, since its result needs it (0.5)."""

LEVELS = frozenset({"minimal", "low", "medium", "high", "xhigh"})
"""Words of effort that `thinkingLevel` has, in capitals."""

STOPS_MAX = 5

PROTECTED_KEYS = frozenset({"contents", "tools", "systemInstruction", "system_instruction", "model"})
"""Keys that `params.extra` cannot override: the record of the call would no longer say what was sent."""

CANDIDATE = "gemini-candidate"
"""Format of the opaque part for what stands beside an answer's content (grounding, citations, a continuation token): no part of a request."""

STOP_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "STOP": "finished",
        "MAX_TOKENS": "length",
        "SAFETY": "refused",
        "RECITATION": "refused",
        "BLOCKLIST": "refused",
        "PROHIBITED_CONTENT": "refused",
        "SPII": "refused",
        "MODEL_ARMOR": "refused",
        "IMAGE_SAFETY": "refused",
        "IMAGE_PROHIBITED_CONTENT": "refused",
        "IMAGE_RECITATION": "refused",
        "MALFORMED_FUNCTION_CALL": "malformed",
        "UNEXPECTED_TOOL_CALL": "malformed",
        "TOO_MANY_TOOL_CALLS": "malformed",
        "MISSING_THOUGHT_SIGNATURE": "malformed",
        "MALFORMED_RESPONSE": "malformed",
        "CONTINUATION": "paused",
    }
)
"""Native → neutral; a word that is not here is neutral `other`, so that no unknown ending passes for a finished one."""

FINISH_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "finished": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "refused": "SAFETY",
        "malformed": "MALFORMED_FUNCTION_CALL",
        "paused": "CONTINUATION",
    }
)
"""Neutral → native, for streams that we write."""
