"""The one interface of all judges."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from app.formats.registry import FORMATS
from app.models.resolve import Target
from tests.judges import anthropic, bedrock, gemini, openai_chat, openai_responses

Objects = Callable[[Any, Target], list[str]]
"""A parsed body and what it was compiled for → what is wrong with it, each with its place."""


class Judge(NamedTuple):
    """What others than we say of one dialect's bodies."""

    sdk: Objects
    fake: Objects


JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "openai-chat": Judge(openai_chat.sdk_objections, openai_chat.fake_objections),
        "openai-responses": Judge(openai_responses.sdk_objections, openai_responses.fake_objections),
        "anthropic-messages": Judge(anthropic.sdk_objections, anthropic.fake_objections),
        "gemini": Judge(gemini.sdk_objections, gemini.fake_objections),
        "bedrock-converse": Judge(bedrock.sdk_objections, bedrock.fake_objections),
    }
)


def objections(dialect: str, body: bytes, target: Target) -> list[str]:
    """What any of the three has against a body that was compiled for the target; each is led by its judge's name."""
    document = json.loads(body)
    judge = JUDGES[dialect]
    found = [f"sdk {each}" for each in judge.sdk(document, target)]
    found += [f"ours {each.pointer} {each.code}: {each.detail}" for each in FORMATS[dialect].validate(document, target.rules)]
    return found + [f"fake {each}" for each in judge.fake(document, target)]
