"""Why an entry was in, changed or out: what the manifest says of it, in words; and what is told of entries that are no source."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.draft import Reason
from app.context.explanation import explained
from app.context.reasons import SENTENCES, Outside
from app.context.report import manifest, source_map
from app.context.sources import Sources
from app.entries.kinds import KINDS, Family
from app.formats.registry import FORMATS
from tests.features import SKILL_TEXT, snapshot
from tests.formats.pointing import at
from tests.strategies import Ledger, ledgers, sources, target, tokens

BYTES = {"sha256:" + "a" * 64: b"bytes"}


def test_every_reason_has_a_sentence_of_its_own():
    assert set(SENTENCES) == {*Reason, *Outside}
    assert len(set(SENTENCES.values())) == len(SENTENCES)
    assert not {sentence for sentence in SENTENCES.values() if not re.fullmatch(r"[A-Z][^\n]{15,150}\.", sentence)}
    assert not set(map(str, Reason)) & set(map(str, Outside))


@pytest.mark.req("S3-16", "X-63")
@settings(max_examples=300, deadline=None)
@given(sources())
def test_an_explanation_agrees_with_the_manifest(given_sources: Sources):
    compiled = compile_context(given_sources, tokens)
    rows = {row["source"]["seq"]: row for row in manifest(compiled)["decisions"] if row["source"]["kind"] == "entry"}
    assert set(rows) == {message.entry.seq for message in given_sources.messages}
    origins = source_map(compiled)["sources"]
    for message in given_sources.messages:
        found, row = explained(compiled, (), message.entry), rows[message.entry.seq]
        for name in ("disposition", "reason", "also", "tokens_before", "tokens_after"):
            assert found[name] == row[name], name
        assert found["sentence"] == SENTENCES[Reason(row["reason"])]
        assert {step["reason"] for step in found["steps"]} >= {row["reason"], *row["also"]}
        assert (found["source"] is None) == (row["disposition"] == "excluded")
        if found["source"] is not None:
            assert origins[found["source"]] == {"type": "history", "message_index": message.entry.message_index, "seq": message.entry.seq}


@pytest.mark.parametrize("dialect", FORMATS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_pointers_of_an_explanation_are_those_of_the_map(dialect: str, data: st.DataObject):
    compiled = compile_context(data.draw(ledgers()).sources(target=target(dialect)), tokens)
    written = FORMATS[dialect].write_request(compiled.request, BYTES)
    rows = source_map(compiled, written.pointers)["pointers"]
    for message in compiled.sources.messages:
        found = explained(compiled, written.pointers, message.entry)
        assert found["pointers"] == [row["pointer"] for row in rows if row["seq"] == message.entry.seq]
        assert bool(found["pointers"]) >= (found["source"] is not None)
        for pointer in found["pointers"]:
            at(written.document, pointer)


def test_entries_that_are_no_source_say_why():
    ledger = Ledger()
    said = ledger.user("q").entry
    compiled = compile_context(ledger.sources(head_seq=3, messages=(), state_seq=2), tokens)

    def reason(seq: int, kind: str, message_index: int | None = None) -> str:
        found = explained(compiled, (), said._replace(seq=seq, kind=kind, message_index=message_index))
        assert (found["disposition"], found["source"], found["pointers"]) == ("excluded", None, [])
        return str(found["reason"])

    assert reason(4, "user_message", 0) == reason(4, "state_changed") == "after_head"
    assert reason(1, "user_message", 0) == "other_line"
    assert reason(2, "state_changed") == "not_rendered"  # the state's own row
    by_family = {Family.SETTINGS: "settings", Family.FOLD: "fold", Family.TRACE: "trace"}
    for kind in KINDS.values():
        if kind.family is not Family.MESSAGE:
            assert reason(1, kind.name) == (by_family[kind.family] if kind.name != "skill_loaded" else "other_line")


def test_a_snapshot_of_a_skill_outside_of_the_input_is_spoken_of_as_what_it_is():
    ledger = Ledger()
    loaded = ledger.user("q").entry._replace(seq=1, kind="skill_loaded", message_index=None)
    compiled = compile_context(ledger.sources(head_seq=3, messages=()), tokens)
    assert explained(compiled, (), loaded)["reason"] == "other_line"
    assert explained(compiled, (), loaded._replace(payload=None))["reason"] == "redacted"
    assert explained(compiled, (), loaded._replace(seq=4))["reason"] == "after_head"


@pytest.mark.parametrize("dialect", FORMATS)
def test_a_skill_stands_where_its_message_does(dialect: str):
    ledger = Ledger()
    ledger.user("before")
    ledger.user("do it")
    loaded = ledger.messages[-1].entry._replace(seq=3, kind="skill_loaded", message_index=None)
    placed = compile_context(ledger.sources(target=target(dialect), skill_snapshots=(snapshot("triage", at=2, seq=3),)), tokens)
    older = compile_context(ledger.sources(target=target(dialect), skill_snapshots=(snapshot("triage", turn=1, seq=3),)), tokens)
    for compiled, source, reason in ((placed, 1, "skill_expanded"), (older, 2, "skill_replayed")):
        written = FORMATS[dialect].write_request(compiled.request, {})
        found = explained(compiled, written.pointers, loaded)
        assert (found["source"], found["reason"], found["disposition"]) == (source, reason, "included")
        assert found["pointers"]
        assert all(SKILL_TEXT in str(at(written.document, pointer)) for pointer in found["pointers"])
    out = compile_context(ledger.sources(target=target(dialect), skill_snapshots=(snapshot("triage", at=9, seq=3),)), tokens)
    found = explained(out, (), loaded)
    assert (found["source"], found["pointers"], found["reason"]) == (None, [], "anchor_absent")
