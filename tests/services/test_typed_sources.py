"""What a call is compiled from, source by source: each kind has its rows in the manifest, what is absent too, and the header says the rest."""

from typing import Any

import pytest

from app.context.compile import COMPILER_VERSION, POLICY_VERSION
from tests.api.conftest import message
from tests.services.turns.test_tools import CALL, DONE, TOOLS
from tests.services.world import World, roles

CONTEXT = [
    {"renderer": "system", "id": "identity", "text": "You are a triage nurse."},
    {"renderer": "history"},
    {"renderer": "system", "id": "brief", "text": "Be brief."},
    {"renderer": "system", "id": "now", "text": "Today is Monday.", "placement": "tail"},
]
SECRETS = ("triage nurse", "Be brief", "Monday", "PRIVATE", "Looks things up", "Found.", "forty-two")


async def asked(world: World) -> tuple[str, Any]:
    """A session with a settled turn that used a tool, and the turn."""
    session = await world.session(await world.agent([CALL, DONE], tools=[*TOOLS, {"name": "spare"}], context=CONTEXT))
    turn = await world.turn(session, "PRIVATE question")
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "forty-two"}])
    return session, (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()


async def call_of(world: World, session: str, call: str) -> Any:
    return (await world.call("GET", f"/sessions/{session}/calls/{call}", 200)).json()


def of_kind(manifest: Any, kind: str) -> list[Any]:
    return [row for row in manifest["decisions"] if row["source"]["kind"] == kind]


@pytest.mark.req("S3-08", "S3-09", "S3-11", "X-63", "S3-17")
async def test_instructions_messages_and_tool_outcomes_have_their_rows(world: World) -> None:
    session, turn = await asked(world)
    call = await call_of(world, session, turn["calls"][1])
    manifest = call["manifest"]
    assert [(row["id"], row["reason"], row["trust"], row["priority"], row["version"]) for row in of_kind(manifest, "system")] == [
        ("system:identity", "rendered", "operator", 0, 1),
        ("system:brief", "rendered", "operator", 0, 1),
    ]
    seqs = [entry["seq"] for entry in await world.raw(session)][:3]
    assert [(row["id"], row["seq"], row["trust"], row["sensitivity"]) for row in of_kind(manifest, "entry")] == [
        (f"entry:{seq}", seq, trust, "private") for seq, trust in zip(seqs, ("user", "model", "tool"), strict=True)
    ]
    assert [(row["id"], row["disposition"], row["sensitivity"]) for row in of_kind(manifest, "tool")] == [
        ("tool:lookup", "included", "configuration"),
        ("tool:spare", "included", "configuration"),
    ]
    assert [row["id"] for row in of_kind(manifest, "rendered")] == ["rendered:now"]
    assert len({row["id"] for row in manifest["decisions"]}) == len(manifest["decisions"])
    assert not [word for word in SECRETS if word in str(manifest)]


@pytest.mark.req("X-63", "S3-10", "S3-13")
async def test_sources_that_are_absent_are_listed_with_no_digest(world: World) -> None:
    session, turn = await asked(world)
    for manifest in ((await call_of(world, session, turn["calls"][0]))["manifest"], (await world.input(session))["manifest"]):
        for kind in ("checkpoint", "plan", "skills", "state"):
            (row,) = of_kind(manifest, kind)
            assert (row["id"], row["disposition"], row["reason"], row["digest"], row["pointer"], row["tokens_after"]) == (
                kind, "excluded", "absent", None, None, 0,
            )  # fmt: skip


@pytest.mark.req("X-62", "S3-15")
async def test_the_header_says_what_holds_for_all_rows(world: World) -> None:
    session, turn = await asked(world)
    seen = await world.input(session)
    manifest, budget = seen["manifest"], seen["budget"]
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    digest = manifest.pop("logical_digest")
    manifest.pop("decisions")
    assert manifest == {
        "compiler_version": COMPILER_VERSION,
        "estimator": manifest["estimator"],
        "policy_version": POLICY_VERSION,
        "head_seq": head,
        "window_from_seq": 1,
        "model": {"name": "scripted", "context_window": 128000, "max_output_tokens": 4096, "source": "explicit"},
        "budgets": {**{name: budget[name] for name in ("input_limit", "output_reserve", "safety", "trigger")}, "raw_tail": 20_000},
        "estimated_input": budget["total"],
        "summary_digest": None,
        "clear_boundary": 1,
        "raw_tail_from_seq": (await world.raw(session))[0]["seq"],
        "plan_revision": None,
    }
    assert budget["total"] <= budget["input_limit"]
    again = (await world.input(session))["manifest"]["logical_digest"]
    earlier = (await call_of(world, session, turn["calls"][1]))["manifest"]["logical_digest"]
    assert digest == again != earlier
    assert digest.startswith("sha256:")


@pytest.mark.req("X-62")
async def test_the_logical_digest_is_that_of_no_wire(world: World) -> None:
    session = await world.session(await world.agent(context=CONTEXT[:2]))
    await world.turn(session)
    await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": [message("b")]})
    digests: dict[str, set[str]] = {"digest": set(), "logical_digest": set()}
    for dialect in ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"):
        seen = await world.input(session, dialect=dialect)
        digests["digest"].add(seen["digest"])
        digests["logical_digest"].add(seen["manifest"]["logical_digest"])
    assert [len(found) for found in digests.values()] == [5, 1]


@pytest.mark.req("X-27", "S0-11")
async def test_sections_have_an_id_an_order_and_are_folded_into_one_head_text(world: World) -> None:
    session = await world.session(await world.agent(context=CONTEXT))
    await world.turn(session)
    seen = await world.input(session)
    assert seen["body"]["messages"][0] == {"role": "system", "content": "You are a triage nurse.\n\nBe brief."}
    assert roles(seen["body"]) == ["system", "user", "assistant", "user"]
    rows = of_kind(seen["manifest"], "system")
    assert [(row["source"], row["pass"]) for row in rows] == [
        ({"kind": "system", "renderer": "identity"}, "system"),
        ({"kind": "system", "renderer": "brief"}, "system"),
    ]


@pytest.mark.req("S3-01", "S3-02")
async def test_each_call_is_compiled_from_the_ledger_as_it_stands_and_for_itself(world: World) -> None:
    session, turn = await asked(world)
    first, second = [await call_of(world, session, call) for call in turn["calls"]]
    assert first["head_seq"] < second["head_seq"]
    assert first["digest"] != second["digest"]
    entries = {row["seq"] for row in of_kind(second["manifest"], "entry")}
    stored = {entry["seq"] for entry in await world.ledger(session) if entry["message_index"] is not None and entry["seq"] <= second["head_seq"]}
    assert entries == stored
    body = (await world.input(session))["body"]
    assert not {"previous_response_id", "conversation", "store", "thread"} & set(body)


@pytest.mark.req("S3-23", "S3-38", "S3-22")
async def test_instructions_stay_as_they_are_whatever_the_continuation_is(world: World) -> None:
    session, turn = await asked(world)
    calls = [await call_of(world, session, call) for call in turn["calls"]]
    assert [call["continuation"]["reason"] for call in calls] == ["input_received", "tool_completed"]
    entries = {entry["seq"]: entry["kind"] for entry in await world.ledger(session)}
    receipts = [entries[call["continuation"]["receipt_seq"]] for call in calls]
    assert receipts == ["user_message", "tool_result"]
    assert len({call["prefix_digest"] for call in calls}) == 1
    digests = [[row["digest"] for row in of_kind(call["manifest"], "system")] for call in calls]
    assert digests[0] == digests[1]


@pytest.mark.req("S3-14", "S4-08")
async def test_the_tail_is_whole_and_nothing_stands_in_the_body_that_no_renderer_placed(world: World) -> None:
    session = await world.session(await world.agent([CALL], tools=TOOLS, context=CONTEXT))
    await world.turn(session, "PRIVATE question")
    seen = await world.input(session)
    asked_for = [call["id"] for one in seen["body"]["messages"] for call in one.get("tool_calls", ())]
    answered = [one["tool_call_id"] for one in seen["body"]["messages"] if one["role"] == "tool"]
    assert asked_for == answered == ["c1"]
    silent = await world.session(await world.agent(tools=TOOLS, context=CONTEXT[:1]))
    await world.turn(silent, "PRIVATE question")
    seen = await world.input(silent)
    assert "PRIVATE" not in str(seen["body"])
    assert {row["reason"] for row in of_kind(seen["manifest"], "entry")} == {"not_rendered"}


@pytest.mark.req("S4-40", "S0-17", "S0-10")
async def test_a_tool_that_is_left_off_is_not_in_the_body_nor_in_its_tokens(world: World) -> None:
    name = await world.agent([{"text": "Ok."}], tools=[*TOOLS, {"name": "spare", "description": "A long description. " * 20}])
    session = await world.session(name)
    await world.turn(session)
    before = await world.input(session)
    await world.turn(session, overrides={"masked_tools": ["spare"]})
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert [call["tools"] for call in calls] == [["lookup", "spare"], ["lookup"]]
    assert calls[1]["budget"]["tools"] < calls[0]["budget"]["tools"]
    await world.agent([{"text": "Ok."}], name=name, tools=TOOLS)
    await world.turn(session)
    after = await world.input(session)
    assert "spare" not in str(after["body"])
    assert "A long description" not in str(after["body"])
    assert after["budget"]["tools"] < before["budget"]["tools"]
    assert [row["id"] for row in of_kind(after["manifest"], "tool")] == ["tool:lookup"]
