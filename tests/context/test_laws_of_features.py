"""The laws of a compile with everything on at once: renderers in any order, templates, a plan, skills, several runs, every wire."""

import copy
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.context.controls import shown_controls
from app.context.diff import Diff, applied, diff, sent
from app.context.draft import ContinuationOrigin
from app.context.explanation import explained
from app.context.listed import listed
from app.context.report import exceptions, manifest, source_map
from app.context.sources import Sources
from app.entries import lossless
from app.formats.registry import FORMATS
from tests.features import SKILL_TEXT, featured, run_flags
from tests.formats.pointing import at
from tests.strategies import TARGETS, checkpointed, ephemerals, ledgers, overrides, target, tokens

targets = st.sampled_from([*TARGETS, *(target(dialect) for dialect in FORMATS), *(target(dialect, tools="text") for dialect in FORMATS)])
pytestmark = pytest.mark.timeout(600)

laws = settings(max_examples=250, deadline=None)

PHASES = {
    **dict.fromkeys(("entry", "ephemeral"), 0),
    **dict.fromkeys(("tool_repair", "rendered", "continuation"), 1),
    "system": 2,
    "tool": 3,
    "control": 4,
    "skill": 5,
    **dict.fromkeys(("checkpoint", "plan", "skills", "state"), 6),
    "renderer": 7,
}


@st.composite
def everything(draw: st.DrawFn) -> Sources:
    ledger = draw(ledgers(given_flags=run_flags))
    found = ledger.sources(target=draw(targets), ephemeral=draw(ephemerals), overrides=draw(overrides))
    return draw(checkpointed(draw(featured(found))))


def compiled(given_sources: Sources) -> Compiled:
    return compile_context(given_sources, tokens)


@pytest.mark.req("X-62", "X-63", "X-64", "S2-05", "S2-07", "S2-29", "S4-18", "T-02", "T-20")
@laws
@given(everything())
def test_every_source_is_decided_once_in_the_order_of_the_account(given_sources: Sources):
    found = compiled(given_sources)
    rows, decisions = list(listed(found)), found.decisions
    assert [row.decision for row in rows] == list(decisions)
    assert len({row.id for row in rows}) == len(rows)
    kinds = Counter(row.source["kind"] for row in decisions)
    seqs = Counter(row.source["seq"] for row in decisions if row.source["kind"] == "entry")
    assert seqs == Counter(message.entry.seq for message in given_sources.messages)
    assert sorted(row.source["index"] for row in decisions if row.source["kind"] == "ephemeral") == list(range(len(given_sources.ephemeral)))
    skills = Counter(row.source["seq"] for row in decisions if row.source["kind"] == "skill")
    assert skills == Counter(one.seq for one in given_sources.skill_snapshots)
    agent = given_sources.agent
    assert [row.source["name"] for row in decisions if row.source["kind"] == "tool"] == [tool.name for tool in agent.tools]
    assert kinds["control"] == (2 if agent.plan_enabled else 0)
    assert (kinds["plan"], kinds["state"], kinds["checkpoint"]) == (1, 1, 1)
    replays = {id(item) for item in found.inserted if item.origin.to_json()["type"] == "runtime-context"}
    summaries = [row for row in rows if row.item is not None and row.decision.source["kind"] == "checkpoint"]
    assert summaries == (rows[:1] if given_sources.checkpoint is not None else []), "what stands for the oldest messages stands before them"
    phases = [1 if id(row.item) in replays else PHASES[row.decision.source["kind"]] for row in rows[len(summaries) :]]
    assert phases == sorted(phases)
    places = {place: [row.position or 0 for row in rows if row.place == place] for place in ("system", "tools", "messages")}
    assert sorted(places["messages"]) == list(range(len(found.request.messages)))
    assert places["system"] == list(range(len(found.request.system)))
    assert places["tools"] == list(range(len(found.declared) + len(shown_controls(given_sources))))
    told = source_map(found)
    assert len(told["sources"]) == len(found.request.messages)
    continuing = [message for message in found.request.messages if isinstance(message.origin, ContinuationOrigin)]
    assert len(continuing) == (agent.plan_enabled and given_sources.continuation is not None)
    assert continuing in ([], list(found.request.messages[-1:])), "why the call is made stands behind everything"
    if found.directives.taps and agent.renderers[-1].id == found.directives.taps[-1].renderer:
        assert found.message_count == found.directives.taps[-1].message_count + len(continuing)


