"""Whatever a ledger holds, the Messages body of it is valid by three judges, every part of it was sent or is told of, and it is found again."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.passes.adjacency import CLOSING_TEXT
from app.context.sources import Sources
from app.entries import lossless
from app.entries.messages import Answer, Status
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.anthropic.rules import DIALECT
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import UNSAID, write_request
from app.models.resolve import ModelChoice
from tests.fakes.anthropic_bodies import PNG
from tests.fakes.anthropic_rules import breaches
from tests.formats.anthropic.judge import objections
from tests.formats.anthropic.requests import BOUND, LIMITS, NEW, OLD
from tests.formats.pointing import at
from tests.strategies import AGENTS, Ledger, ephemerals, flags, ledgers, overrides, resolved, said, texts, tokens

MODELS = (OLD, NEW, BOUND, "claude-sonnet-4-6", "claude-sonnet-5-5", "claude-3-5-haiku-20241022", "claude-opus-6")
BLOBS = {"sha256:" + "a" * 64: base64.b64decode(PNG)}
SEARCH = '{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"b":1e2}}'
SEARCHED = '{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}'

efforts = st.sampled_from([None, "none", "minimal", "low", "high", "max"])
caps = st.sampled_from([None, 1, 1_024, 1_025, 5_000])
models = st.sampled_from(MODELS)


@st.composite
def own_answers(draw: st.DrawFn, model: str) -> Answer:
    """An answer as a Claude model gives one: signed thinking, searches with their results, calls with extras, all of this very target."""
    producer = f"{DIALECT}/anthropic/{draw(st.sampled_from([model, model, model, 'claude-other']))}"

    def signed(text: str) -> Reasoning:
        return Reasoning(text, lossless.dumps({"type": "thinking", "thinking": text, "signature": "c2ln"}), producer)

    place = {"document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 1}
    cited = {"type": "text", "text": "cited", "citations": [{"type": "char_location", "cited_text": "x", **place}]}
    pieces = st.one_of(
        st.sampled_from(["", " ", "Hm. ", "é\u2028 \x00"]).map(signed).map(lambda part: (part,)),
        st.just((Reasoning("", '{"type":"redacted_thinking","data":"ZGF0YQ=="}', producer),)),
        st.just((Text("cited", None, lossless.dumps(cited), producer),)),
        st.just((Opaque(DIALECT, producer, SEARCH), Opaque(DIALECT, producer, SEARCHED))),
        st.builds(
            lambda id: (ToolCall(id, "lookup", '{"b":1e2,"a":1}', None, '{"caller":{"type":"direct"}}', None, producer),), st.sampled_from("ab")
        ),
        said.map(lambda part: (part,)),
    )
    parts = [part for piece in draw(st.lists(pieces, max_size=4)) for part in piece]
    return Answer(tuple(parts), Status.COMPLETED, model)


@st.composite
def claude_sources(draw: st.DrawFn) -> Sources:
    """Anything that a compile may be given for a Claude model."""
    model = draw(models)
    ledger: Ledger = draw(ledgers(acts_max=6))
    for _ in range(draw(st.integers(0, 4))):
        answer = draw(own_answers(model))
        ledger.add("assistant_message", answer, **draw(flags))
        for called in [part for part in answer.parts if isinstance(part, ToolCall)]:
            if draw(st.sampled_from([True, True, True, False])):
                ledger.result(called.tool_call_id, draw(texts))
        if draw(st.booleans()):
            ledger.user(draw(texts))
    params: dict[str, Any] = {"reasoning": {"effort": draw(efforts)}, "max_output_tokens": draw(caps)}
    return ledger.sources(
        draw(st.sampled_from(AGENTS)),
        resolved(ModelChoice("anthropic", model, params), LIMITS, DIALECT),
        running_turn=draw(st.none() | st.integers(1, 4)),
        ephemeral=draw(ephemerals),
        overrides=draw(overrides),
    )


@pytest.mark.req("S0-28", "S0-30", "X-22", "X-64", "T-19")
@settings(max_examples=400, deadline=None)
@given(claude_sources())
def test_whatever_the_ledger_holds_the_body_is_valid_and_every_message_of_it_has_an_origin(given_sources: Sources):
    compiled = compile_context(given_sources, tokens)
    found = write_request(compiled.request, BLOBS)
    body = json.loads(found.body.decode("utf-8"))
    assert write_request(compiled.request, BLOBS).body == found.body
    rules = given_sources.target.rules
    for judged in (rules, replace(rules, call_id_chars_max=1, cache_breakpoints=1, user_last=True)):  # the second one finds violations
        assert validate(found.document, judged) == validate(body, judged), "the tree is judged in place of the body"
    if body["messages"]:
        assert not validate(body, rules)
        assert not objections(found.body)
        assert not breaches(body)
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    last = ("", -1)
    for index, sent in enumerate(compiled.request.messages):
        for number, part in enumerate(sent.parts):
            assert (index, number) in told, "sent, or listed as lost"
            for pointer in (each for each in found.pointers if (each.source, each.part) == (index, number)):
                place = at(body, pointer.pointer)
                if isinstance(part, Text) and part.text.isascii():
                    final = pointer.pointer.startswith(f"/messages/{len(body['messages']) - 1}/") and sent.role == "assistant"
                    assert (place["text"] if isinstance(place, dict) else place).rstrip() == part.text.rstrip() or not final
                    assert final or (place["text"] if isinstance(place, dict) else place) == part.text
                elif isinstance(part, Reasoning):
                    assert lossless.dumps(unmarked(place)) == part.opaque
                _, message, _, block, *_ = pointer.pointer.split("/")[1:]
                assert (message, int(block)) > last or message != last[0], "in the order of the list"
                last = (message, int(block) - 1)


def unmarked(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


@pytest.mark.req("X-23", "X-24")
@settings(max_examples=150, deadline=None)
@given(claude_sources(), st.sampled_from(["a", "b"]))
def test_what_comes_later_changes_nothing_of_what_was_sent_but_marks(given_sources: Sources, text: str):
    """The prompt of the next call begins with this one's, but for what only the end of a list has: words that close it, blanks, thinking."""
    given_sources = replace(given_sources, agent=AGENTS[1])  # no text of its own behind the list
    before = write_request(compile_context(given_sources, tokens).request, BLOBS)
    ledger = Ledger(list(given_sources.messages), given_sources.head_seq)
    ledger.answer(text)
    ledger.user(text)
    longer = replace(given_sources, messages=tuple(ledger.messages), head_seq=ledger.seq, history_message_count=len(ledger.messages))
    if given_sources.ephemeral or (before.document["messages"][-1:] and before.document["messages"][-1]["role"] == "assistant"):
        return
    after = write_request(compile_context(longer, tokens).request, BLOBS)
    mine = [unmarked(block) for row in before.document["messages"] for block in row["content"]]
    theirs = [unmarked(block) for row in after.document["messages"] for block in row["content"]]
    while mine and mine[-1].get("text") in (CLOSING_TEXT, UNSAID):
        mine.pop()
    assert theirs[: len(mine)] == mine
