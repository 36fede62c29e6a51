"""Other servers that speak the format: what each is sent, and what it is never sent."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.parts import Blob, Media, Reasoning
from app.formats.openai_chat.write_request import write_request
from app.formats.protocols import WireLoss
from app.models.presets import PRESETS
from tests.formats.openai_chat.requests import ESCALATE, LOOKUP, message, request, target
from tests.formats.openai_chat.servers import CALLING, CHAT, PDF, PNG, RESULT, USER, lost, served


@pytest.mark.parametrize("preset", CHAT)
def test_a_plain_conversation_is_valid_everywhere_and_the_cap_has_the_servers_key(preset: str):
    body, _ = served(preset, USER, message("assistant", "a"), USER, system=("s",), params={"max_output_tokens": 9})
    key = PRESETS[preset].quirks.get("max_tokens_key", "max_completion_tokens")
    assert [name for name in ("max_tokens", "max_completion_tokens") if name in body] == [key]
    assert body["messages"][0] == {"role": "system", "content": "s"}


@pytest.mark.req("X-22")
@pytest.mark.parametrize(
    ("preset", "choice", "sent", "losses"),
    [
        ("mistral", "required", "any", []),
        ("mistral", "lookup", {"type": "function", "function": {"name": "lookup"}}, []),
        ("vllm", "required", "required", []),
        ("ollama", "required", None, [("tool_choice", "not_enforced")]),
        ("llama-cpp", "lookup", "required", [("tool_choice", "not_enforced")]),
        ("llama-cpp", "none", "none", []),
        ("deepseek", "required", "auto", [("tool_choice", "not_enforced")]),
        ("deepseek", "lookup", "auto", [("tool_choice", "not_enforced")]),
        ("deepseek", "none", "none", []),
        ("groq", "lookup", {"type": "function", "function": {"name": "lookup"}}, []),
    ],
)
def test_how_each_server_lets_tools_be_chosen(preset: str, choice: str, sent: Any, losses: Any):
    body, found = served(preset, USER, tools=(LOOKUP, ESCALATE), tool_choice=choice)
    assert body.get("tool_choice") == sent
    assert lost(found) == losses
    assert len(body["tools"]) == 2, "definitions stay whole"


@pytest.mark.parametrize("preset", sorted(set(CHAT) - {"azure", "ollama"}))
def test_a_subset_that_no_server_but_openais_knows_is_said_to_be_enforced_elsewhere(preset: str):
    body, found = served(preset, USER, tools=(LOOKUP, ESCALATE), tool_choice="auto", allowed_tools=("lookup",))
    assert body["tool_choice"] == "auto"
    assert lost(found) == [("allowed_tools", "not_enforced")]


@pytest.mark.parametrize(
    ("preset", "effort", "sent", "losses"),
    [
        ("deepseek", "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "medium"}, []),
        ("deepseek", "none", {"thinking": {"type": "disabled"}}, []),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}, []),
        ("openrouter", "none", {"reasoning": {"effort": "none"}}, []),
        ("ollama", "xhigh", {"reasoning_effort": "high"}, [("reasoning_effort", "nearest_sent")]),
        ("groq", "low", {"reasoning_effort": "low"}, []),
    ],
)
def test_how_each_server_is_asked_to_think(preset: str, effort: str, sent: dict[str, Any], losses: Any):
    body, found = served(preset, USER, params={"reasoning": {"effort": effort}})
    assert {key: value for key, value in body.items() if key in ("thinking", "reasoning", "reasoning_effort")} == sent
    assert lost(found) == losses


def test_a_forced_choice_and_no_reasoning_go_to_a_model_whose_thinking_is_off():
    thought = message("assistant", Reasoning("hm"), "a")
    body, found = served("deepseek", USER, thought, USER, tools=(LOOKUP,), tool_choice="required", params={"reasoning": {"effort": "none"}})
    assert body["tool_choice"] == "required"
    assert body["messages"][1] == {"role": "assistant", "content": "a"}
    assert lost(found) == [("reasoning", "not_in_format")]


def test_mistral_takes_a_document_by_its_url_and_ollama_no_picture_by_one():
    scan, remote = Media("file", PDF, filename="scan.pdf"), Media("file", url="https://example.org/x.pdf")
    body, found = served("mistral", message("user", "read", scan, remote, Media("image", url="https://example.org/x.png")))
    assert body["messages"][0]["content"][1:3] == [
        {"type": "document_url", "document_url": "data:application/pdf;base64,cGRm", "document_name": "scan.pdf"},
        {"type": "document_url", "document_url": "https://example.org/x.pdf"},
    ]
    assert not found.losses
    body, found = served("ollama", message("user", "see", Media("image", url="https://example.org/x.png"), Media("image", PNG), scan))
    assert [part["type"] for part in body["messages"][0]["content"]] == ["text", "text", "image_url", "text"]
    assert lost(found) == [("image", "no_image_urls"), ("file", "no_files")]


def test_a_server_of_sounds_takes_no_documents():
    wav = Blob(PNG.digest, "audio/wav", 3)
    body, found = served("vllm", message("user", Media("file", wav), Media("file", PDF)))
    assert [part["type"] for part in body["messages"][0]["content"]] == ["input_audio", "text"]
    assert lost(found) == [("file", "media_type_not_taken")]


@pytest.mark.parametrize("preset", ["vllm", "llama-cpp"])
def test_inputs_that_follow_one_another_are_one_message_where_a_template_wants_turns(preset: str):
    told = (message("agent", "note"), message("user", "see", Media("image", PNG)), message("user", ""), USER)
    body, found = served(preset, USER, *told, CALLING, RESULT, message("user"), message("user"), system=("s",), tools=(LOOKUP,))
    assert [row["role"] for row in body["messages"]] == ["system", "user", "assistant", "tool", "user"]
    said = body["messages"][1]["content"]
    assert [part.get("text") for part in said] == ["q", "note", "see", None, "", "q"]
    assert body["messages"][-1]["content"] == ""
    places = {(pointer.source, pointer.part): pointer.pointer for pointer in found.pointers}
    assert places[0, 0] == "/messages/1/content/0"
    assert places[2, 1] == "/messages/1/content/3"
    assert places[4, None] == "/messages/1"
    assert (places[5, None], places[6, None], places[8, None]) == ("/messages/2", "/messages/3", "/messages/4")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["user", "agent", "assistant"]), st.lists(st.text("ab ", max_size=3), max_size=3)), max_size=8))
def test_merging_keeps_every_text_in_its_order_and_points_to_it(drawn: Any):
    messages = [message(role, *texts) for role, texts in drawn]
    found = write_request(request(*messages, target=target("house-model", {"merge_users": True})), {})
    body = json.loads(found.body)
    roles = [row["role"] for row in body["messages"]]
    assert all(pair != ("user", "user") for pair in pairwise(roles))
    for pointer in found.pointers:
        if pointer.part is None:
            continue
        at = body
        for step in pointer.pointer.split("/")[1:]:
            at = at[int(step)] if isinstance(at, list) else at[step]
        said = at["text"] if isinstance(at, dict) else at
        assert drawn[pointer.source][1][pointer.part] in said
    sent = [(pointer.source, pointer.part) for pointer in found.pointers if pointer.part is not None]
    assert sent == sorted(sent)
    assert len(sent) == sum(len(texts) for _, texts in drawn)


@pytest.mark.parametrize(
    ("model", "effort", "losses"),
    [
        ("o3", None, [("params.temperature", "not_taken")]),
        ("gpt-6-sol", "none", [("params.temperature", "not_taken")]),
        ("gpt-5.6-sol", None, [("params.temperature", "not_taken_while_reasoning")]),
        ("gpt-5.6-sol", "none", []),
        ("gpt-5.4", None, []),
        ("gpt-4o", None, []),
    ],
)
def test_a_model_that_reasons_is_not_sent_a_temperature(model: str, effort: str | None, losses: Any):
    params: dict[str, Any] = {"temperature": 0.5} | ({} if effort is None else {"reasoning": {"effort": effort}})
    body, found = served("azure", USER, model=model, params=params)
    assert ("temperature" in body) is (not losses)
    assert lost(found) == losses


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gpt-4o", "low", None),
        ("gpt-5", "none", "minimal"),
        ("gpt-5.6-sol", "max", "xhigh"),
        ("o4-mini", "xhigh", "high"),
        ("m", "max", "max"),
    ],
)
def test_efforts_are_words_that_the_model_knows(model: str, effort: str, sent: str | None):
    body, found = served("azure", USER, model=model, params={"reasoning": {"effort": effort}})
    assert body.get("reasoning_effort") == sent
    assert found.losses == (() if sent == effort else (WireLoss("reasoning_effort", "nearest_sent" if sent else "not_in_format"),))
