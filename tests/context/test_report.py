"""Manifest, source map with pointers, and the exceptions that a call's record keeps."""

from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.report import exceptions, manifest, prefix_digest, source_map
from app.context.snapshots import SkillSnapshot
from app.context.sources import Continuation, Ephemeral, Overrides
from app.entries import lossless
from app.entries.folds import SkillLoaded
from app.entries.messages import Status
from app.entries.parts import Text
from app.formats.registry import FORMATS
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, target, tokens

NURSE = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)


def place(pointer: str, source: int, part: int | None = None) -> tuple[str, int, int | None]:
    return pointer, source, part


@pytest.mark.req("S2-07", "S2-11", "S2-41", "S3-16", "S3-17", "T-25")
def test_manifest_rows_and_their_pointers():
    ledger = Ledger()
    ledger.user("SECRET WORDS")
    ledger.answer("x", status=Status.FAILED)
    ledger.answer(call("c1"))
    found = compile_context(ledger.sources(NURSE, window_from_seq=1), tokens)
    places = [place("/messages/1/content", 0, 0), place("/messages/2", 1), place("/messages/2/tool_calls/0", 1, 0), place("/messages/3", 2)]
    told = manifest(found, places, ["/messages/0"], ["/tools/0", "/tools/1"])
    assert {key: told[key] for key in ("estimator", "policy_version", "head_seq", "window_from_seq")} == {
        "estimator": "heuristic:other",
        "policy_version": "1",
        "head_seq": 3,
        "window_from_seq": 1,
    }
    rows = told["decisions"]
    assert rows[0] == {
        "id": "entry:1",
        "source": {"kind": "entry", "seq": 1},
        "disposition": "included",
        "reason": "in_window",
        "also": [],
        "pass": "history",
        "tokens_before": rows[0]["tokens_before"],
        "tokens_after": rows[0]["tokens_before"],
        "digest": "sha256:" + ledger.messages[0].entry.digest.hex(),
        "pointer": "/messages/1/content",
        "seq": 1,
        "priority": 2,
        "sensitivity": "private",
        "trust": "user",
        "version": 1,
    }
    assert [(row["source"]["kind"], row["pointer"]) for row in rows] == [
        ("entry", "/messages/1/content"),
        ("entry", None),
        ("entry", "/messages/2"),
        ("tool_repair", "/messages/3"),
        ("system", "/messages/0"),
        ("tool", "/tools/0"),
        ("tool", None),
        ("tool", "/tools/1"),
        *[(kind, None) for kind in ("checkpoint", "plan", "skills", "state")],
    ]
    assert "SECRET" not in lossless.dumps(told)
    assert all(row["pointer"] is None for row in manifest(found)["decisions"])


@pytest.mark.req("S2-28", "S2-40")
def test_pointers_lead_to_entries():
    ledger = Ledger()
    ledger.user("q", gap=3)
    ledger.answer(call("c1"))
    found = compile_context(ledger.sources(NURSE), tokens)
    told = source_map(found, [place("/messages/1/content", 0, 0), place("/messages/3", 2)])
    assert told["pointers"] == [
        {"pointer": "/messages/1/content", "source": 0, "seq": 4, "part": 0},
        {"pointer": "/messages/3", "source": 2, "seq": None, "part": None},
    ]
    assert told["skill_expansions"] == []


@pytest.mark.req("T-04")
def test_exceptions_hold_what_was_not_plainly_included():
    ledger = Ledger()
    ledger.user("q")
    for _ in range(3):
        ledger.answer("x", status=Status.FAILED)
    ledger.answer(call("a.b"), call("a.b"))
    ledger.answer("x", status=Status.CANCELLED)
    unstored = (Ephemeral("user_message", (Text("e"),)),)
    found = compile_context(ledger.sources(NURSE, ephemeral=unstored, overrides=Overrides(masked_tools=("lookup",))), tokens)
    assert exceptions(found) == {
        "messages": [
            {"disposition": "excluded", "reason": "failed_response", "count": 4, "message_indexes": "1-3,5"},
            {"disposition": "transformed", "reason": "tool_call_id_repeated", "count": 2, "message_indexes": "4"},
            {"disposition": "included", "reason": "missing_tool_result", "count": 1, "message_indexes": "4"},
        ],
        "ephemeral": 1,
        "tools": {"masked": 1, "disabled": 1},
    }
    plain = Ledger()
    plain.user("q")
    assert exceptions(compile_context(plain.sources(), tokens)) == {"messages": [], "ephemeral": 0, "tools": {}}


