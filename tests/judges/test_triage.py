"""The triage agent of the renderers document as an agent document, run over the service and strict fake providers on sockets.

State, a tool, a pipeline of filters and narrowed tools; the counts are the document's own. A provider that shows no reasoning (Chat) has
no thought to count.
"""

import json
from typing import Any

import pytest

from app.context.passes.adjacency import CLOSING_TEXT, OPENING_TEXT, REPLY_TEXT
from tests.fakes.answers import Answer, Text, Thinking, ToolCall
from tests.judges.conftest import Providers
from tests.judges.judging import objections
from tests.judges.targets import MODELS, target_of
from tests.judges.test_switching import LIMITS, model_of, strings
from tests.services.world import World, text

THOUGHT, ADVICE, QUESTION = "Check the record first.", "Avoid it.", "Can I take amoxicillin?"
RULE = "Check the allergy record before advising."
TEMPLATE = "Brief the clinician on {{ state.patient_name }}, last seen {{ state.last_visit }}."
ADA, BOB = {"patient_name": "Ada Lovelace", "last_visit": "2026-03-02"}, {"patient_name": "Bob", "last_visit": "never"}
BRIEF_ADA, BRIEF_BOB = "Brief the clinician on Ada Lovelace, last seen 2026-03-02.", "Brief the clinician on Bob, last seen never."
FOUND = '{"patient": "ada", "allergies": ["penicillin"]}'
DOCUMENT: dict[str, Any] = {
    "limits": LIMITS,
    "state_schema": {"session": {"type": "object", "properties": {"patient_name": {"type": "string"}, "last_visit": {"type": "string"}}}},
    "tools": [
        {
            "name": "lookup_allergies",
            "description": "Look up the recorded allergies for a patient",
            "parameters": {"type": "object", "properties": {"patient": {"type": "string"}}, "required": ["patient"]},
        },
        {
            "name": "escalate_to_gp",
            "description": "Escalate the question to a GP",
            "parameters": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
        },
    ],
}
FILTERS = [{"renderer": "prune_reasoning"}, {"renderer": "select_recent", "n": 2}]
GATES = [{"renderer": "limit_tools", "names": ["lookup_allergies"]}, {"renderer": "tool_choice", "choice": "required"}]
OURS = (OPENING_TEXT, REPLY_TEXT, CLOSING_TEXT)
LOOKS = Answer((Thinking(THOUGHT), ToolCall("lookup_allergies", '{"patient": "ada"}')))
ADVISES = Answer((Text(ADVICE),))


def pipeline(*filters: Any) -> list[Any]:
    """One system section, as the document's agents have one: the counts are those of a list with a single system message."""
    return [{"renderer": "system", "id": "brief", "template": f"{RULE} {TEMPLATE}"}, {"renderer": "history"}, *filters]


def pieces(body: Any) -> list[str]:
    """What a body of any dialect holds, in order, as the document's tap names it: a word for each part. Marks of the cache are no parts, and
    words of ours, for wires that ask for a list of another form, are not counted (T-02).
    """
    found = ["system" for key in ("system", "instructions", "systemInstruction") if key in body]
    for message in body.get("input") or body.get("contents") or body["messages"]:
        if message.get("type") in ("reasoning", "function_call", "function_call_output"):
            found.append({"reasoning": "thought", "function_call": "tool_call", "function_call_output": "tool_result"}[message["type"]])
            continue
        if message["role"] in ("system", "tool"):
            found.append({"system": "system", "tool": "tool_result"}[message["role"]])
            continue
        parts = message.get("parts") or message.get("content") or ()
        parts = [{"text": parts}] if isinstance(parts, str) else parts
        found += [piece(part, message["role"]) for part in parts if "cachePoint" not in part and part.get("text") not in OURS]
        found += ["tool_call" for _ in message.get("tool_calls") or ()]
    return found