@pytest.mark.req("S2-11", "S2-28", "S2-40", "S2-41", "S2-47", "X-25", "X-63")
@laws
@given(everything())
def test_each_row_points_at_what_was_sent_of_it_and_holds_none_of_it(given_sources: Sources):
    found = compiled(given_sources)
    written = FORMATS[given_sources.target.dialect].write_request(found.request, {})
    body = json.loads(written.body)
    account = manifest(found, written.pointers, written.sections, written.tools)
    assert SKILL_TEXT not in lossless.dumps([account, source_map(found, written.pointers), exceptions(found)])
    for row in account["decisions"]:
        source, pointer = row["source"], row["pointer"]
        if pointer is None:
            assert row["disposition"] == "excluded" or source["kind"] not in ("entry", "ephemeral", "continuation", "skill", "system"), row
            continue
        assert row["disposition"] != "excluded", row
        there = json.dumps(at(body, pointer))
        if source["kind"] in ("tool", "control"):
            assert source["name"] in there
        if source["kind"] == "skill":
            assert SKILL_TEXT in there
        if source["kind"] == "continuation":
            assert "<runtime_context" in there
    for pointer in source_map(found, written.pointers)["pointers"]:
        at(body, pointer["pointer"])


@pytest.mark.req("X-64", "S2-09", "S0-07", "S2-39")
@laws
@given(everything())
def test_the_same_sources_give_the_same_bytes_and_are_not_changed(given_sources: Sources):
    spelled = repr(given_sources)
    first, second = compiled(given_sources), compiled(replace(given_sources, messages=copy.deepcopy(given_sources.messages)))
    assert first.request == second.request
    assert manifest(first) == manifest(second)
    assert (first.message_count, first.measured, first.awaiting, first.losses) == (
        second.message_count,
        second.measured,
        second.awaiting,
        second.losses,
    )
    assert FORMATS[given_sources.target.dialect].write_request(first.request, {}).body == (
        FORMATS[given_sources.target.dialect].write_request(second.request, {}).body
    )
    assert repr(given_sources) == spelled


@pytest.mark.req("X-63")
@laws
@given(everything(), st.data())
def test_a_difference_is_whole_whatever_changed(first_sources: Sources, data: st.DataObject):
    changed = data.draw(featured(first_sources))
    at_head = data.draw(st.integers(0, len(first_sources.messages)))
    messages = first_sources.messages[:at_head]
    held = {message.entry.seq for message in messages}
    skills = tuple(one for one in first_sources.skill_snapshots if one.body.anchor_seq in held)
    earlier = replace(changed, messages=messages, skill_snapshots=skills, target=data.draw(targets))
    first, second = compiled(first_sources), compiled(earlier)
    assert applied(diff(first, second), sent(first)) == sent(second)
    assert applied(diff(second, first), sent(second)) == sent(first)
    assert diff(second, second) == Diff((), (), (), ())


@pytest.mark.req("X-63", "S4-32")
@laws
@given(everything())
def test_what_is_explained_is_what_the_manifest_says(given_sources: Sources):
    found = compiled(given_sources)
    rows = {row["seq"]: row for row in manifest(found)["decisions"] if row["source"]["kind"] == "entry"}
    for message in given_sources.messages:
        told, row = explained(found, (), message.entry), rows[message.entry.seq]
        assert (told["disposition"], told["reason"], told["also"]) == (row["disposition"], row["reason"], row["also"])
        assert told["sentence"]
        assert (told["source"] is None) == (row["disposition"] == "excluded")