@pytest.mark.parametrize("kind", ["alternating", "calls", "nothing rendered"])
def test_exceptions_stay_small_whatever_happened(kind: str):
    ledger = Ledger()
    for number in range(200):
        if kind == "alternating":
            ledger.answer("x", status=Status.FAILED if number % 2 else Status.COMPLETED)
        elif kind == "calls":
            ledger.answer(call("same" * 20), call(f"a.{number}" * 30))
        else:
            ledger.user("q", include_in_context=number % 3 > 0)
    revision = agent(context=[SYSTEM]) if kind == "nothing rendered" else NURSE
    assert len(lossless.dumps(exceptions(compile_context(ledger.sources(revision), tokens))).encode()) <= 3_000


@pytest.mark.req("T-12")
def test_the_prefix_is_instructions_and_declared_tools_and_nothing_else():
    ledger = Ledger()
    ledger.user("q")

    def prefix(*masked: str, **document: Any) -> str:
        return prefix_digest(compile_context(ledger.sources(agent(**document), overrides=Overrides(masked_tools=masked)), tokens).request)

    first = prefix(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)
    ledger.answer("a")
    assert prefix(context=[{"renderer": "history"}, SYSTEM], tools=TOOL_DOCUMENTS) == first
    silent = prefix(context=[{"renderer": "history"}], tools=TOOL_DOCUMENTS)
    fewer = prefix(context=[SYSTEM], tools=TOOL_DOCUMENTS[1:])
    assert len({first, silent, fewer}) == 3
    assert prefix("lookup", context=[SYSTEM], tools=TOOL_DOCUMENTS) == fewer


@pytest.mark.req("S3-25", "X-63", "S2-11")
def test_a_hidden_control_points_nowhere_and_moves_no_other_pointer():
    planner = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS, plan={"enabled": True})
    ledger = Ledger()
    ledger.user("q")
    body = SkillLoaded("triage", "sha256:" + "0" * 64, "text", "user", 1)
    snapshots = (SkillSnapshot(2, body, "sha256:" + "1" * 64),)
    sources = ledger.sources(planner, continuation=Continuation("plan_rejected", 3, "plan_repair"), skill_snapshots=snapshots)
    found = compile_context(sources, tokens)
    written = FORMATS["openai-chat"].write_request(found.request, {})
    rows = manifest(found, written.pointers, written.sections, written.tools)["decisions"]
    assert [(row["source"]["name"], row["pointer"], row["trust"]) for row in rows if row["source"]["kind"] in ("control", "skill")] == [
        ("update_plan", "/tools/2", "service"),
        ("report_progress", None, "service"),
        ("triage", "/messages/1", "operator"),
    ]
    assert [row["pointer"] for row in manifest(found)["decisions"]] == [None] * len(rows)


def test_a_tool_that_the_wire_leaves_out_points_nowhere():
    found = compile_context(Ledger().sources(NURSE, target("bedrock-converse"), overrides=Overrides(tool_choice="none")), tokens)
    written = FORMATS["bedrock-converse"].write_request(found.request, {})
    assert "toolConfig" not in written.document
    rows = manifest(found, written.pointers, written.sections, written.tools)["decisions"]
    assert {row["pointer"] for row in rows if row["source"]["kind"] == "tool"} == {None}


@pytest.mark.req("X-63")
def test_a_section_that_is_made_of_the_state_may_hold_somebodys_words():
    schema = {"session": {"properties": {"name": {"type": "string"}}}}
    templated = {"renderer": "system", "id": "brief", "template": "Brief {{ state.name }}."}
    found = compile_context(Ledger().sources(agent(context=[SYSTEM, templated], state_schema=schema)), tokens)
    rows = [row for row in manifest(found)["decisions"] if row["source"]["kind"] == "system"]
    assert [(row["sensitivity"], row["trust"], row["version"]) for row in rows] == [("configuration", "operator", 1), ("private", "operator", 1)]