def piece(part: Any, role: str) -> str:
    """The document's word for a part of a message."""
    if part.get("thought") or part.get("type") == "thinking" or "reasoningContent" in part:
        return "thought"
    if part.get("type") == "tool_use" or "toolUse" in part or "functionCall" in part:
        return "tool_call"
    if part.get("type") == "tool_result" or "toolResult" in part or "functionResponse" in part:
        return "tool_result"
    return "user" if role == "user" else "assistant"


def declared(body: Any) -> list[str]:
    """The names of the tools that a body declares."""
    if "toolConfig" in body and "tools" in body["toolConfig"]:
        return [one["toolSpec"]["name"] for one in body["toolConfig"]["tools"] if "toolSpec" in one]
    if "contents" in body:
        return [one["name"] for group in body["tools"] for one in group["functionDeclarations"]]
    return [one.get("function", one)["name"] for one in body["tools"]]


async def opened(providers: Providers, dialect: str, context: list[Any]) -> str:
    name = await providers.world.agent(name="triage", model=model_of(dialect), context=context, **DOCUMENT)
    return await providers.world.session(name, state={"session": ADA})


async def consult(providers: Providers, dialect: str, session: str, *says: Answer, between: Any = None) -> list[Any]:
    """One turn of two steps; `between`: a change of the state while the tool's result is waited for. Gives the bodies that were taken."""
    world, fake = providers.world, providers.fakes[dialect]
    fake.answers = [says[0]]
    turn = await world.turn(session, QUESTION)
    assert turn["status"] == "requires_action", (turn["error"], fake.refused)
    if between is not None:
        await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": between})
    fake.answers = [says[1]]
    turn = await world.results(session, turn["id"], [{"tool_call_id": turn["pending"][0]["tool_call_id"], "content": FOUND}])
    assert (turn["status"], fake.refused) == ("completed", [])
    return await served(world, dialect, session, turn, fake.served[-2:])


async def served(world: World, dialect: str, session: str, turn: Any, bodies: list[Any]) -> list[Any]:
    """The turn's calls with the bodies that went out: nobody objects to them, and each is derived again to the byte."""
    calls = []
    for id, body in zip(turn["calls"], bodies, strict=True):
        call = (await world.call("GET", f"/sessions/{session}/calls/{id}", 200)).json()
        again = (await world.call("GET", f"/sessions/{session}/calls/{id}/model-input", 200)).json()
        assert (again["verified"], again["body"]) == (True, body)
        assert objections(dialect, json.dumps(body).encode(), target_of(dialect, **model_of(dialect)["params"])) == []
        assert (call["message_count"], call["tools"]) == (again["message_count"], declared(body))
        calls.append({**call, "body": body, "losses": again["losses"]})
    return calls


@pytest.mark.req("S4-01", "S4-03", "S4-04", "S4-11", "S4-12", "S4-15", "S4-18", "S4-20", "S4-21", "S4-22", "S4-45")
@pytest.mark.parametrize("dialect", MODELS)
async def test_the_first_two_renders_have_the_documents_counts(providers: Providers, dialect: str):
    session = await opened(providers, dialect, pipeline())
    first, second = await consult(providers, dialect, session, LOOKS, ADVISES)
    assert [first["message_count"], second["message_count"]] == [2, 4 if dialect == "openai-chat" else 5]
    assert pieces(first["body"]) == ["system", "user"]
    thought = ["thought"] if dialect not in ("openai-chat", "gemini") else []
    assert pieces(second["body"]) == ["system", "user", *thought, "tool_call", "tool_result"]
    lost = [loss["what"] for loss in second["losses"]]
    assert lost == (["reasoning"] if dialect == "gemini" else []), "Gemini takes back the signature of a thought, on its call, and not its words"
    assert [call["tools"] for call in (first, second)] == [["lookup_allergies", "escalate_to_gp"]] * 2
    transcript = await providers.world.raw(session)
    assert [entry["kind"] for entry in transcript] == ["user_message", "assistant_message", "tool_result", "assistant_message"]
    ledger = await providers.world.ledger(session)
    assert len(ledger) > second["message_count"], "the ledger is longer than what a model sees of it"
    assert not {"session_opened", "model_call_started"} & set(strings(second["body"])), "bookkeeping is no message"


