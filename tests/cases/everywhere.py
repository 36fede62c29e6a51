"""Every ledger of a case in every dialect: whichever the case is about, no body of any may break a rule."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.cases.done import Done
from tests.cases.place import MODELS, UPSTREAMS
from tests.fakes import anthropic_rules, bedrock_rules, gemini_rules, openai_chat_rules, openai_responses_rules

Judge = Callable[[Any, str], list[Any]]

JUDGES: Mapping[str, Judge] = {
    "openai-chat": lambda body, _: openai_chat_rules.breaches(body),
    "openai-responses": lambda body, _: openai_responses_rules.breaches(body),
    "anthropic-messages": lambda body, _: anthropic_rules.breaches(body),
    "gemini": gemini_rules.breaches,
    "bedrock-converse": bedrock_rules.breaches,
}
"""The rules of the strict fakes, which are strangers to our own."""


async def valid_everywhere(done: Done) -> None:
    """Compiles the session for a model of each dialect and holds the body against our rules and the fakes', where it has anything to say."""
    for upstream, model in MODELS.items():
        found = await done.world.input(done.session, upstream=upstream, model=model)
        if not found["source_map"]["sources"]:
            continue
        assert found["violations"] == [], upstream
        assert JUDGES[UPSTREAMS[upstream][0]](found["body"], model) == [], upstream
