"""Neutral requests for tests of the Gemini format."""

from dataclasses import replace
from typing import Any

from app.context.draft import EphemeralOrigin, NeutralMessage, NeutralRequest, Role, SystemSection
from app.context.sources import Tool
from app.entries import lossless
from app.entries.parts import Part, Text, ToolCall
from app.models.resolve import Limits, ModelChoice, Target
from tests.strategies import resolved

LIMITS = Limits(1_048_576, 65_536, "explicit")
LOOKUP = Tool("lookup", "Finds a record.", {"type": "object", "properties": {"id": {"type": "string"}}})
ESCALATE = Tool("escalate", "", {"type": "object"})
PRODUCER = "gemini/google/gemini-3-flash-preview"


def target(name: str = "gemini-3-flash-preview", quirks: dict[str, Any] | None = None, **params: Any) -> Target:
    return resolved(ModelChoice("google", name, params), LIMITS, "gemini", quirks)


def message(role: Role, *parts: Part | str, tool_call_id: str | None = None, is_error: bool = False) -> NeutralMessage:
    given = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return NeutralMessage(role, given, EphemeralOrigin(0), tool_call_id, None, is_error)


def request(*messages: NeutralMessage, system: tuple[str, ...] = (), tools: tuple[Tool, ...] = (), **changes: Any) -> NeutralRequest:
    sections = tuple(SystemSection(f"system-{index}", text) for index, text in enumerate(system))
    base = NeutralRequest(sections, messages, tools, None, None, target())
    return replace(base, **changes)


def call(tool_call_id: str = "c1", name: str = "lookup", arguments: str = "{}", **beside: Any) -> ToolCall:
    """A call; `beside` is what Gemini put beside it."""
    opaque = lossless.dumps(beside) if beside else None
    return ToolCall(tool_call_id, name, arguments, None, opaque, None, PRODUCER if beside else None)
