"""Chat Completions: the types of the `openai` package, and the rules of the fake endpoint."""

from functools import cache
from typing import Any

import jsonschema_rs
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

from app.models.resolve import Target
from tests.fakes.openai_chat_rules import breaches
from tests.judges.schemas import closed, found_by


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    return closed(CompletionCreateParamsStreaming)


def sdk_objections(body: Any, target: Target) -> list[str]:
    return found_by(schema(), body)


def fake_objections(body: Any, target: Target) -> list[str]:
    return [f"{breach.param}: {breach.message}" for breach in breaches(body)]
