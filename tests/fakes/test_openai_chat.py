"""The fake is a fair judge: the official client gets along with it, and each rule of a conversation is one that it enforces."""

from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError

from tests.fakes.answers import Answer, Text, Thinking, ToolCall, Usage
from tests.fakes.openai_chat import KEY, fake_openai
from tests.fakes.openai_chat_rules import breaches

TEXT = (Path(__file__).parents[1] / "transcripts" / "openai_chat" / "text.sse.txt").read_bytes()
USER: dict[str, Any] = {"role": "user", "content": "How many?"}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}


def asks(*ids: str, name: str = "count") -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}} for id in ids]}


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "7"}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": list(messages), **more}


SERVED = [
    body(USER),
    body({"role": "developer", "content": "Be brief."}, USER, USER, asks("a", "b"), result("b"), result("a"), {"role": "assistant", "content": "7"}),
    body(USER, asks("a"), result("a"), tools=[TOOL], tool_choice="auto", stream_options={"include_usage": True}),
    body(USER, asks("a", name="other"), result("a"), tools=[TOOL]),  # names of the history need not be declared
    body(USER, tools=[{"type": "function", "function": {**TOOL["function"], "entrypoint": None}}]),  # ignored, not refused (12.4)
    body({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:,"}}]}),
    body(
        USER,
        tools=[TOOL],
        tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "count"}}]}},
    ),
]
REFUSED = {
    "no messages": body(),
    "unknown key": body(USER, colour="red"),
    "unknown role": body({"role": "robot", "content": "x"}),
    "unknown key of a message": body({**USER, "seq": 4}),
    "call without a result": body(asks("a")),
    "call without a result, before a user": body(asks("a"), USER, result("a")),
    "one of two calls without a result": body(asks("a", "b"), result("a"), USER),
    "result without a call": body(USER, result("a")),
    "result twice": body(asks("a"), result("a"), result("a")),
    "result of an earlier answer": body(asks("a"), result("a"), {"role": "assistant", "content": "x"}, result("a")),
    "same id twice": body(asks("a"), result("a"), asks("a"), result("a")),
    "id too long": body(asks("a" * 41), result("a" * 41)),
    "name out of bounds": body(asks("a", name="co unt"), result("a")),
    "empty answer": body(USER, {"role": "assistant", "content": None}),
    "no calls": body(USER, {"role": "assistant", "content": "x", "tool_calls": []}),
    "picture in a result": body(asks("a"), {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}),
    "empty parts": body({"role": "user", "content": []}),
    "empty tools": body(USER, tools=[]),
    "tools of one name": body(USER, tools=[TOOL, TOOL]),
    "choice without tools": body(USER, tool_choice="auto"),
    "choice of another tool": body(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "other"}}),
    "two caps": body(USER, max_tokens=1, max_completion_tokens=1),
    "options without a stream": {"model": "m", "messages": [USER], "stream_options": {"include_usage": True}},
}


@pytest.mark.parametrize("given", SERVED)
def test_what_the_endpoint_serves(given: Any):
    assert breaches(given) == []


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
def test_what_the_endpoint_refuses(given: Any):
    assert breaches(given)


async def test_the_official_client_gets_along_with_it():
    async with fake_openai([TEXT]) as fake, AsyncOpenAI(api_key=KEY, base_url=f"{fake.url}/v1", max_retries=0) as client:
        stream = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        said = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
        assert "".join(said) == "There are seven apple trees, 🍏\u2028and two pears."
        with pytest.raises(BadRequestError, match="preceeding message") as refused:
            await client.chat.completions.create(model="m", messages=[{"role": "tool", "tool_call_id": "a", "content": "x"}], stream=True)
        assert refused.value.param == "messages[0].role"
        assert len(fake.served) == len(fake.refused) == 1


async def test_the_official_client_reads_what_is_written_by_script_and_its_next_request_passes():
    calls = (ToolCall("count", '{"tree": "apple"}'), ToolCall("count"))
    first = Answer((Thinking("Hm."), Text("Let me count, 🍏 by 🍏."), *calls), usage=Usage(26, 40, 64, 0, 8))
    script = [first, Answer((Text("Seven."),), stop="output_cap")]
    async with fake_openai(answers=script) as fake, AsyncOpenAI(api_key=KEY, base_url=f"{fake.url}/v1", max_retries=0) as client:
        asked: list[Any] = [USER]
        async with client.chat.completions.stream(model="any", messages=asked, stream_options={"include_usage": True}) as stream:
            answer = await stream.get_final_completion()
        assert answer.choices[0].finish_reason == "tool_calls"
        said = answer.choices[0].message
        assert said.content == "Let me count, 🍏 by 🍏."
        assert [call.function.arguments for call in said.tool_calls or ()] == ['{"tree": "apple"}', "{}"]
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        assert answer.usage.completion_tokens_details is not None
        assert (answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens) == (90, 64)
        assert (answer.usage.completion_tokens, answer.usage.completion_tokens_details.reasoning_tokens) == (40, 8)
        ids = [call.id for call in said.tool_calls or ()]
        asked += [asks(*ids), *(result(id) for id in ids)]
        chunks = [chunk async for chunk in await client.chat.completions.create(model="any", messages=asked, stream=True)]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Seven."
        assert chunks[-1].choices[0].finish_reason == "length"
        assert len(fake.served) == 2
