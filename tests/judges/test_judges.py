"""The judges are judges: each objects to what its side knows to be wrong, and to nothing that a provider was seen to accept."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.judges import openai_responses
from tests.judges.judging import JUDGES, objections
from tests.judges.recorded import exchanges
from tests.judges.schemas import closed, found_by
from tests.judges.targets import MODELS, target_of

PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}}


def chat(*messages: Any, **more: Any) -> Any:
    return {"model": "gpt-4.1", "messages": [*messages], "stream": True, **more}


def responses(*items: Any, **more: Any) -> Any:
    return {"model": "gpt-4.1", "input": [*items], "stream": True, "store": False, **more}


def messages(*given: Any, **more: Any) -> Any:
    return {"model": "claude-opus-5", "max_tokens": 99, "messages": [*given], "stream": True, **more}


def said(role: str, *blocks: Any) -> Any:
    return {"role": role, "content": [*blocks]}


def told(role: str, *parts: Any) -> Any:
    return {"role": role, "parts": [*parts]}


CHAT_CALL = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}
RESPONSES_CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
MESSAGES_CALL = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
MESSAGES_RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "7"}
GEMINI_CALL = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2lnbmVk"}
GEMINI_RESULT = {"functionResponse": {"name": "look", "response": {"output": "7"}}}
CONVERSE_CALL = {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}}
CONVERSE_RESULT = {"toolResult": {"toolUseId": "c", "content": [{"text": "7"}]}}
CONVERSE_TOOLS = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": PARAMETERS}}}]}
USER = {"role": "user", "content": "How many?"}
ASKED = {"text": "How many?"}

GOOD: dict[str, Any] = {
    "openai-chat": chat(USER, CHAT_CALL, {"role": "tool", "tool_call_id": "c", "content": "7"}),
    "openai-responses": responses(USER, RESPONSES_CALL, {"type": "function_call_output", "call_id": "c", "output": "7"}),
    "anthropic-messages": messages(USER, said("assistant", MESSAGES_CALL), said("user", MESSAGES_RESULT)),
    "gemini": {"contents": [told("user", ASKED), told("model", GEMINI_CALL), told("user", GEMINI_RESULT)]},
    "bedrock-converse": {
        "messages": [said("user", ASKED), said("assistant", CONVERSE_CALL), said("user", CONVERSE_RESULT)],
        "toolConfig": CONVERSE_TOOLS,
    },
}
LOOK = {"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False}
NESTED = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
PICTURE_RESULT = {"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
TIFF = {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AA=="}}
UNSIGNED = {"functionCall": {"name": "look", "args": {}}}
BAD_CALL, BAD_RESULT = (
    {"toolUse": {**CONVERSE_CALL["toolUse"], "toolUseId": "a b"}},
    {"toolResult": {**CONVERSE_RESULT["toolResult"], "toolUseId": "a b"}},
)
ALL, CONVERSATION = {"sdk", "ours", "fake"}, {"ours", "fake"}


def image(data: str) -> Any:
    return {"image": {"format": "png", "source": {"bytes": data}}}


def without(dialect: str, key: str) -> Any:
    return {name: value for name, value in GOOD[dialect].items() if name != key}


def contents(*given: Any) -> Any:
    return {"contents": [*given]}


def converse(*given: Any, **more: Any) -> Any:
    return {"messages": [*given], **more}


BROKEN: tuple[tuple[str, str, Any, set[str]], ...] = (
    ("openai-chat", "a role that is none", chat({"role": "robot", "content": "x"}), ALL),
    ("openai-chat", "a result of no call", chat(USER, {"role": "tool", "tool_call_id": "c", "content": "7"}), CONVERSATION),
    ("openai-chat", "a call without its result", chat(USER, CHAT_CALL), CONVERSATION),
    ("openai-chat", "a key that is none", chat({**USER, "seq": 1}), {"sdk", "fake"}),
    ("openai-chat", "a picture in a result", chat(USER, CHAT_CALL, PICTURE_RESULT), ALL),
    ("openai-responses", "a call without its result", responses(USER, RESPONSES_CALL), CONVERSATION),
    ("openai-responses", "a part of Chat's", responses({"role": "user", "content": [{"type": "text", "text": "x"}]}), ALL),
    ("openai-responses", "a subset nested as on Chat", responses(USER, tools=[LOOK], tool_choice=NESTED), ALL),
    ("anthropic-messages", "no cap", without("anthropic-messages", "max_tokens"), ALL),
    ("anthropic-messages", "an answer first", messages(said("assistant", {"type": "text", "text": "x"}), USER), CONVERSATION),
    ("anthropic-messages", "a blank text", messages(said("user", {"type": "text", "text": " "})), CONVERSATION),
    ("anthropic-messages", "a result of no call", messages(said("user", MESSAGES_RESULT)), CONVERSATION),
    ("anthropic-messages", "a picture of a type that is not taken", messages(said("user", TIFF)), ALL),
    ("anthropic-messages", "sampling", messages(USER, temperature=1), ALL),
    ("gemini", "a call without a signature", contents(told("user", ASKED), told("model", UNSIGNED), told("user", GEMINI_RESULT)), CONVERSATION),
    (
        "gemini",
        "too many results",
        contents(told("user", ASKED), told("model", GEMINI_CALL), told("user", GEMINI_RESULT, GEMINI_RESULT)),
        CONVERSATION,
    ),
    ("gemini", "a key that is none", contents(told("user", {"text": "x", "seq": 1})), ALL),
    ("gemini", "no base64", contents(told("user", {"inlineData": {"mimeType": "image/png", "data": "?"}})), {"sdk", "fake"}),
    ("bedrock-converse", "two users in a row", converse(said("user", ASKED), said("user", ASKED)), CONVERSATION),
    ("bedrock-converse", "calls without tools", without("bedrock-converse", "toolConfig"), CONVERSATION),
    (
        "bedrock-converse",
        "an id that is none",
        converse(said("user", ASKED), said("assistant", BAD_CALL), said("user", BAD_RESULT), toolConfig=CONVERSE_TOOLS),
        ALL,
    ),
    ("bedrock-converse", "a block of two kinds", converse(said("user", {"text": "x", **image("AA==")})), ALL),
    ("bedrock-converse", "no base64", converse(said("user", image("?"))), {"sdk", "fake"}),
)

MODEL = {"openai-chat": "gpt-4.1", "openai-responses": "gpt-4.1", "anthropic-messages": "claude-opus-5", "gemini": "gemini-3-flash-preview"}

EXPLAINED: tuple[tuple[str, str, str], ...] = (
    (
        "openai-chat",
        r"\S+ /tools/\d+",
        "Keys in a function that OpenAI ignores (wire-format notes 12.4). We send none, so the schema stays closed there.",
    ),
    (
        "anthropic-messages",
        r"\S+ /: .*'temperature'",
        "A request of version 2023-06-01. We send the newer one, which takes no sampling (4).",
    ),
    (
        "anthropic-messages",
        r"\S*mcp_servers\S* /(messages/\d+)?:",
        "A beta that was asked for in a header. We ask for none.",
    ),
    (
        "gemini",
        r"\S+ /(tools|generationConfig|contents/\d+/parts): ",
        "Spellings of proto JSON that Google takes beside its own: snake_case, nulls, lower-case types (12.3). We use its own.",
    ),
)
"""What the SDK's types have against bodies that were accepted: dialect, file and place, and why that is no reason to loosen a schema."""


