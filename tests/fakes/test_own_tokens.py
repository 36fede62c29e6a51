"""Laws of the books: whoever sends each model its own tokens as they came is served, whatever was said; who changes one is refused."""

import base64
import json
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.answers import Answer, Part, Redacted, Text, Thinking, ToolCall
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai_responses import FakeOpenAIResponses

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Thinking, WORDS), st.just(Redacted()), st.builds(Text, WORDS), st.builds(ToolCall, st.sampled_from(["look", "count"]))
)
ANSWERS = st.lists(st.tuples(st.booleans(), st.lists(PARTS, max_size=6).map(lambda parts: Answer(tuple(parts)))), max_size=7)
STAND_IN = base64.b64encode(b"skip_thought_signature_validator").decode()


class Responses:
    """A client of the Responses endpoint: it keeps the items as they came, and gives another model what is not opaque, without ids."""

    models: ClassVar[tuple[str, str]] = ("gpt-5.5", "any")

    def __init__(self) -> None:
        self.fake = FakeOpenAIResponses()
        self.said: list[tuple[str, Any]] = [("", {"role": "user", "content": "How many?"})]

    def body(self, model: str, change: Callable[[str], str] = str) -> dict[str, Any]:
        items = []
        for by, item in self.said:
            if by in ("", model):
                token = {"encrypted_content": change(item["encrypted_content"])} if item.get("type") == "reasoning" else {}
                items.append({**item, **token})
            elif item["type"] != "reasoning":
                items.append({key: value for key, value in item.items() if key != "id"})
        return {"model": model, "store": False, "input": items}

    def found(self, model: str, change: Callable[[str], str] = str) -> list[str]:
        return [breach.message for breach in self.fake.judge(self.body(model, change))]

    def step(self, model: str, answer: Answer) -> None:
        self.fake.answers = [answer]
        self.fake.served.append(self.body(model))
        output = json.loads(self.fake.written(self.fake.served[-1]))["output"]
        while output and output[-1]["type"] == "reasoning":
            output.pop()  # what led to nothing cannot go back
        self.said += [(model, item) for item in output]
        called = [item["call_id"] for item in output if item["type"] == "function_call"]
        self.said += [("", {"type": "function_call_output", "call_id": call_id, "output": "7"}) for call_id in called]
        self.said += [] if called else [("", {"role": "user", "content": "And now?"})]

    def holds_tokens(self, model: str) -> bool:
        return any(by == model and item["type"] == "reasoning" for by, item in self.said)


class Gemini:
    """A client of Gemini that keeps the parts as they came, and takes the signatures off those that go to another model."""

    models: ClassVar[tuple[str, str]] = ("gemini-3-flash-preview", "gemini-2.5-flash")

    def __init__(self) -> None:
        self.fake = FakeGemini()
        self.said: list[tuple[str, Any]] = [("", {"role": "user", "parts": [{"text": "How many?"}]})]

    def part(self, part: dict[str, Any], own: bool, change: Callable[[str], str]) -> dict[str, Any]:
        if own and "thoughtSignature" in part:
            return {**part, "thoughtSignature": change(part["thoughtSignature"])}
        bare: dict[str, Any] = {key: value for key, value in part.items() if key != "thoughtSignature"}
        return {**bare, "thoughtSignature": STAND_IN} if "functionCall" in part and not own else bare

    def body(self, model: str, change: Callable[[str], str] = str) -> dict[str, Any]:
        return {
            "contents": [{**content, "parts": [self.part(part, by in ("", model), change) for part in content["parts"]]} for by, content in self.said]
        }

    def found(self, model: str, change: Callable[[str], str] = str) -> list[str]:
        return [breach.message for breach in self.fake.judge(self.body(model, change), model)]

    def step(self, model: str, answer: Answer) -> None:
        self.fake.answers = [answer]
        self.fake.served.append(self.body(model))
        told = self.fake.written(self.fake.served[-1], model).decode()
        chunks = [json.loads(line.removeprefix("data: ")) for line in told.split("\r\n") if line]
        parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
        self.said.append((model, {"role": "model", "parts": parts}))
        called = [part["functionCall"] for part in parts if "functionCall" in part]
        given: list[dict[str, Any]] = [
            {"functionResponse": {"response": {"output": "7"}, **{key: call[key] for key in ("id", "name") if key in call}}} for call in called
        ]
        self.said.append(("", {"role": "user", "parts": given or [{"text": "And now?"}]}))

    def holds_tokens(self, model: str) -> bool:
        return any(by == model and "thoughtSignature" in part for by, content in self.said for part in content["parts"])


kinds = pytest.mark.parametrize("kind", [Responses, Gemini])


@kinds
@given(ANSWERS)
def test_own_tokens_as_they_came_are_served_and_changed_ones_are_refused(kind: type[Any], answers: list[tuple[bool, Answer]]):
    talk = kind()
    for other, answer in answers:
        model = talk.models[other]
        assert talk.found(model) == []
        talk.step(model, answer)
    for model in talk.models:
        assert talk.found(model) == []
        assert bool(talk.found(model, lambda token: token[:40] + "AAAA" + token[44:])) == talk.holds_tokens(model)
