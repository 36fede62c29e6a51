"""The five strict fakes without a network: each judges a body by its rules and by its book, and answers it as it would over a socket."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from app.models.resolve import Target
from tests.fakes.answers import Answer
from tests.fakes.anthropic_messages import FakeAnthropic
from tests.fakes.bedrock_converse import FakeBedrock
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai_chat import FakeOpenAI
from tests.fakes.openai_chat_rules import breaches
from tests.fakes.openai_responses import FakeOpenAIResponses


class Provider(Protocol):
    """One endpoint that remembers what it gave out."""

    def refusals(self, body: bytes, target: Target) -> list[str]:
        """Why a body would be answered with 400; empty for one that is served."""

    def stream(self, body: bytes, target: Target, answer: Answer) -> bytes:
        """The answer on the wire. The provider takes what it minted for it into its book."""


class _Provider:
    """What all have in common: a fake, and bodies that are read once."""

    kind: type[Any]

    def __init__(self) -> None:
        self.fake = self.kind(answers=[Answer(())])

    def refusals(self, body: bytes, target: Target) -> list[str]:
        return [str(each.message) for each in self.judged(json.loads(body), target)]

    def stream(self, body: bytes, target: Target, answer: Answer) -> bytes:
        document = json.loads(body)
        self.fake.answers = [answer]
        self.fake.served.append(document)
        return self.written(document, target)

    def judged(self, document: Any, target: Target) -> Sequence[Any]:
        return list(self.fake.judge(document))

    def written(self, document: Any, target: Target) -> bytes:
        return bytes(self.fake.written(document))


class Chat(_Provider):
    kind = FakeOpenAI

    def judged(self, document: Any, target: Target) -> Sequence[Any]:
        return breaches(document)


class Responses(_Provider):
    kind = FakeOpenAIResponses


class Messages(_Provider):
    kind = FakeAnthropic

    def judged(self, document: Any, target: Target) -> Sequence[Any]:
        found, _ = self.fake.judge(document)
        return list(found)


class Gemini(_Provider):
    kind = FakeGemini

    def judged(self, document: Any, target: Target) -> Sequence[Any]:
        return list(self.fake.judge(document, target.model.name))

    def written(self, document: Any, target: Target) -> bytes:
        return bytes(self.fake.written(document, target.model.name))


class Converse(_Provider):
    kind = FakeBedrock

    def judged(self, document: Any, target: Target) -> Sequence[Any]:
        return list(self.fake.judge(document, target.model.name))

    def written(self, document: Any, target: Target) -> bytes:
        return bytes(self.fake.written(document, target.model.name))


PROVIDERS: Mapping[str, type[_Provider]] = MappingProxyType(
    {
        "openai-chat": Chat,
        "openai-responses": Responses,
        "anthropic-messages": Messages,
        "gemini": Gemini,
        "bedrock-converse": Converse,
    }
)
