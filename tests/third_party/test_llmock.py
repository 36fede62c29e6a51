"""The service against `llmock` 0.2.2 from PyPI.

Of the five dialects it speaks four; of Bedrock's Converse it has nothing. Chat it serves under each vendor's own path with one encoder, of
which the paths of two presets are tried beside OpenAI's. As measured, text, parallel tools, their results, usage and streams work in all six.
It thinks nothing, mints no opaque blocks, reports usage by an estimate of its own (so that here it is only known to be there) and counts the
tokens of no request.
"""

import json
from typing import Any

import httpx
import pytest

from tests.services.world import World
from tests.third_party.talks import FORMS, TOOLS, Wire, answers, check_calls, give, open_session, say, service, settings_of, spoken

WIRES = (
    Wire("chat", "openai-chat", "gpt-4o", 'dialect = "openai-chat"\nbase_url = "{url}/v1"'),
    Wire("responses", "openai-responses", "gpt-4o", 'dialect = "openai-responses"\nbase_url = "{url}/v1"'),
    Wire("anthropic", "anthropic-messages", "claude-sonnet-4-5", 'dialect = "anthropic-messages"\nbase_url = "{url}/anthropic/v1"'),
    Wire("gemini", "gemini", "gemini-2.5-flash", 'dialect = "gemini"\nbase_url = "{url}/gemini/v1beta"'),
    Wire("mistral", "openai-chat", "mistral-large-4", 'preset = "mistral"\nbase_url = "{url}/mistral/v1"'),
    Wire("groq", "openai-chat", "openai/gpt-oss-20b", 'preset = "groq"\nbase_url = "{url}/groq/openai/v1"'),
)
PATIENT = Wire("patient", "openai-chat", "gpt-4o", 'dialect = "openai-chat"\nbase_url = "{url}/v1"\nretries_max = 2')
HELLO = "Bonjour, le monde — 你好! It is a fine day."
TOLD = "It is 21 degrees in Oslo, at noon."
CALLED = [("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Oslo"})]

each_wire = pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
async def world(llmock, database_url, tmp_path):
    await admin(llmock, "POST", "reset")
    async with service(settings_of([*WIRES, PATIENT], llmock, database_url, tmp_path)) as found:
        yield found


