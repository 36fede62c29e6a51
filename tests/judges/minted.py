"""Answers as the five providers give them: minted by the fakes, sent over their wires, read by our readers, with all their blocks.

Each bears ids and tokens of its own, since no provider gives the same one twice.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from app.context.compile import compile_context
from app.entries.messages import Answer
from app.formats.registry import FORMATS
from app.models.resolve import Target
from tests.fakes import answers
from tests.fakes.answers import Redacted, Text, Thinking, ToolCall
from tests.fakes.openai_models import never_reasons
from tests.judges.providers import PROVIDERS, Provider
from tests.judges.talks import answered
from tests.judges.targets import MODELS, dialects, target_of
from tests.strategies import Ledger, tokens

COPIES = 2
"""How many of each kind there are: no ledger takes one of them twice."""

_SAID: tuple[tuple[answers.Part, ...], ...] = (
    (Text("Plain words."),),
    (Thinking("I think."), Text("So I say.")),
    (Redacted(), Text("Nobody knows why.")),
    (Thinking("Two at once."), ToolCall("lookup", '{"n":1}'), ToolCall("gone", '{"deep":{"a":[1,2.50,null]}}')),
    (Text("Let me see."), ToolCall("lookup")),
    (Thinking("First."), Text("Then."), ToolCall("lookup", '{"text":"\\u00e9\\ud83d\\ude00"}'), ToolCall("lookup", '{"n":2}')),
    (Thinking("Cut."), ToolCall("lookup", '{"cut": "of'), ToolCall("gone", "[]")),
    (Thinking("Alone."),),
    (Thinking("One."), Thinking("Two."), Redacted(), Text("Three.")),
)


@cache
def minted() -> Mapping[tuple[str, str], tuple[Answer, ...]]:
    """Dialect and model → its answers, the same ones for the whole process."""
    return {(dialect, model): row for dialect, provider in minters().items() for model, row in _of(provider, dialect)}


@cache
def minters() -> Mapping[str, Provider]:
    """Dialect → the endpoint that minted its answers and has them in its book."""
    return {dialect: PROVIDERS[dialect]() for dialect in dialects()}


def _of(provider: Provider, dialect: str) -> Iterator[tuple[str, tuple[Answer, ...]]]:
    """By one endpoint for all models of a dialect, so that no two answers have one id."""
    for model in MODELS[dialect]:
        target = target_of(dialect, model, reasoning={"effort": "high"} if thinks(dialect, model) else None)
        rows = [
            said if thinks(dialect, model) else tuple(part for part in said if not isinstance(part, Thinking | Redacted)) for said in _SAID * COPIES
        ]
        streams = [provider.stream(_question(target), target, answers.Answer(says)) for says in rows if says]
        yield model, tuple(answered(stream, target, call_id=f"call_{dialect}_{model}_{number}") for number, stream in enumerate(streams))


def thinks(dialect: str, model: str) -> bool:
    """Whether the model gives out reasoning; the fake of Responses would let any model do so."""
    return not (dialect == "openai-responses" and never_reasons(model))


def _question(target: Target) -> bytes:
    ledger = Ledger()
    ledger.user("Well?")
    request = compile_context(ledger.sources(target=target), tokens).request
    return FORMATS[target.dialect].write_request(request, {}).body
