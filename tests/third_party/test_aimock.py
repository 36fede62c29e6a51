"""The service against `@copilotkit/aimock` 1.43.0 from npm.

It speaks all five dialects, and OpenRouter's and Azure's paths of Chat. As measured, text, reasoning, parallel tools, their results, usage and
streams work in all of them, with these peculiarities of its own:

- Converse: it opens a block of text by `start: {}` and one of reasoning by a `start` that AWS does not have. botocore cannot read such a stream;
  the service's own reader takes a block by its deltas and is not disturbed.
- Gemini: served under `/v1beta` alone. Calls end with `FUNCTION_CALL`, which is none of Gemini's finish reasons: the service takes an answer
  with an unknown end for cut off and runs none of its calls. The rules here make it end with `STOP`, as Gemini does.
- Responses: to a model that reasons it mints an encrypted block without a summary, whatever its rules say; its events have no numbers.
- OpenRouter: reasoning comes as `reasoning_content`, where OpenRouter itself says `reasoning`.
- It counts the tokens of no request, and checks nothing: what it accepts proves no body right, what it says back proves that ours was understood.
"""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.services.world import World
from tests.third_party.rules import ASKED, GEMINI, HELLO, INPUT, LONG, OUTPUT, REASONED, THOUGHT, TOLD
from tests.third_party.talks import FORMS, TOOLS, Wire, answers, check_calls, give, open_session, say, service, settings_of, spoken

AWS = 'aws_region = "eu-west-1"\naws_access_key_id_env = "FAKE_ID"\naws_secret_access_key_env = "FAKE_SECRET"'
WIRES = (
    Wire("chat", "openai-chat", "gpt-5-mini", 'dialect = "openai-chat"\nbase_url = "{url}/v1"'),
    Wire("responses", "openai-responses", "gpt-5-mini", 'dialect = "openai-responses"\nbase_url = "{url}/v1"'),
    Wire("anthropic", "anthropic-messages", "claude-sonnet-4-5", 'dialect = "anthropic-messages"\nbase_url = "{url}/v1"'),
    Wire("gemini", "gemini", GEMINI, 'dialect = "gemini"\nbase_url = "{url}/v1beta"'),
    Wire("bedrock", "bedrock-converse", "amazon.nova-pro-v1:0", f'dialect = "bedrock-converse"\nbase_url = "{{url}}"\n{AWS}'),
    Wire("openrouter", "openai-chat", "gpt-5-mini", 'preset = "openrouter"\nbase_url = "{url}/api/v1"'),
    Wire("azure", "openai-chat", "house", 'preset = "azure"\nbase_url = "{url}/openai/deployments/house"'),
)

each_wire = pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
async def world(aimock, database_url, tmp_path):
    async with service(settings_of(WIRES, aimock, database_url, tmp_path)) as found:
        yield found


