"""Messages: the types of the `anthropic` package, and the rules of the fake endpoint."""

from functools import cache
from typing import Any

import jsonschema_rs
from anthropic.types.message_create_params import MessageCreateParamsStreaming

from app.models.resolve import Target
from tests.fakes.anthropic_rules import breaches
from tests.judges.schemas import closed, found_by


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    return closed(MessageCreateParamsStreaming)


def sdk_objections(body: Any, target: Target) -> list[str]:
    return found_by(schema(), body)


def fake_objections(body: Any, target: Target) -> list[str]:
    return [f"{breach.at}: {breach.message}" for breach in breaches(body)]
