"""Whole conversations with the strict fake: no body is refused, whatever it answered, and its own items come back as it made them."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.sources import Sources
from app.entries.deltas import CallNames, Finished, ToolCallStarted
from app.entries.messages import Status
from app.entries.parts import ToolCall
from app.formats.openai_responses.counting import count_body
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from tests.fakes import answers as fakes
from tests.fakes.openai_responses import FakeOpenAIResponses
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import target
from tests.formats.openai_responses.streams import fold, read
from tests.strategies import Ledger, agent, tokens

TOOLS = [{"name": "lookup", "description": "Finds a record."}, {"name": "gone"}]
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
parts = st.one_of(
    st.builds(fakes.Text, texts),
    st.builds(fakes.Thinking, texts),
    st.just(fakes.Redacted()),
    st.builds(fakes.ToolCall, st.sampled_from(["lookup", "gone"]), st.sampled_from(["{}", '{"a": 1}', "not json"])),
)
replies = st.builds(
    lambda parts, stop: fakes.Answer(tuple(parts), stop),
    st.lists(parts, min_size=1, max_size=5),
    st.sampled_from([None, None, "output_cap", "refused"]),
)


class Talk:
    """A ledger, and the fake at the other end of it."""

    def __init__(self, name: str) -> None:
        self.fake = FakeOpenAIResponses()
        self.ledger = Ledger()
        self.target = target(name)

    def sources(self) -> Sources:
        return self.ledger.sources(agent(context=[{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}], tools=TOOLS), self.target)

    def body(self) -> dict[str, Any]:
        """The next request, by all judges."""
        found = write_request(compile_context(self.sources(), tokens).request, {})
        body: dict[str, Any] = orjson.loads(found.body)
        assert self.fake.judge(body) == []
        assert self.fake.judge(orjson.loads(count_body("gpt-5", found.document)), counting=True) == []
        assert validate(body, self.target.rules) == []
        assert not objections(found.body)
        return body

    def answer(self, reply: fakes.Answer, cut: float | None = None) -> None:
        """One call and what comes back of it; `cut`: the part of the stream after which the connection breaks."""
        self.fake.answers = [reply]
        self.fake.served.append(self.body())
        stream = self.fake.written(self.fake.served[-1])
        names = CallNames(f"call_{len(self.fake.served)}", {f"c{len(self.fake.served)}"})
        pieces = [stream if cut is None else stream[: int(len(stream) * cut)]]
        deltas = [names.name(delta) if isinstance(delta, ToolCallStarted) else delta for delta in read(pieces, str(self.target.producer))]
        whole = isinstance(deltas[-1], Finished)
        said = fold(deltas).parts()
        if not said:
            return
        self.ledger.answer(*said, status=Status.COMPLETED if whole else Status.FAILED)
        for part in said if whole else ():
            if isinstance(part, ToolCall):
                self.ledger.result(part.tool_call_id, "r")


@pytest.mark.req("X-23", "S0-25")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(replies, st.none() | st.floats(0, 0.99), st.booleans()), min_size=1, max_size=4), st.sampled_from(["gpt-5.4", "gpt-6-astra"])
)
def test_no_request_of_a_conversation_is_refused(steps: list[tuple[fakes.Answer, float | None, bool]], name: str):
    talk = Talk(name)
    talk.ledger.user("How many?")
    for reply, cut, asks in steps:
        talk.answer(reply, cut)
        if asks:
            talk.ledger.user("And now?")
    talk.body()


@pytest.mark.req("X-23")
def test_a_switch_to_another_model_and_back_returns_its_own_items_to_each():
    talk = Talk("gpt-5.4")
    talk.ledger.user("How many?")
    talk.answer(fakes.Answer((fakes.Thinking("Hm."), fakes.Text("One."), fakes.ToolCall("lookup"))))
    before = talk.body()
    talk.target = target("gpt-6-astra")
    middle = talk.body()
    assert [item.get("type") for item in middle["input"]] == [None, None, "function_call", "function_call_output"]
    assert not [item for item in middle["input"] if "id" in item]
    talk.answer(fakes.Answer((fakes.Redacted(), fakes.Text("Two."))))
    talk.target = target("gpt-5.4")
    after = talk.body()
    assert after["input"][: len(before["input"])] == before["input"], "untouched"
    assert after["input"][-1] == {"role": "assistant", "content": "Two."}