async def heard(url: str) -> list[Any]:
    """The messages of the last request, as aimock read them: in Chat's words, whatever they came in."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
        last = (await client.get(f"{url}/__aimock/journal")).json()[-1]
    return list(last["body"]["messages"])


@each_form
@each_wire
async def test_a_text(world: World, wire: Wire, form: str) -> None:
    session = await open_session(world, wire)
    for number in (1, 2):
        answer = await say(world, form, session, "Say hello")
        assert answer.turn["status"] == "completed", answer.turn["error"]
        if form == "stream":
            assert (answer.text, answer.pieces > 2) == (HELLO, True)
        assert (answer.turn["usage"]["input"], answer.turn["usage"]["output"]) == (INPUT, OUTPUT)
        last = (await answers(world, session))[-1]
        assert (spoken(last), last["stop_reason"]) == ([("text", HELLO)], "finished")
        await check_calls(world, session, wire, number)


@each_form
@each_wire
async def test_parallel_tools_their_results_and_what_follows(aimock: str, world: World, wire: Wire, form: str) -> None:
    session = await open_session(world, wire, tools=TOOLS)
    turn = (await say(world, form, session, ASKED)).turn
    assert turn["status"] == "requires_action", turn["error"]
    called = [("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Oslo"})]
    assert [(one["name"], json.loads(one["arguments"])) for one in turn["pending"]] == called
    ids = [one["tool_call_id"] for one in turn["pending"]]
    assert len(set(ids)) == 2
    answer = await give(world, form, session, turn, {"get_weather": "21 degrees", "get_time": "noon"})
    assert answer.turn["status"] == "completed", answer.turn["error"]
    if form == "stream":
        assert answer.text == TOLD
    assert (answer.turn["usage"]["input"], answer.turn["usage"]["output"]) == (2 * INPUT, 2 * OUTPUT)
    first, last = await answers(world, session)
    assert (first["stop_reason"], last["stop_reason"]) == ("tool_calls", "finished")
    assert spoken(last) == [("text", TOLD)]
    check_heard(await heard(aimock), called)
    assert (await say(world, form, session, "Say hello")).turn["status"] == "completed"
    await check_calls(world, session, wire, 3)
    *earlier, answered, hello = await heard(aimock)
    check_heard(earlier, called)
    assert (answered["content"], hello["content"]) == (TOLD, "Say hello")


def check_heard(messages: Sequence[Any], called: Sequence[tuple[str, Any]]) -> None:
    """The system's words, the question, both calls and, tied to them by id, both results."""
    system, question, *later = messages
    assert (system["role"] in ("system", "developer"), system["content"]) == (True, "You answer travellers.")
    assert (question["role"], question["content"]) == ("user", ASKED)
    calls = [one for message in later if message["role"] == "assistant" for one in message["tool_calls"]]
    results = [message for message in later if message["role"] == "tool"]
    assert [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in calls] == called
    assert [one["tool_call_id"] for one in results] == [one["id"] for one in calls]
    for result, said in zip(results, ("21 degrees", "noon"), strict=True):
        assert said in result["content"]


@each_form
@each_wire
async def test_reasoning_stands_apart_from_the_answer(world: World, wire: Wire, form: str) -> None:
    session = await open_session(world, wire)
    answer = await say(world, form, session, "Think first")
    assert answer.turn["status"] == "completed", answer.turn["error"]
    (last,) = await answers(world, session)
    assert spoken(last) == [("reasoning", THOUGHT), ("text", REASONED)]
    assert (await say(world, form, session, "Say hello")).turn["status"] == "completed", "its own blocks are taken back"


async def test_calls_of_an_answer_that_ended_for_an_unknown_reason_are_not_run(world: World) -> None:
    """What aimock ends Gemini's calls with unless it is told otherwise: FUNCTION_CALL, which is none of Gemini's finish reasons."""
    wire = next(each for each in WIRES if each.dialect == "gemini")
    session = await open_session(world, wire, tools=TOOLS)
    turn = (await say(world, "json", session, "Call oddly")).turn
    assert (turn["status"], turn["pending"]) == ("completed", []), turn["error"]
    first, last = await answers(world, session)
    assert (first["stop_reason"], spoken(last)) == ("other", [("text", HELLO)])


@each_wire
async def test_a_stream_that_is_cut_is_a_failed_answer(world: World, wire: Wire) -> None:
    session = await open_session(world, wire)
    answer = await say(world, "stream", session, "Be cut")
    assert (answer.turn["status"], answer.turn["error"]["code"]) == ("failed", "stream-truncated"), answer.turn
    assert LONG.startswith(answer.text)
    assert len(answer.text) < len(LONG)


@each_wire
async def test_a_busy_provider_is_told_as_such(world: World, wire: Wire) -> None:
    session = await open_session(world, wire)
    turn = (await say(world, "json", session, "Be busy")).turn
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-rate-limited"), turn
    assert await answers(world, session) == []
