"""Neutral requests for tests of the Chat format."""

from dataclasses import replace
from typing import Any

from app.context.draft import EphemeralOrigin, NeutralMessage, NeutralRequest, Role, SystemSection
from app.context.sources import Tool
from app.entries.parts import Part, Text
from app.models.resolve import Limits, ModelChoice, Target
from tests.strategies import resolved

LIMITS = Limits(128_000, 16_384, "explicit")
LOOKUP = Tool("lookup", "Finds a record.", {"type": "object", "properties": {"id": {"type": "string"}}})
ESCALATE = Tool("escalate", "", {"type": "object"})


def target(name: str = "gpt-4o", quirks: dict[str, Any] | None = None, **params: Any) -> Target:
    return resolved(ModelChoice("openai", name, params), LIMITS, quirks=quirks)


def message(role: Role, *parts: Part | str, tool_call_id: str | None = None, is_error: bool = False) -> NeutralMessage:
    given = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return NeutralMessage(role, given, EphemeralOrigin(0), tool_call_id, None, is_error)


def request(*messages: NeutralMessage, system: tuple[str, ...] = (), tools: tuple[Tool, ...] = (), **changes: Any) -> NeutralRequest:
    sections = tuple(SystemSection(f"system-{index}", text) for index, text in enumerate(system))
    base = NeutralRequest(sections, messages, tools, None, None, target())
    return replace(base, **changes)
