"""Neutral requests for tests of the Messages format."""

from dataclasses import replace
from typing import Any

from app.context.draft import EphemeralOrigin, NeutralMessage, NeutralRequest, Role, SystemSection
from app.context.sources import Tool
from app.entries import lossless
from app.entries.parts import Part, Reasoning, Text
from app.formats.anthropic.rules import DIALECT
from app.models.resolve import Limits, ModelChoice, Target
from tests.formats.anthropic.streams import PRODUCER
from tests.strategies import resolved

OLD, NEW, BOUND = "claude-sonnet-4-5", "claude-opus-5", "claude-opus-5-5"
LIMITS = Limits(200_000, 64_000, "explicit")
LOOKUP = Tool("lookup", "Finds a record.", {"type": "object", "properties": {"id": {"type": "string"}}})
ESCALATE = Tool("escalate", "", {"type": "object"})


def target(name: str = OLD, quirks: dict[str, Any] | None = None, **params: Any) -> Target:
    return resolved(ModelChoice("anthropic", name, params), LIMITS, DIALECT, quirks)


def signed(text: str = "Hm. ", signature: str = "SIG") -> Reasoning:
    """Thinking that this target's model signed."""
    return Reasoning(text, lossless.dumps({"type": "thinking", "thinking": text, "signature": signature}), PRODUCER)


def message(role: Role, *parts: Part | str, tool_call_id: str | None = None, is_error: bool = False) -> NeutralMessage:
    given = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return NeutralMessage(role, given, EphemeralOrigin(0), tool_call_id, None, is_error)


def request(*messages: NeutralMessage, system: tuple[str, ...] = (), tools: tuple[Tool, ...] = (), **changes: Any) -> NeutralRequest:
    sections = tuple(SystemSection(f"system-{index}", text) for index, text in enumerate(system))
    base = NeutralRequest(sections, messages, tools, None, None, target())
    return replace(base, **changes)