@pytest.mark.parametrize("dialect", GOOD)
def test_a_good_body_has_nobody_against_it(dialect: str):
    model = MODEL.get(dialect, MODELS[dialect][0])
    assert objections(dialect, json.dumps(GOOD[dialect]).encode(), target_of(dialect, model)) == []


@pytest.mark.parametrize(("dialect", "what", "body", "judges"), BROKEN, ids=[f"{row[0]} {row[1]}" for row in BROKEN])
def test_a_broken_body_has_everybody_against_it_whose_business_it_is(dialect: str, what: str, body: Any, judges: set[str]):
    model = MODEL.get(dialect, "us.anthropic.claude-opus-5-5")
    found = objections(dialect, json.dumps(body).encode(), target_of(dialect, model))
    assert {each.split()[0] for each in found} == judges, (what, found)


def test_the_types_have_nothing_against_what_was_accepted_but_what_is_explained(shared: Path):
    judged: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    for each in exchanges(shared):
        if each.dialect is None:
            continue
        judged[each.dialect] += 1
        for objection in JUDGES[each.dialect].sdk(each.streamed_request, target_of(each.dialect, each.model)):
            reasons = [
                why for dialect, pattern, why in EXPLAINED if dialect == each.dialect and re.match(pattern, f"{each.name} {objection}", re.DOTALL)
            ]
            assert reasons, (each.name, each.number, objection)
            explained[reasons[0]] += 1
    assert sum(judged.values()) == 118
    assert len(explained) == len(EXPLAINED), "an explanation of nothing hides something"


def test_each_tolerance_is_for_something():
    """A closed schema without it refuses a body that the wire takes; with it, none of the three judges does."""
    answer = {"type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "x", "annotations": []}]}
    body = {**responses(USER, answer), "model": "o3"}
    assert len(openai_responses.TOLERANCES) == 1
    assert found_by(closed(openai_responses.KIND), body)
    assert objections("openai-responses", json.dumps(body).encode(), target_of("openai-responses", "o3")) == []
