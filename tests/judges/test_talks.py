"""Laws of whole conversations, live with all providers: whatever was said, by whomever, in any order of models, each call is served.

A provider's own blocks come back to it as it minted them, since its book refuses anything else; and nobody else's do.
"""

import json
from collections import Counter

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from app.entries.messages import Message, ToolResult
from app.entries.parts import Reasoning, Text, ToolCall
from app.models.efforts import EFFORTS
from tests.fakes import answers
from tests.judges.examples import law
from tests.judges.ledgers import BLOBS, inputs, outputs, revisions
from tests.judges.minted import thinks
from tests.judges.talks import Talk
from tests.judges.targets import MODELS, target_of

pytestmark = pytest.mark.timeout(900)

ROWS = [(dialect, model) for dialect, models in MODELS.items() for model in models]
SIGNING = [row for row in ROWS if row[0] in ("anthropic-messages", "gemini") or "claude" in row[1] or row[1] in ("gpt-5.6-sol", "o3")]
"""Those that give out blocks to be sent back."""
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20) | st.sampled_from([" ", "a\u2028b"])
said: st.SearchStrategy[answers.Part] = st.one_of(
    st.builds(answers.Thinking, words),
    st.just(answers.Redacted()),
    st.builds(answers.Text, words),
    st.builds(answers.ToolCall, st.sampled_from(["lookup", "gone", "other"]), st.sampled_from(["{}", '{"a":[1,{"b":null}]}', ""])),
)
cuts = st.lists(st.builds(answers.ToolCall, st.just("lookup"), st.just('{"cut')), max_size=1)
"""A call whose arguments are no object is the last thing of its answer: there the model was cut."""
steps = st.lists(
    st.tuples(
        st.sampled_from(ROWS),
        st.none() | st.sampled_from(EFFORTS),
        st.builds(lambda parts, cut: [*parts, *cut], st.lists(said, max_size=5), cuts),
        st.lists(inputs, max_size=2),
        st.lists(st.none() | outputs, min_size=5, max_size=5),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.req("X-20", "X-21", "X-23", "S2-25")
@law(part=4)
@given(st.sampled_from([1, 4, 5, 6]), steps, st.lists(st.sampled_from(ROWS), min_size=1, max_size=2))
def test_every_call_of_any_conversation_is_served(revision, given_steps, few):
    """`few`: half of the conversations come back to the same models again and again, so that their blocks matter."""
    talk = Talk(revisions()[revision], blobs=BLOBS)
    talk.ledger.user("Well?", turn=1)
    for number, (row, effort, parts, asked, results) in enumerate(given_steps):
        dialect, model = few[number % len(few)] if len(few) == 2 else row
        for each in filter(None, asked):
            talk.ledger.add("user_message", Message(each), 1)
        silent = [part for part in parts if not isinstance(part, answers.Thinking | answers.Redacted)]
        says = (parts if thinks(dialect, model) else silent) or [answers.Text("So be it.")]
        target = target_of(dialect, model, reasoning=None if effort is None else {"effort": effort})
        note((dialect, model, effort, [len(each) for each in asked], says, [result is not None for result in results]))
        answer = talk.call(target, answers.Answer(tuple(says)))
        for part, result in zip([part for part in answer.parts if isinstance(part, ToolCall)], results, strict=False):
            if result is not None:
                talk.ledger.add("tool_result", ToolResult(part.tool_call_id, result, part.name), 1)


@pytest.mark.req("X-20", "X-23", "S2-25")
@pytest.mark.parametrize(("dialect", "model"), SIGNING)
def test_blocks_go_back_to_their_producer_alone_and_as_they_came(dialect: str, model: str):
    """Ten steps of a model among others: the blocks of all of its answers stand in its last body as they were minted, and in no other's."""
    talk = Talk(revisions()[1])
    own = target_of(dialect, model, reasoning={"effort": "high"})
    think = answers.Thinking("Hm.")
    for number in range(10):
        talk.ledger.user(f"Question {number}", turn=1)
        other = target_of(*ROWS[number])
        talk.call(own, answers.Answer((think, answers.ToolCall("lookup", '{"n":1}'), answers.ToolCall("gone"))))
        for part in talk.ledger.messages[-1].body.parts:
            if isinstance(part, ToolCall):
                talk.ledger.result(part.tool_call_id, f"Result {number}", turn=1)
        talk.call(own, answers.Answer((think, answers.Text(f"Answer {number}"))))
        talk.ledger.user("And you?", turn=1)
        talk.call(other, answers.Answer((answers.Text("I agree."),)))
    minted = blocks(talk, dialect, model)
    body = talk.compiled(own)[1].body.decode()
    assert Counter(token in body for token in minted) == Counter([True] * len(minted)), "each stands there, whole"
    assert len(minted) >= 10
    for row in ROWS:
        if row != (dialect, model):
            foreign = talk.compiled(target_of(*row))[1].body.decode()
            assert not [token for token in minted if token in foreign], row


def blocks(talk: Talk, dialect: str, model: str) -> list[str]:
    """The tokens that the model's answers were given: signatures, sealed thoughts, encrypted content."""
    found = []
    for message in talk.ledger.messages:
        for part in message.body.parts:
            opaque = getattr(part, "opaque", None)
            if isinstance(part, Reasoning | Text | ToolCall) and opaque and (part.producer or "").startswith(f"{dialect}/{dialect}/{model}"):
                found += tokens_in(json.loads(opaque))
    return found


def tokens_in(value: object) -> list[str]:
    """Every long text without blanks."""
    if isinstance(value, dict):
        return [token for item in value.values() for token in tokens_in(item)]
    if isinstance(value, list):
        return [token for item in value for token in tokens_in(item)]
    return [value] if isinstance(value, str) and len(value) > 60 and " " not in value else []
