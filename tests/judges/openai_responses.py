"""Responses: the types of the `openai` package, and the rules of the fake endpoint."""

from functools import cache
from typing import Any

import jsonschema_rs
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from app.models.resolve import Target
from tests.fakes.openai_responses_rules import breaches
from tests.judges.schemas import Tolerance, closed, found_by, optional

KIND = ResponseCreateParamsStreaming
TOLERANCES = (
    Tolerance(
        "items of the history without an id",
        "The SDK's types are those of stored items; a body that sends all of them has no need of ids, and providers took such bodies "
        "(wire-format notes 12.2).",
        optional("id", "ResponseOutputMessageParam", "ResponseReasoningItemParam", "ResponseFunctionWebSearchParam"),
    ),
)


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    return closed(KIND, TOLERANCES)


def sdk_objections(body: Any, target: Target) -> list[str]:
    return found_by(schema(), body)


def fake_objections(body: Any, target: Target) -> list[str]:
    return [f"{breach.param}: {breach.message}" for breach in breaches(body)]
