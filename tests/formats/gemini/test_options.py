"""How tools may be chosen, parameters, thinking, and extra keys."""

from typing import Any

import orjson
import pytest

from app.formats.gemini.validate import validate
from app.formats.gemini.write_request import write_request
from app.formats.protocols import WireLoss
from tests.formats.gemini.judge import objections
from tests.formats.gemini.requests import ESCALATE, LOOKUP, message, request, target


def written(**changes: Any) -> tuple[dict[str, Any], tuple[WireLoss, ...]]:
    asked = request(message("user", "a"), **changes)
    found = write_request(asked, {})
    assert not objections(found.body)
    assert not validate(orjson.loads(found.body), asked.target.rules)
    return orjson.loads(found.body), found.losses


def mode(word: str, *names: str) -> dict[str, Any]:
    return {"functionCallingConfig": {"mode": word} | ({"allowedFunctionNames": list(names)} if names else {})}


@pytest.mark.req("S4-39", "T-05", "X-32")
@pytest.mark.parametrize(
    ("choice", "allowed", "quirks", "expected", "lost"),
    [
        (None, None, {}, None, []),
        ("auto", None, {}, mode("AUTO"), []),
        ("required", None, {}, mode("ANY"), []),
        ("none", ("lookup",), {}, mode("NONE"), []),
        ("lookup", None, {}, mode("ANY", "lookup"), []),
        (None, (), {}, mode("NONE"), []),
        (None, ("lookup",), {}, mode("VALIDATED", "lookup"), []),
        ("required", ("lookup", "escalate"), {}, mode("ANY", "lookup", "escalate"), []),
        ("required", ("lookup",), {"allowed_tools": False}, mode("ANY"), ["allowed_tools"]),
        ("lookup", ("lookup",), {"allowed_tools": False}, mode("ANY", "lookup"), []),
        ("required", None, {"tool_choice": False}, None, ["tool_choice"]),
        ("required", None, {"forced_choice": False}, mode("AUTO"), ["tool_choice"]),
        ("lookup", ("lookup", "escalate"), {"forced_choice": False}, mode("VALIDATED", "lookup", "escalate"), ["tool_choice"]),
    ],
)
def test_how_tools_may_be_chosen(choice: str | None, allowed: tuple[str, ...] | None, quirks: dict[str, Any], expected: Any, lost: list[str]):
    body, losses = written(tools=(LOOKUP, ESCALATE), tool_choice=choice, allowed_tools=allowed, target=target(quirks=quirks))
    assert body.get("toolConfig") == expected
    assert [tool["name"] for tool in body["tools"][0]["functionDeclarations"]] == ["lookup", "escalate"], "definitions stay whole"
    assert [(loss.what, loss.why) for loss in losses] == [(what, "not_enforced") for what in lost]


def test_without_declarations_nothing_is_said_of_choice():
    body, _ = written(tool_choice="required", allowed_tools=("lookup",))
    assert set(body) == {"contents"}


@pytest.mark.parametrize(
    ("model", "effort", "expected", "lost"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, None),
        ("gemini-2.5-flash", "low", {"includeThoughts": True, "thinkingBudget": 1_024}, None),
        ("gemini-2.5-pro", "none", {"includeThoughts": True, "thinkingBudget": 512}, "nearest_sent"),
        ("gemini-2.5-pro", "max", {"includeThoughts": True, "thinkingBudget": 24_576}, "nearest_sent"),
        ("gemini-3-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "LOW"}, "nearest_sent"),
        ("gemini-3-flash-preview", "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}, None),
        ("gemini-4-argon", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}, "nearest_sent"),
        ("gemini-4-neon", "xhigh", {"includeThoughts": True, "thinkingLevel": "XHIGH"}, None),
        ("gemini-2.0-flash", "low", None, "not_in_format"),
    ],
)
def test_effort_is_a_budget_or_a_level(model: str, effort: str, expected: Any, lost: str | None):
    body, losses = written(target=target(model, reasoning={"effort": effort}))
    assert body.get("generationConfig", {}).get("thinkingConfig") == expected
    assert losses == (() if lost is None else (WireLoss("reasoning_effort", lost),))


def test_a_quirk_can_ask_for_no_way_of_thinking_that_the_format_lacks():
    body, losses = written(target=target(quirks={"thinking": "adaptive"}, reasoning={"effort": "low"}))
    assert "generationConfig" not in body
    assert losses == (WireLoss("reasoning_effort", "not_in_format"),)


def test_sampling_is_sent_where_it_is_taken():
    body, losses = written(target=target(temperature=0.2, max_output_tokens=99))
    assert body["generationConfig"] == {"maxOutputTokens": 99, "temperature": 0.2}
    assert not losses
    body, losses = written(target=target("gemini-4-argon", temperature=0.2))
    assert "generationConfig" not in body
    assert losses == (WireLoss("params.temperature", "not_taken"),)


def test_extra_keys_are_laid_over_key_by_key_and_cannot_replace_the_conversation():
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    extra = {"generationConfig": {"topK": 3, "maxOutputTokens": 7}, "safetySettings": safety, "contents": [], "tools": [], "systemInstruction": {}}
    chosen = target(max_output_tokens=99, temperature=0.2, extra=extra, script=[], colour="red")
    body, losses = written(target=chosen, system=("s",), tools=(LOOKUP,))
    assert body["generationConfig"] == {"maxOutputTokens": 7, "temperature": 0.2, "topK": 3}
    assert body["safetySettings"] == safety
    assert body["contents"]
    assert body["systemInstruction"] == {"parts": [{"text": "s"}]}
    assert {(loss.what, loss.why) for loss in losses} == {
        ("params.extra.contents", "protected"),
        ("params.extra.tools", "protected"),
        ("params.extra.systemInstruction", "protected"),
        ("params.colour", "not_in_format"),
    }
