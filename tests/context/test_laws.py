"""The laws of a compile, over any ledger: decided once, an origin each, same in same out, no half pair, nothing changed behind one's back."""

import copy
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.context.draft import EphemeralOrigin, History, NeutralMessage, Rendered, ToolRepair
from app.context.report import exceptions, manifest, source_map
from app.context.sources import Sources
from app.entries import lossless
from app.entries.messages import Answer, Message, Status
from app.entries.parts import Text, ToolCall
from tests.strategies import TARGETS, Ledger, bodies, flags, ledgers, sources, tokens

OUT_BEFORE_PASSES = frozenset({"window", "history", "finish"})
laws = settings(max_examples=1_000, deadline=None)


def compiled(given_sources: Sources) -> Compiled:
    return compile_context(given_sources, tokens)


@pytest.mark.req("X-64", "S2-05", "S2-24", "S2-26", "S2-29")
@laws
@given(sources())
def test_every_message_is_decided_once_and_every_sent_one_has_its_origin(given_sources: Sources):
    found = compiled(given_sources)
    rows = Counter(row.source["seq"] for row in found.decisions if row.source["kind"] == "entry")
    assert rows == Counter(message.entry.seq for message in given_sources.messages)
    included = {row.source["seq"] for row in found.decisions if row.source["kind"] == "entry" and row.disposition != "excluded"}
    by_seq = {message.entry.seq: message for message in given_sources.messages}
    sent = []
    for message in found.request.messages:
        if isinstance(message.origin, History):
            entry = by_seq[message.origin.seq].entry
            assert entry.message_index == message.origin.message_index
            assert not isinstance(by_seq[entry.seq].body, Answer) or entry.kind == "assistant_message"
            sent.append(entry.seq)
    ordered = sorted(sent) if given_sources.target.rules.results_in_call_order else sent
    assert ordered == sorted(included), "in the order of the ledger, each once, and exactly those that the manifest says"
    repairs = [row for row in found.decisions if row.source["kind"] == "tool_repair"]
    assert len(repairs) == sum(isinstance(message.origin, ToolRepair) for message in found.request.messages)
    ephemeral = [row for row in found.decisions if row.source["kind"] == "ephemeral"]
    assert len(ephemeral) == len(given_sources.ephemeral)
    numbers = [message.origin.index for message in found.request.messages if isinstance(message.origin, EphemeralOrigin)]
    assert numbers == [row.source["index"] for row in ephemeral if row.disposition != "excluded"]
    assert len(source_map(found)["sources"]) == len(found.request.messages)


@pytest.mark.req("X-64", "S2-09", "S2-29", "S0-07")
@laws
@given(sources())
def test_the_same_sources_give_the_same_outcome_and_are_not_changed(given_sources: Sources):
    before, spelled = replace(given_sources, messages=copy.deepcopy(given_sources.messages)), repr(given_sources)
    first, second = compiled(given_sources), compiled(before)
    assert first.request == second.request
    assert manifest(first) == manifest(second)
    assert (first.message_count, first.measured) == (second.message_count, second.measured)
    assert (first.awaiting, first.losses) == (second.awaiting, second.losses)
    assert given_sources.messages == before.messages
    assert repr(given_sources) == spelled


@pytest.mark.req("S0-28", "S0-22", "S1-23", "S4-30", "S3-14", "X-21")
@laws
@given(sources())
def test_no_call_and_no_result_stands_alone(given_sources: Sources):
    found = compiled(given_sources)
    rules = given_sources.target.rules
    seen: set[str] = set()
    open_ids: list[str] = []
    for message in found.request.messages:
        if message.role == "tool":
            assert message.tool_call_id in open_ids, "a result follows the answer that made its call"
            open_ids.remove(message.tool_call_id)
            continue
        assert not open_ids, "every call has its result before the next message"
        open_ids = [part.tool_call_id for part in message.parts if isinstance(part, ToolCall)]
        assert len(set(open_ids)) == len(open_ids)
        assert not seen.intersection(open_ids), "an id is borne by one call of the request"
        seen.update(open_ids)
        assert message.role == "assistant" or not open_ids
        assert message.parts or rules.blank_texts
    assert not open_ids
    for tool_call_id in seen:
        assert re.fullmatch(rules.call_id_pattern, tool_call_id)
        assert len(tool_call_id) <= rules.call_id_chars_max


def settled(messages: tuple[NeutralMessage, ...]) -> list[NeutralMessage]:
    """The list without closing words and late instructions, and up to the newest answer where its results are still coming."""
    found = list(messages)
    while found and isinstance(found[-1].origin, Rendered) and found[-1].origin.seq is None:
        found.pop()
    answers = [position for position, message in enumerate(found) if message.role == "assistant"]
    if answers and any(isinstance(message.origin, ToolRepair) for message in found[answers[-1] :]):
        return found[: answers[-1] + 1]
    return found


@pytest.mark.req("S0-04", "S2-03", "S2-16")
@laws
@given(ledgers(), st.lists(st.tuples(bodies, flags), min_size=1, max_size=4), st.sampled_from(TARGETS))
def test_what_is_appended_never_changes_what_was_sent_before(ledger: Ledger, more, target):
    before = settled(compiled(ledger.sources(target=target)).request.messages)
    for (kind, body), given_flags in more:
        ledger.add(kind, body, **given_flags)
    after = compiled(ledger.sources(target=target)).request.messages
    assert list(after[: len(before)]) == before


@pytest.mark.req("T-02", "T-03", "S4-18", "S4-19", "S2-17")
@laws
@given(sources())
def test_message_count_counts_the_parts_of_the_render(given_sources: Sources):
    found = compiled(given_sources)
    dropped = {
        row.source["seq"]
        for row in found.decisions
        if row.source["kind"] == "entry" and row.disposition == "excluded" and row.by in OUT_BEFORE_PASSES
    }
    partial = given_sources.agent.partial_answers == "text"
    expected = len(found.request.system) + sum(message.origin == Rendered("late") for message in found.request.messages)
    for message in given_sources.messages:
        if message.entry.seq in dropped:
            continue
        parts = message.body.parts
        if isinstance(message.body, Answer):
            if partial and message.body.status is not Status.COMPLETED:
                parts = tuple(part for part in parts if isinstance(part, Text) and part.text)
            expected += len(parts)
        else:
            expected += 1
    if any(spec.renderer == "history" for spec in given_sources.agent.renderers):
        expected += len(given_sources.ephemeral) + (given_sources.checkpoint is not None)
    assert found.message_count == expected
    assert source_map(found)["history_message_count"] == given_sources.history_message_count >= len(given_sources.messages)


@pytest.mark.req("S2-28", "S2-40", "S2-41", "T-25")
@laws
@given(sources())
def test_the_account_holds_no_content(given_sources: Sources):
    marked = replace(
        given_sources,
        ephemeral=tuple(replace(one, parts=(Text("attribute-text"),)) for one in given_sources.ephemeral),
        messages=tuple(
            one._replace(body=Message((Text("attribute-text"),))) if one.entry.kind == "user_message" else one for one in given_sources.messages
        ),
    )
    found = compiled(marked)
    assert "attribute-text" not in lossless.dumps([manifest(found), source_map(found), exceptions(found)])
