"""Servers by name: which dialect they speak, where they are, and what they do differently, as quirks over the dialect's `WireRules`.

A preset is what an operator would otherwise have to write (`preset = "mistral"` under an upstream); every line of it can be overridden
there by `dialect`, `base_url` and `quirks`. Sources: the wire-format notes 0.2, 0.3, 0.6 and 2.1 to 2.7; llama.cpp's issue 26535.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """One server. `base_url` is None where it has no address that holds for everybody.

    `catalogued`: whether it serves models under their vendor's limits. One's own server, and a deployment under a name of one's own, do
    not: their limits are what the operator, the document or the server itself says (S3-05).
    """

    dialect: str
    base_url: str | None = None
    quirks: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    catalogued: bool = True


_CHAT = "openai-chat"


def _chat(base_url: str | None = None, *, catalogued: bool = True, takes_files: bool = False, **quirks: Any) -> Preset:
    """A server that speaks Chat Completions and knows no subsets of tools. That it takes files is left to the model, that it does not is not."""
    known = {"allowed_tools": False} | ({} if takes_files else {"files": False})
    return Preset(_CHAT, base_url, MappingProxyType(known | quirks), catalogued)


_AUDIO = "audio/wav audio/x-wav audio/mpeg audio/mp3"


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "openai": Preset("openai-responses", "https://api.openai.com/v1"),
        "anthropic": Preset("anthropic-messages", "https://api.anthropic.com/v1"),
        "gemini": Preset("gemini", "https://generativelanguage.googleapis.com/v1beta"),
        "bedrock": Preset("bedrock-converse"),
        # A deployment bears whatever name its owner gave it.
        "azure": Preset(_CHAT, catalogued=False),
        # Thinks unless it is told not to; while it does, no call can be forced and every answer has to bring its reasoning (2.5).
        "deepseek": _chat(
            "https://api.deepseek.com",
            max_tokens_key="max_tokens",
            thinking="toggle",
            efforts="none low medium high xhigh max",
            reasoning_key="reasoning_content",
            reasoning_always=True,
            forced_choice=False,
            content_lists=False,
        ),
        # Ids of nine letters and digits; "any" for "required"; no user directly behind a tool; no empty answer (2.4).
        "mistral": _chat(
            "https://api.mistral.ai/v1",
            max_tokens_key="max_tokens",
            call_id_pattern="[a-zA-Z0-9]{9}",
            call_id_chars_max=9,
            required_choice="any",
            reply_after_results=True,
            user_last=True,
            input_needed=True,
            blank_texts=False,
            reasoning_key="content",
            takes_files=True,
            file_part="document_url",
            file_types="application/pdf",
            file_urls=True,
        ),
        "groq": _chat("https://api.groq.com/openai/v1", reasoning_key="reasoning"),  # 2.6
        # Reasoning is asked for by an object, and its details go back as they came (2.3).
        "openrouter": _chat(
            "https://openrouter.ai/api/v1",
            max_tokens_key="max_tokens",
            thinking="object",
            reasoning_key="reasoning",
            takes_files=True,
        ),
        # The order of messages is the chat template's to decide: many want inputs and answers by turns (2.1).
        "vllm": _chat(catalogued=False, takes_files=True, reasoning_key="reasoning", merge_users=True, file_types=_AUDIO),
        # Ignores every choice of tools, and takes pictures as bytes alone (2.2).
        "ollama": _chat(
            "http://127.0.0.1:11434/v1",
            catalogued=False,
            max_tokens_key="max_tokens",
            tool_choice=False,
            forced_choice=False,
            named_choice=False,
            image_urls=False,
            reasoning_key="reasoning",
            efforts="none low medium high",
        ),
        # A choice that names a tool passes for "auto" without a word.
        "llama-cpp": _chat(
            catalogued=False, takes_files=True, named_choice=False, reasoning_key="reasoning_content", merge_users=True, file_types=_AUDIO
        ),
    }
)
