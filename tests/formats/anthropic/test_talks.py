"""Whole talks with an endpoint that keeps a book of its signatures: whatever is said, by whatever model, no body is refused."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.context.passes.binding import bound_prefix
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, ToolCallStarted
from app.entries.messages import Answer, Status
from app.entries.parts import Reasoning, ToolCall
from app.formats.anthropic.read_stream import MessagesStreamReader
from app.formats.anthropic.rules import DIALECT, VERSION
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import write_request
from app.models.resolve import ModelChoice
from tests.fakes import answers as fake_answers
from tests.fakes.anthropic_messages import FakeAnthropic
from tests.fakes.anthropic_rules import NEW as FAKE_VERSION
from tests.formats.anthropic.requests import BOUND, LIMITS, NEW, OLD
from tests.strategies import AGENTS, Ledger, resolved, tokens

MODELS = (OLD, NEW, BOUND, "claude-sonnet-5-5", "claude-sonnet-4-6")
WORDS = st.sampled_from(["Hm.", " ", "", "done \n", "é🌍"])
PARTS: st.SearchStrategy[fake_answers.Part] = st.one_of(
    st.builds(fake_answers.Thinking, WORDS),
    st.just(fake_answers.Redacted()),
    st.builds(fake_answers.Text, WORDS),
    st.builds(fake_answers.ToolCall, st.sampled_from(["lookup", "gone"]), st.sampled_from(["", "{}", '{"b": 1e2, "a": [1.0]}'])),
)
CUT = st.sampled_from([(), (fake_answers.ToolCall("lookup", "{cut"),), (fake_answers.ToolCall("lookup", "[1]"),)])
"""A call whose arguments are no object is the last that is said: a cap cut it."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(MODELS),
        st.sampled_from([None, "none", "low", "high"]),
        st.builds(lambda parts, cut: fake_answers.Answer((*parts, *cut)), st.lists(PARTS, max_size=4), CUT),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


class Talk:
    """A ledger, and the endpoint that its calls go to."""

    def __init__(self) -> None:
        self.fake = FakeAnthropic()
        self.ledger = Ledger()
        self.ledger.user("How many?")
        self.names = CallNames("mcl_x")
        self.sent = 0

    def compiled(self, model: str, effort: str | None) -> Compiled:
        target = resolved(ModelChoice("anthropic", model, {"reasoning": {"effort": effort}}), LIMITS, DIALECT)
        return compile_context(self.ledger.sources(AGENTS[1], target, running_turn=1), tokens)

    def body(self, compiled: Compiled) -> dict[str, Any]:
        """The body, which nobody refuses."""
        found: dict[str, Any] = json.loads(write_request(compiled.request, {}).body)
        assert not validate(found, compiled.request.target.rules)
        assert [breach.message for breach in self.fake.judge(found)[0]] == []
        return found

    def step(self, model: str, effort: str | None, answer: fake_answers.Answer, failed: bool) -> None:
        """One call, its answer, and what follows: results of its calls, or the next input."""
        compiled = self.compiled(model, effort)
        body = self.body(compiled)
        self.fake.answers = [answer]
        self.fake.served.append(body)
        reader = MessagesStreamReader(str(compiled.request.target.producer._replace(prefix=bound_prefix(compiled.request))))
        stream, fold = self.fake.written(body), AnswerFold()
        for each in [*(delta for at in range(0, len(stream), 70) for delta in reader.feed(stream[at : at + 70])), *reader.end()]:
            fold.add(self.names.name(each) if isinstance(each, ToolCallStarted) else each)
        assert fold.finished is not None
        said = Answer(fold.parts(), Status.COMPLETED, model, fold.finished.stop_reason)
        if said.parts:
            self.ledger.add("assistant_message", said)
        calls = [part for part in said.parts if isinstance(part, ToolCall)]
        for called in calls:
            self.ledger.result(called.tool_call_id, "" if failed else "7")
        if not calls or failed:
            self.ledger.user("And now?")


@pytest.mark.req("X-20", "X-23")
@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_no_body_of_any_talk_is_refused(steps: list[tuple[str, str | None, fake_answers.Answer, bool]]):
    talk = Talk()
    for step in steps:
        talk.step(*step)
    for model in MODELS:
        talk.body(talk.compiled(model, None))


@pytest.mark.req("X-23")
@pytest.mark.parametrize("model", [OLD, NEW, BOUND])
def test_a_model_gets_its_own_signed_blocks_back_after_another_one_spoke(model: str):
    talk = Talk()
    thinks = fake_answers.Answer((fake_answers.Thinking("Hm."), fake_answers.Redacted(), fake_answers.Text("Look."), fake_answers.ToolCall("lookup")))
    talk.step(model, "low", thinks, failed=False)
    own = [part.opaque for part in talk.ledger.messages[1].body.parts if isinstance(part, Reasoning)]
    assert len(own) == 2
    assert blocks(talk.body(talk.compiled(model, "low"))) == own
    talk.step("claude-sonnet-4-6", "low", fake_answers.Answer((fake_answers.Thinking("Other."), fake_answers.Text("Seven."))), failed=False)
    assert blocks(talk.body(talk.compiled(model, "low"))) == own
    assert own[0] not in blocks(talk.body(talk.compiled("claude-sonnet-4-6", "low")))


def blocks(body: dict[str, Any]) -> list[str]:
    """The blocks of thinking of a body, as JSON."""
    found = [block for row in body["messages"] for block in row["content"] if "thinking" in block["type"]]
    return [json.dumps(block, separators=(",", ":"), ensure_ascii=False) for block in found]


def test_the_endpoint_is_of_the_version_that_is_asked_for():
    assert VERSION == FAKE_VERSION
