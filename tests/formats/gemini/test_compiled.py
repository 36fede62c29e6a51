"""Whatever a ledger holds, its Gemini body is valid by our rules, the SDK's types and the strict fake's rules, and tells of every part."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.sources import SourceMessage, Sources
from app.entries.messages import Answer
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall, with_block
from app.formats.gemini import FORMAT
from app.formats.gemini.rules import CANDIDATE, DIALECT
from app.formats.gemini.validate import validate
from app.formats.gemini.write_request import write_request
from app.formats.prefix import blocks
from tests.fakes.gemini_rules import breaches
from tests.formats.gemini.judge import objections
from tests.formats.gemini.requests import target
from tests.formats.pointing import at
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, sources, tokens

PNG = b"\x89PNG\r\n\x1a\n"
BLOBS = {"sha256:" + "a" * 64: PNG}
TARGETS = (
    target("gemini-2.5-flash", reasoning={"effort": "low"}),
    target("gemini-3-flash-preview", temperature=0.5),
    target("gemini-4-argon", reasoning={"effort": "max"}, max_output_tokens=9),
    target("gemini-3-pro-preview", {"blank_texts": False, "result_images": False, "images": False, "foreign_reasoning": "drop"}),
)


def given_back(draw: st.DrawFn, part: Part, position: int, producer: str) -> Part:
    """The part with what Gemini would have put beside it, if it was Gemini that said it."""
    signed = {"thoughtSignature": draw(st.sampled_from(["Zm9v", "a-_b"]))}
    match part:
        case Text():
            return with_block(part, json.dumps(signed), producer)
        case Reasoning():
            return with_block(part, json.dumps({"thought": True} | signed), producer)
        case ToolCall():
            beside = {"functionCall": {"id": f"x{position}"}} | (signed if draw(st.booleans()) else {})
            return with_block(part, json.dumps(beside), producer)
        case Opaque():
            return Opaque(draw(st.sampled_from([DIALECT, CANDIDATE])), producer, '{"executableCode": {"code": "1e2"}}')
        case _:
            return part


@st.composite
def of_gemini(draw: st.DrawFn) -> Sources:
    """Anything that a compile may be given, for a Gemini model, parts of which this or another one said."""
    found = draw(sources())
    chosen = draw(st.sampled_from(TARGETS))
    producer = draw(st.sampled_from([str(chosen.producer), "gemini/google/gemini-9-other"]))
    messages = []
    for message in found.messages:
        body = message.body
        if isinstance(body, Answer):
            parts = tuple(given_back(draw, part, index, producer) if draw(st.booleans()) else part for index, part in enumerate(body.parts))
            body = body._replace(parts=parts, model=draw(st.sampled_from([chosen.model.name, "other"])))
        messages.append(SourceMessage(message.entry, body))
    return replace(found, target=chosen, messages=tuple(messages))


@pytest.mark.req("S0-28", "S0-30", "S0-37", "S0-38", "X-64")
@settings(max_examples=500, deadline=None)
@given(of_gemini())
def test_whatever_the_ledger_holds_the_body_is_valid_and_every_part_of_it_is_told(given_sources: Sources):
    compiled = compile_context(given_sources, tokens)
    found = write_request(compiled.request, BLOBS)
    body = json.loads(found.body)
    rules = given_sources.target.rules
    assert write_request(compiled.request, BLOBS).body == found.body
    for judged in (rules, replace(rules, name_pattern="x", temperature=False)):  # the second one finds violations
        assert validate(found.document, judged) == validate(body, judged), "the tree is judged in place of the body"
    if body["contents"]:
        assert validate(body, rules) == []
        assert objections(found.body) == []
        assert breaches(body, given_sources.target.model.name) == []
    assert [pointer.source for pointer in found.pointers if pointer.part is None] == list(range(len(compiled.request.messages)))
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    for pointer in found.pointers:
        at(body, pointer.pointer)
    for index, sent in enumerate(compiled.request.messages):
        assert all((index, number) in told for number in range(len(sent.parts))), "sent, or listed as lost"


@pytest.mark.req("X-23", "S0-28")
@settings(max_examples=300, deadline=None)
@given(of_gemini())
def test_signatures_go_back_exactly_where_they_came_from(given_sources: Sources):
    compiled = compile_context(given_sources, tokens)
    body = json.loads(write_request(compiled.request, {}).body)
    sent = Counter(part.get("thoughtSignature") for content in body["contents"] for part in content["parts"])
    del sent[None], sent["skip_thought_signature_validator"]
    own = Counter[str]()
    for message in compiled.request.messages:
        for part in message.parts:
            opaque = getattr(part, "opaque", None)
            if opaque is not None and "thoughtSignature" in (block := json.loads(opaque)):
                own[block["thoughtSignature"]] += 1
    assert sent == own
    ids = [[part["functionCall"].get("id") for part in content["parts"] if "functionCall" in part] for content in body["contents"]]
    answers = [[part["functionResponse"].get("id") for part in content["parts"] if "functionResponse" in part] for content in body["contents"]]
    assert [one for one in ids if one] == [one for one in answers if one]


@pytest.mark.req("X-31")
def test_a_longer_session_extends_the_prompt_that_the_provider_saw_before():
    ledger = Ledger()
    told = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)
    ledger.user("one")
    before: list[tuple[str, str]] = []
    for step in range(4):
        ledger.answer(call(f"c{step}"), call(f"d{step}"))
        ledger.result(f"d{step}", "later call first")
        ledger.result(f"c{step}", "r")
        written = write_request(compile_context(ledger.sources(told, target()), tokens).request, {})
        prompt = list(blocks(written.document, FORMAT.prompt_order))
        assert prompt[: len(before)] == before
        assert len(prompt) > len(before)
        before = prompt


def test_what_an_imported_history_lacks_is_made_up_for_it():
    """A system text and a call alone: words open the list, calls of a turn that goes on are signed, results are in their order."""
    ledger = Ledger()
    ledger.answer(call("g1"), call("g2"))
    ledger.result("g2", "second")
    ledger.result("g1", "first")
    body = json.loads(
        write_request(compile_context(ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}]), target()), tokens).request, {}).body
    )
    opening, asked, results = body["contents"]
    assert opening["role"] == "user"
    assert opening["parts"][0]["text"].strip()
    assert [part.get("thoughtSignature") for part in asked["parts"]] == ["skip_thought_signature_validator", None]
    assert [part["functionResponse"]["response"]["output"] for part in results["parts"]] == ["first", "second"]
    assert body["systemInstruction"]["parts"][0]["text"] == SYSTEM["text"]
