"""Limits and words of Converse. What differs by model family stands in `families`, and is overridden by quirks.

Sources: the wire-format notes 0.2 to 0.6, 4.1, 6 and 7 (botocore 1.44.8's model of bedrock-runtime, AWS documentation).
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.models.wire_rules import WireRules

DIALECT = "bedrock-converse"

IMAGE_FORMATS: Mapping[str, str] = MappingProxyType({"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"})
FILE_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "application/pdf": "pdf",
        "text/csv": "csv",
        "application/msword": "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/plain": "txt",
        "text/markdown": "md",
    }
)
"""Media type → `format` of a block (6.1)."""

RULES = WireRules(
    call_id_pattern="[a-zA-Z0-9_.:-]{1,64}",
    call_id_chars_max=64,
    tools_max=512,  # no limit is known; more than this no agent has
    description_chars_max=2**20,  # nor is one of a description
    allowed_tools=False,
    none_choice=False,
    history_needs_tools=True,
    arguments="object",
    user_first=True,
    user_last=True,
    input_needed=True,
    files_beside_results=False,
    blank_texts=False,
    image_urls=False,
    image_types=" ".join(IMAGE_FORMATS),
    file_types=" ".join(FILE_FORMATS),
    image_bytes_max=3_750_000,
    image_pixels_max=8_000,
    file_bytes_max=4_500_000,
    result_images=True,
    provider_blocks=True,
    thinking="",
    efforts="",
    stream_usage=False,
    image_tokens=1_568,
)
"""The defaults, of a family that is not known: what nearly all of them take (6.2)."""

IMAGES_PER_MESSAGE_MAX = 20
FILES_PER_MESSAGE_MAX = 5
FILE_NAME_CHARS_MAX = 200
STOPS_MAX = 2_500
METADATA_PAIRS_MAX = 16
RESPONSE_PATHS_MAX = 10
CACHE_POINTS_MAX = 4
"""Of one request. Images and documents are counted by message (AWS documentation of `Message`)."""

BLANK = "."
"""What stands where a text is needed and there is none (6.2)."""

ERROR_MARK = "[error]"
"""What a failed result begins with for a model that takes no `status`."""

INVALID_INPUT_KEY = "rawInvalidInput"
"""Under it stand arguments that are no JSON object, in the object that the wire asks for (0.5)."""

PROTECTED_KEYS = frozenset({"modelId", "messages", "system", "toolConfig"})
"""Keys that `params.extra` cannot override: the record of the call would no longer say what was sent."""

THINKING_TOKENS_MIN = 1_024
"""The least `budget_tokens`; it also has to be less than the output cap (4.1)."""

BUDGET_FRACTIONS: Mapping[str, float] = MappingProxyType({"minimal": 0.0, "low": 0.2, "medium": 0.4, "high": 0.6, "xhigh": 0.8, "max": 0.9})
"""Effort → the part of the output cap that may be thought, for models that are told a budget. Our own scale: the vendor has none."""

STOP_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "end_turn": "finished",
        "stop_sequence": "finished",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "window_full",
        "content_filtered": "refused",
        "guardrail_intervened": "refused",
        "malformed_model_output": "malformed",
        "malformed_tool_use": "malformed",
    }
)
"""Native → neutral (0.5); a word that is not here is neutral `other`."""

NATIVE_STOPS: Mapping[str, str] = MappingProxyType(
    {
        "finished": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "window_full": "model_context_window_exceeded",
        "refused": "content_filtered",
        "malformed": "malformed_model_output",
    }
)
"""Neutral → native, for streams that we write."""