async def admin(url: str, method: str, path: str, body: Any = None) -> Any:
    async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
        answer = await client.request(method, f"{url}/_llmock/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()


async def script(url: str, *behaviors: dict[str, Any]) -> None:
    """What the next requests get, one each."""
    await admin(url, "POST", "scenario", {"behaviors": list(behaviors)})


@each_form
@each_wire
async def test_a_text(llmock: str, world: World, wire: Wire, form: str) -> None:
    session = await open_session(world, wire)
    for number in (1, 2):
        await script(llmock, {"type": "reply", "text": HELLO})
        answer = await say(world, form, session, "Say hello")
        assert answer.turn["status"] == "completed", answer.turn["error"]
        if form == "stream":
            assert (answer.text, answer.pieces > 2) == (HELLO, True)
        assert answer.turn["usage"]["input"] > 0
        assert answer.turn["usage"]["output"] > 0
        last = (await answers(world, session))[-1]
        assert (spoken(last), last["stop_reason"]) == ([("text", HELLO)], "finished")
        await check_calls(world, session, wire, number)


@each_form
@each_wire
async def test_parallel_tools_their_results_and_what_follows(llmock: str, world: World, wire: Wire, form: str) -> None:
    calls = [{"name": name, "arguments": arguments} for name, arguments in CALLED]
    await script(llmock, {"type": "reply", "tool_calls": calls}, {"type": "reply", "text": TOLD}, {"type": "reply", "text": HELLO})
    session = await open_session(world, wire, tools=TOOLS)
    turn = (await say(world, form, session, "What is the weather in Oslo, and what the time?")).turn
    assert turn["status"] == "requires_action", turn["error"]
    assert [(one["name"], json.loads(one["arguments"])) for one in turn["pending"]] == CALLED
    assert len({one["tool_call_id"] for one in turn["pending"]}) == 2
    answer = await give(world, form, session, turn, {"get_weather": "21 degrees", "get_time": "noon"})
    assert answer.turn["status"] == "completed", answer.turn["error"]
    if form == "stream":
        assert answer.text == TOLD
    first, last = await answers(world, session)
    assert (first["stop_reason"], last["stop_reason"]) == ("tool_calls", "finished")
    assert spoken(last) == [("text", TOLD)]
    assert (await say(world, form, session, "Say hello")).turn["status"] == "completed"
    await check_calls(world, session, wire, 3)


@each_wire
async def test_a_loop_of_its_own_accord(llmock: str, world: World, wire: Wire) -> None:
    """Unscripted, it calls the tool offered that fits the words, with arguments after its schema, until it reads a result behind them."""
    session = await open_session(world, wire, tools=TOOLS)
    turn = (await say(world, "stream", session, "Tell me the time")).turn
    assert turn["status"] == "requires_action", turn["error"]
    ((name, arguments),) = [(one["name"], json.loads(one["arguments"])) for one in turn["pending"]]
    assert (name, list(arguments)) == ("get_time", ["city"])
    answer = await give(world, "stream", session, turn, {"get_time": "21 o'clock"})
    assert (answer.turn["status"], answer.text != "") == ("completed", True), answer.turn["error"]
    sent = (await admin(llmock, "GET", "requests"))["requests"]
    assert [one["status"] for one in sent] == [200, 200]
    assert ["21 o'clock" in json.dumps(one["body"]) for one in sent] == [False, True]
    await check_calls(world, session, wire, 2)


FAULTS = [
    ({"type": "fail", "status": 503}, "upstream-error"),
    ({"type": "fail", "status": 401}, "upstream-auth"),
    ({"type": "fail", "status": 429}, "upstream-rate-limited"),
    ({"type": "stream_fault", "kind": "disconnect", "after_chunks": 3}, "stream-truncated"),
    ({"type": "stream_fault", "kind": "truncate", "after_chunks": 3}, "stream-truncated"),
    ({"type": "stream_fault", "kind": "malformed", "after_chunks": 3}, "upstream-error"),
]


@each_wire
async def test_each_way_to_fail_is_told_as_what_it_is(llmock: str, world: World, wire: Wire) -> None:
    """No truncated or corrupted stream is taken for an answer, and the service goes on after each."""
    session = await open_session(world, wire)
    for fault, code in FAULTS:
        await script(llmock, fault, {"type": "reply", "text": HELLO})
        answer = await say(world, "stream", session, "Say hello")
        assert (answer.turn["status"], answer.turn["error"]["code"]) == ("failed", code), (fault, answer.turn["error"])
        assert HELLO.startswith(answer.text), fault
        await admin(llmock, "POST", "reset")
    await script(llmock, {"type": "reply", "text": HELLO})
    assert (await say(world, "stream", session, "Say hello")).text == HELLO


async def test_it_finds_no_fault_with_the_retries(llmock: str, world: World) -> None:
    """As llmock judges: not sooner than `Retry-After` says, with a growing wait, and never after what no repeat can mend."""
    session = await open_session(world, PATIENT)
    await script(llmock, {"type": "fail", "status": 429, "retry_after": 1}, {"type": "fail", "status": 503}, {"type": "reply", "text": HELLO})
    assert (await say(world, "stream", session, "Say hello")).text == HELLO
    await script(llmock, {"type": "fail", "status": 400})
    assert (await say(world, "stream", session, "Say hello again")).turn["status"] == "failed"
    verdict = await admin(llmock, "GET", "verdict")
    assert (verdict["findings"], verdict["attempts"], verdict["faults_injected"]) == ([], 4, 3)
