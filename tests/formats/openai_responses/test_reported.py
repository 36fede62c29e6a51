"""Cases of public bug reports, as far as they are about what a Responses body may hold: compiled from the ledgers that they describe."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.context.compile import compile_context
from app.entries.messages import Answer, Status
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import target
from tests.strategies import Ledger, tokens


def said(row: dict[str, Any], producer: str) -> tuple[Part, ...]:
    """An answer of a case, its items beside its parts as a transcript of them has it."""
    found: list[Part] = []
    for item in row.get("reasoning", ()):
        kept = {"type": "reasoning", **{key: item[key] for key in ("id", "encrypted_content", "summary")}}
        found.append(Reasoning("", json.dumps(kept), producer))
    if "text" in row:
        message = {"type": "message", "id": row["item_id"], "role": "assistant", "status": "completed", "content": []}
        found.append(Text(row["text"], None, json.dumps(message), producer))
    found += [ToolCall(call["id"], call["name"], call["arguments"]) for call in row.get("calls", ())]
    return tuple(found)


def body(shared: Path, id: str, dropped_calls: bool = False) -> dict[str, Any]:
    """What the case's ledger compiles to; `dropped_calls`: without the calls of aborted answers."""
    lines = (shared / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    given = next(case for case in map(json.loads, lines) if case["id"] == id)["input"]
    chosen = target(given["target"]["model"], extra=(given.get("options") or {}).get("params") or {})
    ledger = Ledger()
    for row in given["ledger"]:
        if row["kind"] == "user":
            ledger.user(row["text"])
            continue
        parts = said(row, str(chosen.producer))
        if dropped_calls:
            parts = tuple(part for part in parts if not isinstance(part, ToolCall))
        ledger.add("assistant_message", Answer(parts, Status.COMPLETED, chosen.model.name))
    found = write_request(compile_context(ledger.sources(target=chosen), tokens).request, {})
    assert not objections(found.body)
    sent: dict[str, Any] = orjson.loads(found.body)
    assert validate(sent) == []
    return sent


def items(sent: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(item.get("type", item.get("role")), item.get("id")) for item in sent["input"]]


@pytest.mark.req("X-23")
def test_what_is_not_stored_is_not_referred_to(shared: Path):
    sent = body(shared, "responses-store-false-needs-encrypted-content")
    assert sent["store"] is False
    assert "reasoning.encrypted_content" in sent["include"]
    assert items(sent) == [("user", None), ("message", None), ("user", None), ("reasoning", "rs_2"), ("message", "msg_2"), ("user", None)]
    assert sent["input"][3]["encrypted_content"] == "gAAAA_enc"


@pytest.mark.req("X-23")
def test_a_message_whose_reasoning_is_gone_has_no_id(shared: Path):
    sent = body(shared, "assistant-id-without-its-reasoning")
    assert items(sent) == [("user", None), ("message", None), ("user", None), ("reasoning", "rs_2"), ("message", "msg_2"), ("user", None)]


@pytest.mark.req("X-22")
def test_reasoning_goes_with_the_call_that_it_led_to(shared: Path):
    assert items(body(shared, "orphan-reasoning-when-call-dropped", dropped_calls=True)) == [("user", None), ("user", None)]
    kept = body(shared, "orphan-reasoning-when-call-dropped")
    assert items(kept) == [("user", None), ("reasoning", "rs_1"), ("function_call", None), ("function_call_output", None), ("user", None)]


@pytest.mark.req("X-24")
def test_an_interrupted_call_has_one_output_directly_behind_it(shared: Path):
    sent = body(shared, "abort-repair-for-openai-responses")
    call, output = sent["input"][1:3]
    assert (call["type"], call["call_id"]) == ("function_call", "call_r1")
    assert (output["type"], output["call_id"]) == ("function_call_output", "call_r1")
    assert output["output"]
    assert len(sent["input"]) == 4