@pytest.mark.req("S4-02", "S4-05", "S4-13", "S4-27", "S4-28", "S4-29", "S4-31", "S4-32", "S4-33", "S4-34", "S4-35", "S4-36", "S4-48", "T-05")
@pytest.mark.parametrize("dialect", MODELS)
async def test_the_whole_agent_filters_narrows_and_follows_its_state(providers: Providers, dialect: str):
    """Its own question falls out of the second render, its rule never does; the state moves between two steps of one turn."""
    session = await opened(providers, dialect, pipeline(*FILTERS, *GATES))
    first, second = await consult(providers, dialect, session, LOOKS, ADVISES, between=BOB)
    assert [first["message_count"], second["message_count"]] == [2, 3]
    assert pieces(first["body"]) == ["system", "user"]
    assert pieces(second["body"]) == ["system", "tool_call", "tool_result"]
    texts = [set(strings(call["body"])) for call in (first, second)]
    assert [f"{RULE} {BRIEF_ADA}" in said for said in texts] == [True, False]
    assert [f"{RULE} {BRIEF_BOB}" in said for said in texts] == [False, True]
    assert not [said for said in texts[1] if THOUGHT in said or QUESTION in said]
    rows = {row["source"].get("seq"): row for row in second["manifest"]["decisions"] if row["source"]["kind"] == "entry"}
    asked, answered, *_ = await providers.world.raw(session)
    assert (rows[asked["seq"]]["disposition"], rows[asked["seq"]]["reason"]) == ("excluded", "not_recent")
    assert rows[answered["seq"]]["disposition"] == ("transformed" if dialect != "openai-chat" else "included")
    for call in (first, second):
        assert call["tools"] == ["lookup_allergies", "escalate_to_gp"]
        assert {key: call["body"].get(key) for key in CHOICES[dialect]} == CHOICES[dialect]
        (outside,) = [row for row in call["manifest"]["decisions"] if row["source"].get("name") == "escalate_to_gp"]
        assert (outside["disposition"], "narrowed" in outside["also"]) == ("included", True)
        assert ("not_enforced" in outside["also"]) is (dialect in NOT_ENFORCED)
    assert [text(entry) for entry in await providers.world.raw(session)] == [QUESTION, "", FOUND, ADVICE], "the ledger keeps all of it"


NOT_ENFORCED = ("anthropic-messages", "bedrock-converse")
"""The wires without a word for a part of the declared tools."""
CHOICES: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "lookup_allergies"}}]},
        }
    },
    "openai-responses": {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "lookup_allergies"}]}},
    "anthropic-messages": {"tool_choice": {"type": "auto"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["lookup_allergies"]}}},
    "bedrock-converse": {},
}
"""What each says of one allowed tool that has to be called; a model that thinks takes no forced call on two of them."""


@pytest.mark.req("S4-38", "S4-39", "T-05")
@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic-messages", "gemini"])
async def test_a_call_outside_the_list_is_answered_and_never_handed_off(providers: Providers, dialect: str):
    """The wire may not enforce a list; the service does, and the model is told why."""
    world, fake = providers.world, providers.fakes[dialect]
    session = await opened(providers, dialect, pipeline(*GATES))
    strays = Answer((Thinking(THOUGHT), ToolCall("escalate_to_gp", '{"reason": "unsure"}')))
    fake.answers = [strays, ADVISES]
    turn = await world.turn(session, QUESTION)
    assert (turn["status"], turn["pending"], fake.refused) == ("completed", [], [])
    _, second = await served(world, dialect, session, turn, fake.served[-2:])
    (result,) = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"]
    assert result["body"]["is_error"] is True
    (rejected,) = await world.ledger(session, kinds="tool_rejected")
    assert rejected["body"]["code"] == "tool-not-allowed"
    assert any(text(result) in said for said in strings(second["body"]))
