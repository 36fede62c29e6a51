"""The official client gets along with the Messages fake: streams, documents, counts, errors, faults."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx
import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, Usage
from tests.fakes.anthropic_messages import KEY, FakeAnthropic, fake_anthropic
from tests.fakes.anthropic_rules import OLD
from tests.fakes.anthropic_stream import read
from tests.fakes.serving import Fault

MODEL = "claude-opus-5-5"
TOOLS: Any = [{"name": "look", "input_schema": {"type": "object"}}]
ASK: Any = {"model": MODEL, "max_tokens": 2000, "messages": [{"role": "user", "content": "What is there?"}], "tools": TOOLS}
LOOKS = Answer(
    (Thinking("Let me see 🍏."), Redacted(), Text("I look.\u2028"), ToolCall("look", '{"where": "höhe"}'), ToolCall("look", tool_call_id="mine")),
    usage=Usage(7, 9, 11, 13, 5),
)


@pytest_asyncio.fixture
async def fake() -> AsyncIterator[FakeAnthropic]:
    async with fake_anthropic(answers=[LOOKS]) as served:
        yield served


@pytest_asyncio.fixture
async def client(fake: FakeAnthropic) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=KEY, base_url=fake.url, max_retries=0) as opened:
        yield opened


def seen(message: Any) -> list[tuple[str, Any]]:
    keys = {"thinking": "thinking", "redacted_thinking": "type", "text": "text", "tool_use": "input"}
    return [(block.type, getattr(block, keys[block.type])) for block in message.content]


@pytest.mark.parametrize("streams", [True, False])
async def test_the_client_reads_what_was_scripted(client: AsyncAnthropic, streams: bool):
    message: Any
    if streams:
        async with client.messages.stream(**ASK) as stream:
            message = await stream.get_final_message()
    else:
        message = await client.messages.create(**ASK)
    assert seen(message) == [
        ("thinking", "Let me see 🍏."),
        ("redacted_thinking", "redacted_thinking"),
        ("text", "I look.\u2028"),
        ("tool_use", {"where": "höhe"}),
        ("tool_use", {}),
    ]
    assert message.stop_reason == "tool_use"
    assert message.content[-1].id == "mine"
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (7, 9, 11, 13)
    assert usage.output_tokens_details.thinking_tokens == 5


async def test_what_is_written_is_what_is_read_back(fake: FakeAnthropic, client: AsyncAnthropic):
    async with httpx.AsyncClient() as plain:
        headers = {"x-api-key": KEY, "anthropic-version": OLD}
        wire = (await plain.post(f"{fake.url}/v1/messages", json={**ASK, "stream": True}, headers=headers)).content
    told = read(wire)
    assert [block["type"] for block in told["content"]] == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert told["content"][3]["input"] == '{"where": "höhe"}'
    async with fake_anthropic([wire]) as again, AsyncAnthropic(api_key=KEY, base_url=again.url) as other:
        async with other.messages.stream(**ASK) as stream:
            streamed = await stream.get_final_message()
        assert seen(await other.messages.create(**ASK)) == seen(streamed)


async def test_thinking_keeps_to_the_settings(client: AsyncAnthropic):
    omitted = await client.messages.create(**ASK, thinking={"type": "adaptive", "display": "omitted"})
    assert omitted.content[0].thinking == ""
    assert omitted.content[0].signature
    silent = await client.messages.create(**{**ASK, "model": "claude-sonnet-5", "thinking": {"type": "disabled"}})
    assert [block.type for block in silent.content] == ["text", "tool_use", "tool_use"]
    forced = await client.messages.create(**{**ASK, "model": "claude-opus-5", "tool_choice": {"type": "any"}})
    assert forced.content[0].type == "text"


async def test_broken_arguments_are_streamed_as_the_model_wrote_them(fake: FakeAnthropic, client: AsyncAnthropic):
    fake.answers = [Answer((ToolCall("look", '{"where": "h'),), stop="output_cap")]
    stream = await client.messages.create(**ASK, stream=True)
    events = [event async for event in stream]
    assert "".join(event.delta.partial_json for event in events if event.type == "content_block_delta") == '{"where": "h'
    assert events[-2].delta.stop_reason == "max_tokens"


async def test_counting(fake: FakeAnthropic, client: AsyncAnthropic):
    short = await client.messages.count_tokens(model=MODEL, messages=ASK["messages"])
    long = await client.messages.count_tokens(model=MODEL, messages=ASK["messages"], system="Be brief.", tools=TOOLS)
    assert 0 < short.input_tokens < long.input_tokens
    assert len(fake.counted) == 2
    assert fake.served == []
    fake.window_tokens = 10
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: .* tokens > 10 maximum"):
        await client.messages.create(**ASK)


async def test_keys_and_versions(fake: FakeAnthropic, client: AsyncAnthropic):
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
        await client.with_options(api_key="sk-ant-other").messages.create(**ASK)
    async with httpx.AsyncClient() as plain:

        async def post(path: str = "/v1/messages", **headers: str) -> tuple[int, str]:
            answer = await plain.post(f"{fake.url}{path}", json=ASK, headers={name.replace("_", "-"): value for name, value in headers.items()})
            return answer.status_code, answer.json().get("error", {}).get("message", "")

        assert (await post(x_api_key=KEY, anthropic_version=OLD))[0] == 200
        assert await post(anthropic_version=OLD) == (401, "x-api-key header is required")
        assert await post(x_api_key="wrong", authorization=f"Bearer {KEY}", anthropic_version=OLD) == (401, "invalid x-api-key")
        assert await post(x_api_key=KEY) == (400, "anthropic-version: header is required")
        assert await post(x_api_key=KEY, anthropic_version="2024-01-01") == (400, 'anthropic-version: "2024-01-01" is not a valid version')
        assert await post("/v1/complete", x_api_key=KEY, anthropic_version=OLD) == (404, "Not Found")


async def test_a_body_may_be_too_large(fake: FakeAnthropic, client: AsyncAnthropic):
    fake.body_bytes_max = 50
    with pytest.raises(anthropic.RequestTooLargeError):
        await client.messages.create(**ASK)


async def test_a_breach_comes_in_the_shape_of_an_error(fake: FakeAnthropic, client: AsyncAnthropic):
    with pytest.raises(anthropic.BadRequestError, match="unexpected `tool_use_id`") as refused:
        await client.messages.create(**{**ASK, "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]})
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["error"]["type"] == "invalid_request_error"
    assert refused.value.body["request_id"] == refused.value.request_id == "req_fake0001"
    assert len(fake.refused) == 1


async def test_faults(fake: FakeAnthropic, client: AsyncAnthropic):
    fake.faults = [
        Fault(429, headers={"retry-after": "3"}),
        Fault(529),
        Fault(stop_at_byte=900, then="error"),
        Fault(stop_at_byte=900),
        Fault(stop_at_byte=900, then="end"),
    ]
    with pytest.raises(anthropic.RateLimitError) as limited:
        await client.messages.create(**ASK)
    assert limited.value.response.headers["retry-after"] == "3"
    assert limited.value.response.headers["request-id"]
    with pytest.raises(anthropic.InternalServerError, match="overloaded_error"):
        await client.messages.create(**ASK)
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        await drained(client)
    with pytest.raises(Exception, match="incomplete"):
        await drained(client)
    assert (await drained(client))[-1] != "message_stop"
    assert (await drained(client))[-1] == "message_stop"


async def drained(client: AsyncAnthropic) -> list[str]:
    stream = await client.messages.create(**ASK, stream=True)
    async with asyncio.timeout(5):
        return [event.type async for event in stream]
