"""Laws of the books: whoever sends each model its own blocks as they came is served, whatever was said; who changes one is refused."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.answers import Answer, Part, Redacted, Text, Thinking, ToolCall
from tests.fakes.anthropic_messages import FakeAnthropic
from tests.fakes.bedrock_converse import FakeBedrock

BOUND, FREE = "claude-opus-5-5", "claude-opus-5"
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Thinking, WORDS), st.just(Redacted()), st.builds(Text, WORDS), st.builds(ToolCall, st.sampled_from(["look", "count"]))
)
ANSWERS = st.lists(st.tuples(st.sampled_from([BOUND, FREE]), st.lists(PARTS, max_size=6).map(lambda parts: Answer(tuple(parts)))), max_size=7)


@dataclass
class Anthropic:
    """A client of the Messages endpoint that keeps what came, and by whom."""

    model_names: ClassVar[dict[str, str]] = {BOUND: BOUND, FREE: FREE}
    fake: FakeAnthropic = field(default_factory=FakeAnthropic)

    def text(self, words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    def result(self, block: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": "tool_result", "tool_use_id": block["id"], "content": "7"} if block["type"] == "tool_use" else None

    def thinking(self, block: dict[str, Any]) -> bool:
        return "thinking" in block["type"]

    def spoiled(self, block: dict[str, Any]) -> dict[str, Any]:
        key = "signature" if "signature" in block else "data"
        return {**block, key: block[key][:-9] + "AAAAAAAA="}

    def body(self, model: str, messages: list[Any]) -> dict[str, Any]:
        tools = [{"name": "look", "input_schema": {"type": "object"}}]
        return {"model": model, "max_tokens": 100, "messages": messages, "tools": tools}

    def found(self, model: str, messages: list[Any]) -> list[str]:
        return [breach.message for breach in self.fake.judge(self.body(model, messages))[0]]

    def content(self, model: str, messages: list[Any]) -> list[dict[str, Any]]:
        body = self.body(model, messages)
        self.fake.served.append(body)
        content: list[dict[str, Any]] = json.loads(self.fake.written(body, streams=False))["content"]
        return content


@dataclass
class Bedrock:
    """The same for the Converse endpoint."""

    model_names: ClassVar[dict[str, str]] = {BOUND: "us.anthropic.claude-opus-5-5", FREE: "anthropic.claude-opus-5-v1:0"}
    fake: FakeBedrock = field(default_factory=FakeBedrock)

    def text(self, words: str) -> dict[str, Any]:
        return {"text": words}

    def result(self, block: dict[str, Any]) -> dict[str, Any] | None:
        call = block.get("toolUse")
        return {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "7"}], "status": "success"}} if call else None

    def thinking(self, block: dict[str, Any]) -> bool:
        return "reasoningContent" in block

    def spoiled(self, block: dict[str, Any]) -> dict[str, Any]:
        inner = block["reasoningContent"]
        if "redactedContent" in inner:
            return {"reasoningContent": {"redactedContent": "bWFkZSB1cA=="}}
        return {"reasoningContent": {"reasoningText": {**inner["reasoningText"], "text": inner["reasoningText"]["text"] + "!"}}}

    def body(self, messages: list[Any]) -> dict[str, Any]:
        return {"messages": messages, "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}}

    def found(self, model: str, messages: list[Any]) -> list[str]:
        return [breach.message for breach in self.fake.judge(self.body(messages), model)]

    def content(self, model: str, messages: list[Any]) -> list[dict[str, Any]]:
        body = self.body(messages)
        self.fake.served.append(body)
        content: list[dict[str, Any]] = json.loads(self.fake.written(body, model, streams=False))["output"]["message"]["content"]
        return content


class Talk:
    """A conversation with answers of several models. `said`: role, who said it, blocks."""

    def __init__(self, kind: Callable[[], Any]) -> None:
        self.client = kind()
        self.said: list[tuple[str, str, list[Any]]] = [("user", "", [self.client.text("How many?")])]

    def messages(self, model: str, change: Callable[[Any], Any] = lambda block: block) -> list[dict[str, Any]]:
        """What the model is sent: all that was said, but thinking only if it is its own."""
        kept = []
        for role, by, blocks in self.said:
            own = [change(block) for block in blocks if by == model or not self.client.thinking(block)]
            kept.append({"role": role, "content": own or [self.client.text(".")]})
        return kept

    def step(self, model: str, answer: Answer) -> None:
        self.client.fake.answers = [answer]
        messages = self.messages(model)
        assert self.client.found(model, messages) == []
        content = [block for block in self.client.content(model, messages) if block.get("text", "x").strip()]
        self.said.append(("assistant", model, content))
        results = [result for block in content if (result := self.client.result(block))]
        self.said.append(("user", "", results or [self.client.text("And now?")]))


kinds = pytest.mark.parametrize("kind", [Anthropic, Bedrock])


@kinds
@given(ANSWERS)
def test_own_blocks_as_they_came_are_served(kind: Callable[[], Any], answers: list[tuple[str, Answer]]):
    talk = Talk(kind)
    for model, answer in answers:
        talk.step(talk.client.model_names[model], answer)
    for model in talk.client.model_names.values():
        assert talk.client.found(model, talk.messages(model)) == []


@kinds
@given(ANSWERS)
def test_changed_blocks_are_refused(kind: Callable[[], Any], answers: list[tuple[str, Answer]]):
    talk = Talk(kind)
    for model, answer in answers:
        talk.step(talk.client.model_names[model], answer)
    for model in talk.client.model_names.values():
        messages = talk.messages(model, lambda block: talk.client.spoiled(block) if talk.client.thinking(block) else block)
        assert bool(talk.client.found(model, messages)) == any(talk.client.thinking(block) for each in messages for block in each["content"])
        own = [talk.client.thinking(block) for each in talk.messages(model)[1:] for block in each["content"]]
        opened = [{"role": "user", "content": [talk.client.text("How many then?")]}, *talk.messages(model)[1:]]
        assert bool(talk.client.found(model, opened)) == (any(own) and model == talk.client.model_names[BOUND])
