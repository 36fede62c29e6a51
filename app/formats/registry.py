"""THE table of formats: dialect → its directions, and import format → its reader."""

from collections.abc import Mapping
from types import MappingProxyType

from app.formats import anthropic, bedrock, gemini, openai_chat, openai_responses
from app.formats.ai_sdk.read import read as read_ai_sdk
from app.formats.anthropic.read_request import read as read_anthropic
from app.formats.claude_code.read import read as read_claude_code
from app.formats.codex.read import read as read_codex
from app.formats.gemini.read_request import read as read_gemini
from app.formats.jsonl.read import read as read_jsonl
from app.formats.openai_chat.read_request import read as read_openai_chat
from app.formats.openai_responses.read_request import read as read_openai_responses
from app.formats.pi.read import read as read_pi
from app.formats.protocols import Format, Importer

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        form.dialect: form
        for form in (
            openai_chat.FORMAT,
            openai_responses.FORMAT,
            anthropic.FORMAT,
            gemini.FORMAT,
            bedrock.FORMAT,
        )
    }
)

IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "jsonl": read_jsonl,
        "openai-chat": read_openai_chat,
        "openai-responses": read_openai_responses,
        "anthropic-messages": read_anthropic,
        "gemini": read_gemini,
        "ai-sdk": read_ai_sdk,
        "claude-code": read_claude_code,
        "codex": read_codex,
        "pi": read_pi,
    }
)
