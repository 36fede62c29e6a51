"""Neutral requests for tests of the Converse format."""

from dataclasses import replace
from typing import Any

from app.context.draft import EphemeralOrigin, NeutralMessage, NeutralRequest, Role, SystemSection
from app.context.sources import Tool
from app.entries.parts import Part, Text
from app.models.resolve import Limits, ModelChoice, Target
from tests.strategies import resolved

LIMITS = Limits(200_000, 64_000, "explicit")
LOOKUP = Tool("lookup", "Finds a record.", {"type": "object", "properties": {"id": {"type": "string"}}})
ESCALATE = Tool("escalate", "", {"type": "object"})
NOVA = "us.amazon.nova-pro-v1:0"
HAIKU = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
OPUS = "us.anthropic.claude-opus-4-8-20260401-v1:0"
BOUND = "us.anthropic.claude-opus-5-5-20261001-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MISTRAL = "us.mistral.pixtral-large-2502-v1:0"


def target(name: str = "some.model", quirks: dict[str, Any] | None = None, **params: Any) -> Target:
    return resolved(ModelChoice("aws", name, params), LIMITS, "bedrock-converse", quirks=quirks)


def message(role: Role, *parts: Part | str, tool_call_id: str | None = None, is_error: bool = False) -> NeutralMessage:
    given = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return NeutralMessage(role, given, EphemeralOrigin(0), tool_call_id, None, is_error)


def request(*messages: NeutralMessage, system: tuple[str, ...] = (), tools: tuple[Tool, ...] = (), **changes: Any) -> NeutralRequest:
    sections = tuple(SystemSection(f"system-{index}", text) for index, text in enumerate(system))
    base = NeutralRequest(sections, messages, tools, None, None, target())
    return replace(base, **changes)
