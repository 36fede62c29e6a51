"""Neutral requests for tests of the Responses format, and answers as its reader makes them of items."""

from dataclasses import replace
from typing import Any

from app.context.draft import EphemeralOrigin, NeutralMessage, NeutralRequest, Role, SystemSection
from app.context.sources import Tool
from app.entries.deltas import CallNames, ToolCallStarted
from app.entries.parts import Part, Text
from app.models.resolve import Limits, ModelChoice, Target
from tests.formats.openai_responses.streams import fold, read, whole
from tests.strategies import resolved

LIMITS = Limits(400_000, 128_000, "explicit")
LOOKUP = Tool("lookup", "Finds a record.", {"type": "object", "properties": {"id": {"type": "string"}}})
ESCALATE = Tool("escalate", "", {"type": "object"})


def target(name: str = "gpt-5.4", quirks: dict[str, Any] | None = None, **params: Any) -> Target:
    return resolved(ModelChoice("openai", name, params), LIMITS, "openai-responses", quirks=quirks)


def message(role: Role, *parts: Part | str, tool_call_id: str | None = None, is_error: bool = False) -> NeutralMessage:
    given = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return NeutralMessage(role, given, EphemeralOrigin(0), tool_call_id, None, is_error)


def answer(*items: dict[str, Any]) -> NeutralMessage:
    """The answer of these output items, as it is read, committed and sent back to who made it."""
    names = CallNames("call_1")
    deltas = [names.name(delta) if isinstance(delta, ToolCallStarted) else delta for delta in read([whole(*items)], str(target().producer))]
    return message("assistant", *fold(deltas).parts())


def request(*messages: NeutralMessage, system: tuple[str, ...] = (), tools: tuple[Tool, ...] = (), **changes: Any) -> NeutralRequest:
    sections = tuple(SystemSection(f"system-{index}", text) for index, text in enumerate(system))
    base = NeutralRequest(sections, messages, tools, None, None, target())
    return replace(base, **changes)
