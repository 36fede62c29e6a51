"""Recorded chains: what a provider answered goes back as the next recorded request had it, where that one was the provider's own words."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.entries.deltas import CallNames, ToolCallStarted
from app.entries.parts import ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from tests.formats.openai_responses.requests import message, request, target
from tests.formats.openai_responses.streams import fold, read

KEYS = ("id", "call_id", "name", "arguments", "encrypted_content", "summary", "role", "phase")
"""What the recording client sent back as it came, if it did. It left out `status`, empty lists and some ids, and spelled searches anew."""
QUIRKS = {"deepseek": {"reasoning_key": "reasoning_content"}}


def exchanges(shared: Path) -> Iterator[tuple[str, list[Any]]]:
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        found = [one for one in json.loads(path.read_text())["interactions"] if "/responses" in one["uri"]]
        if found:
            yield path.name, found


def made(items: list[Any]) -> list[Any]:
    return [item for item in items if item.get("type") in ("reasoning", "message", "function_call")]


@pytest.mark.req("X-23")
def test_what_was_answered_is_what_the_next_request_had(shared: Path):
    compared = chains = 0
    for name, listed in exchanges(shared):
        for one, following in pairwise(listed):
            before, after = one["request"]["input"], following["request"]["input"]
            if after[: len(before)] != before:
                continue  # another agent's call between two of this one
            response = one["response"] if isinstance(one["response"], str) else json.dumps(one["response"])
            chosen = target(one["request"]["model"], quirks=QUIRKS.get(name.split("--")[0]))
            names = CallNames("call_1")
            deltas = [names.name(delta) if isinstance(delta, ToolCallStarted) else delta for delta in read([response.encode()], str(chosen.producer))]
            parts = fold(deltas).parts()
            results = [message("tool", "r", tool_call_id=part.tool_call_id) for part in parts if isinstance(part, ToolCall)]
            found = write_request(request(message("user", "q"), message("assistant", *parts), *results, target=chosen), {})
            assert not found.losses, name
            body = orjson.loads(found.body)
            assert not validate(body, chosen.rules), name
            ours, theirs = made(body["input"]), made(after[len(before) :])
            assert [item["type"] for item in ours] == [item["type"] for item in theirs], name
            for item, expected in zip(ours, theirs, strict=True):
                kept = {key: expected[key] for key in KEYS if expected.get(key) is not None}
                assert {key: item.get(key) for key in kept} == kept, name
                compared += 1
            chains += 1
    assert (chains, compared) >= (12, 20)


def test_requests_that_providers_took_pass(shared: Path):
    judged = 0
    for name, listed in exchanges(shared):
        for one in listed:
            assert one["status"] < 300
            assert validate(one["request"]) == [], name
            judged += 1
    assert judged >= 30
