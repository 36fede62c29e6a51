"""Ten steps, another provider after each, in every order of two: over the running service and the five strict fakes on sockets.

A step is a model call. Every second one is made in the middle of a turn: the calls that one provider asked for are answered to another.
"""

import base64
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from app.context.compile import compile_context
from app.formats.registry import FORMATS
from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall
from tests.judges.conftest import Providers
from tests.judges.judging import objections
from tests.judges.ledgers import GIF, PNG
from tests.judges.targets import MODELS, target_of
from tests.judges.test_talks import tokens_in
from tests.services.world import World
from tests.strategies import AGENTS, Ledger, call, tokens

DIALECTS = tuple(MODELS)
TOOLS = [{"name": "lookup", "description": "Finds a record."}, {"name": "show", "description": "Shows a picture."}]
CONTEXT = [{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}]
LIMITS = {"context_window": 200_000, "max_output_tokens": 8_192}


def route(shift: int) -> list[str]:
    """Ten steps: every second switch, the one in the middle of a turn, goes from a dialect to the one that is so many places further."""
    stride = 1 if shift == 2 else 2  # so that the next turn does not begin where this one ended
    found: list[str] = []
    for number in range(5):
        first = number * stride % 5
        found += [DIALECTS[first], DIALECTS[(first + shift) % 5]]
    return found


ROUTES = [route(shift) for shift in (1, 2, 3, 4)]


def model_of(dialect: str) -> dict[str, Any]:
    thinks = {} if dialect == "openai-chat" else {"reasoning": {"effort": "high"}}
    return {"upstream": dialect, "name": MODELS[dialect][0], "params": thinks}


def picture(content: bytes, media_type: str) -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(content).decode(), "media_type": media_type}


def asks(step: int) -> Answer:
    calls = (ToolCall("lookup", f'{{"step":{step},"deep":{{"list":[1,2.50,null]}}}}'), ToolCall("show", ""))
    return Answer((Thinking(f"At {step} I wonder."), Text(f"At {step} I look."), *calls))


def closes(step: int) -> Answer:
    return Answer((Thinking(f"At {step} I see."), Redacted(), Text(f"At {step} I know.")))


def test_the_routes_take_every_order_of_two():
    assert {pair for way in ROUTES for pair in pairwise(way)} == {(one, other) for one in DIALECTS for other in DIALECTS if one != other}
    assert all(len(way) == 10 and {way.count(dialect) for dialect in DIALECTS} == {2} for way in ROUTES)


@pytest.mark.req("S2-25", "X-20", "X-21", "X-23", "X-24", "S0-28", "S0-29")
@pytest.mark.parametrize("way", ROUTES, ids=[" ".join(dialect[:4] for dialect in way) for way in ROUTES])
async def test_a_conversation_that_changes_its_provider_after_every_step(providers: Providers, way: list[str]):
    world = providers.world
    name = await world.agent(model=model_of(way[0]), limits=LIMITS, tools=TOOLS, context=CONTEXT)
    session = await world.session(name)
    turn: Any = None
    known: list[Any] = []
    for step, dialect in enumerate(way):
        await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model_of(dialect)})
        providers.fakes[dialect].answers = [closes(step) if step % 2 else asks(step)]
        if step % 2:
            found = {"lookup": f"Record {step}", "show": [{"type": "text", "text": f"Picture {step}"}, picture(GIF, "image/gif")]}
            turn = await world.results(
                session, turn["id"], [{"tool_call_id": each["tool_call_id"], "content": found[each["name"]]} for each in turn["pending"]]
            )
        else:
            turn = await world.turn(session, [{"type": "text", "text": f"Question {step}"}, picture(PNG, "image/png")])
        refused = {each: fake.refused for each, fake in providers.fakes.items() if fake.refused}
        assert not refused, (step, refused)
        assert turn["status"] == ("completed" if step % 2 else "requires_action"), (step, turn["error"])
        await whole(world, session, turn, providers.fakes[dialect].served[-1], dialect)
        entries = await world.ledger(session)
        assert entries[: len(known)] == known, "what was not sent is still there"
        known = entries
    blocks_came_back(providers, known)
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


async def whole(world: World, session: str, turn: Any, sent: Any, dialect: str) -> None:
    """The call as it was made: nobody objects to its body, and whatever is not in it has a row among the losses."""
    call = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][-1]}/model-input", 200)).json()
    assert call["verified"] is True
    assert call["body"] == sent
    target = target_of(dialect, **model_of(dialect)["params"])
    assert objections(dialect, json.dumps(sent).encode(), target) == []
    told = {(loss.get("seq"), loss.get("part")) for loss in call["losses"]}
    said = set(strings(sent))
    for entry in await world.raw(session, view="ledger", kinds="user_message,assistant_message,tool_result"):
        if entry["seq"] <= call["head_seq"]:
            for position, part in enumerate(entry["body"]["parts"]):
                assert present(part, said, sent) or (entry["seq"], position) in told, (dialect, entry["seq"], position, part, call["losses"])


