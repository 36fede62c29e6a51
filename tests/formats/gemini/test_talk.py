"""Whole talks with the strict fake, which knows its signatures again: each answer is read, kept, and sent back with the next request."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, ToolCallStarted
from app.entries.messages import Status
from app.entries.parts import ToolCall
from app.formats.gemini.counting import COUNTING
from app.formats.gemini.read_stream import GeminiStreamReader
from app.formats.gemini.write_request import write_request
from app.models.resolve import Target
from tests.fakes.answers import Answer, Redacted, Text, Thinking
from tests.fakes.answers import ToolCall as Called
from tests.fakes.gemini import FakeGemini
from tests.formats.gemini.requests import target
from tests.strategies import SYSTEM, Ledger, agent, tokens

MODELS = ("gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3-pro-preview", "gemini-4-argon")
LOOKUP = {"name": "lookup", "description": "Finds a record.", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}
AGENT = agent(context=[SYSTEM, {"renderer": "history"}], tools=[LOOKUP])


class Talk:
    """One session with a fake."""

    def __init__(self, late: bool = True) -> None:
        self.fake = FakeGemini(answers=[Answer(())])
        self.fake.late_signatures = late
        self.ledger = Ledger()
        self.names = CallNames("call_1")

    def step(self, chosen: Target, answer: Answer) -> list[ToolCall]:
        """The model's answer to all that was said; the calls that it makes are answered. Returns them."""
        compiled = compile_context(self.ledger.sources(AGENT, chosen), tokens)
        written = write_request(compiled.request, {})
        body, name = json.loads(written.body), chosen.model.name
        assert self.fake.judge(body, name) == []
        assert self.fake.judge(json.loads(COUNTING.body(name, written.document)), name, counting=True) == []
        self.fake.served.append(body)
        self.fake.answers = [answer]
        reader, fold = GeminiStreamReader(str(chosen.producer)), AnswerFold()
        self.names.call_id = f"call_{len(self.fake.served)}"
        for delta in (*reader.feed(self.fake.written(body, name)), *reader.end()):
            fold.add(self.names.name(delta) if isinstance(delta, ToolCallStarted) else delta)
        assert fold.finished is not None
        found = fold.answer(Status.COMPLETED, name)
        if found.parts:
            self.ledger.add("assistant_message", found)
        calls = [part for part in found.parts if isinstance(part, ToolCall)]
        for call in reversed(calls):
            self.ledger.result(call.tool_call_id, f"result of {call.tool_call_id}")
        return calls


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
arguments = st.dictionaries(
    st.sampled_from(["n", "args", "id"]), texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=2
)
said = st.one_of(
    texts.map(Text),
    texts.map(Thinking),
    st.just(Redacted()),
    st.builds(Called, st.sampled_from(["lookup", "gone"]), arguments.map(json.dumps), st.sampled_from([None, None, "same"])),
)
answers = st.lists(said, max_size=4).map(tuple).filter(lambda parts: sum(getattr(part, "tool_call_id", None) == "same" for part in parts) < 2)


@pytest.mark.req("X-20", "X-23", "S0-28")
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(MODELS), answers.map(Answer), st.booleans()), min_size=1, max_size=6), st.booleans())
def test_no_step_of_a_talk_is_refused_whichever_model_takes_it(steps: list[tuple[str, Answer, bool]], late: bool):
    talk = Talk(late)
    talk.ledger.user("q")
    for name, answer, asked in steps:
        calls = talk.step(target(name, reasoning={"effort": "low"}), answer)
        if asked or not calls:
            talk.ledger.user("and then?")
    talk.step(target(steps[0][0]), Answer((Text("Done."),)))


def signed(body: Any) -> list[str]:
    return [part["thoughtSignature"] for content in body["contents"] for part in content["parts"] if "thoughtSignature" in part]


@pytest.mark.req("X-23")
def test_back_at_the_first_model_its_own_signatures_are_there_again():
    talk = Talk()
    first, second = target("gemini-3-flash-preview"), target("gemini-3-pro-preview")
    asks = Answer((Text("I look."), Called("lookup", '{"n": 1.50}'), Called("lookup")))
    talk.ledger.user("q")
    talk.step(first, asks)
    talk.step(second, asks)
    talk.step(first, Answer((Text("Seven."),)))
    one, other, back = talk.fake.served
    assert signed(one) == []
    assert signed(other) == ["skip_thought_signature_validator"]
    own, stand_in = signed(back)
    assert stand_in == "skip_thought_signature_validator"
    assert len(own) > 100
    assert [part.get("functionCall", {}).get("id") for part in back["contents"][1]["parts"]] == [None, "fake00011", "fake00012"]
    assert all("id" not in part["functionCall"] for part in other["contents"][1]["parts"] if "functionCall" in part)