def present(part: Any, said: set[str], body: Any) -> bool:
    """Whether the body holds what a part says, with the tokens that its provider wants back."""
    if not all(any(token in text for text in said) for token in tokens_in(json.loads(part.get("opaque") or "{}"))):
        return False
    match part["type"]:
        case "text":
            return any(part["text"] in text for text in said)
        case "image":
            return any(base64.b64encode(PNG if part["blob"]["media_type"] == "image/png" else GIF).decode() in text for text in said)
        case "tool_call":
            return part["name"] in said and any(json.loads(part["arguments"] or "{}") == each for each in objects(body))
        case "reasoning":
            return "opaque" in part or part["text"] in said
    return False


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


def objects(value: Any) -> Iterator[Any]:
    """Every object of a body, also those that are spelled as text."""
    if isinstance(value, str) and value.startswith("{"):
        yield json.loads(value)
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def blocks_came_back(providers: Providers, entries: list[Any]) -> None:
    """Each token that a provider minted for its first answer stands in the body of its second call, and in nobody else's."""
    bodies = {dialect: [set(strings(body)) for body in fake.served] for dialect, fake in providers.fakes.items()}
    for dialect, mints in MINTS.items():
        first = next(entry for entry in entries if entry["kind"] == "assistant_message" and entry["body"]["model"] == MODELS[dialect][0])
        minted = [token for part in first["body"]["parts"] for token in tokens_in(json.loads(part.get("opaque") or "{}"))]
        assert minted, dialect
        assert all(mints(providers.fakes[dialect], token) for token in minted), "it is the provider's own, letter for letter"
        assert len(bodies[dialect]) == 2
        assert set(minted) <= bodies[dialect][1], dialect
        assert not any(set(minted) & said for other, served in bodies.items() if other != dialect for said in served)


MINTS = {
    "openai-responses": lambda fake, token: token in fake.book.tokens,
    "anthropic-messages": lambda fake, token: token in fake.book._by_token,
    "gemini": lambda fake, token: base64.b64decode(token) in fake.book.minted,
    "bedrock-converse": lambda fake, token: token in fake.book._by_token,
}


@pytest.mark.req("S1-07")
@pytest.mark.parametrize("dialect", FORMATS)
def test_the_input_of_an_agent_is_user_input_on_every_wire(dialect: str):
    ledger = Ledger()
    ledger.user("Go on.")
    ledger.answer("I did.")
    ledger.agent("The planner says: next.")
    target = target_of(dialect)
    body = FORMATS[dialect].write_request(compile_context(ledger.sources(target=target), tokens).request, {}).body
    assert objections(dialect, body, target) == []
    document = json.loads(body)
    (message,) = [
        each for each in next(document[key] for key in ("messages", "contents", "input") if key in document) if "planner" in json.dumps(each)
    ]
    assert message["role"] == "user"


NURSE = "You are a triage nurse."
FACTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "/messages/0": {"role": "system", "content": NURSE},
        "/messages/2/tool_calls/0/function/arguments": '{"a":1}',
        "/messages/3/role": "tool",
    },
    "openai-responses": {"/instructions": NURSE, "/input/1/arguments": '{"a":1}', "/input/2/type": "function_call_output"},
    "anthropic-messages": {
        "/system/0/text": NURSE,
        "/messages/1/content/0/input": {"a": 1},
        "/messages/2/role": "user",
        "/messages/2/content/0/type": "tool_result",
        "/max_tokens": 16_384,
    },
    "gemini": {"/systemInstruction/parts/0/text": NURSE, "/contents/1/parts/0/functionCall/args": {"a": 1}, "/contents/2/role": "user"},
    "bedrock-converse": {
        "/system/0/text": NURSE,
        "/messages/1/content/0/toolUse/input": {"a": 1},
        "/messages/2/role": "user",
        "/messages/2/content/0/toolResult/content/0/text": "ok",
    },
}


@pytest.mark.req("X-24")
@pytest.mark.parametrize("dialect", FORMATS)
def test_where_each_wire_has_its_instructions_arguments_results_and_cap(dialect: str):
    ledger = Ledger()
    ledger.user("How many?")
    ledger.answer(call("c", arguments='{"a":1}'))
    ledger.result("c")
    target = target_of(dialect)
    body = FORMATS[dialect].write_request(compile_context(ledger.sources(AGENTS[1], target), tokens).request, {}).document
    assert {pointer: at(json.loads(json.dumps(body)), pointer) for pointer in FACTS[dialect]} == FACTS[dialect]


def at(body: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body
