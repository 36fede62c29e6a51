"""The Responses fake at work: the official client reads what it writes, its tokens are its own, and it fails as it is told to."""

import json
from typing import Any

import httpx
import pytest
from openai import APIError, AsyncOpenAI, AuthenticationError, BadRequestError, RateLimitError
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, Usage
from tests.fakes.openai_responses import KEY, OTHER_KEY, FakeOpenAIResponses, fake_openai_responses, tokens
from tests.fakes.openai_responses_stream import framed
from tests.fakes.serving import Fault

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
USER: dict[str, Any] = {"role": "user", "content": "How many?"}
TOOL: dict[str, Any] = {"type": "function", "name": "count", "strict": False, "parameters": {"type": "object", "properties": {}}}
CALLS = (ToolCall("count", '{"tree": 1}'), ToolCall("count"))
ASKS = Answer((Thinking("Let me see."), Text("I count, 🍏 by 🍏."), *CALLS), usage=Usage(26, 40, 64, 0, 8))
DONE = Answer((Redacted(), Text("Seven.")))


def client(fake: FakeOpenAIResponses, key: str = KEY) -> Any:
    """The official client. What it answers is a union of some thirty types each time, which is not worth spelling out."""
    return AsyncOpenAI(api_key=key, base_url=f"{fake.url}/v1", max_retries=0)


async def ask(openai: Any, *items: Any, model: str = "any", **more: Any) -> Any:
    """The response as the stream tells it, gathered from the items that were closed; each event is of the SDK's types."""
    stream = await openai.responses.create(model=model, input=list(items), stream=True, **({"store": False} | more))
    told = [event async for event in stream]
    assert [event.sequence_number for event in told] == list(range(len(told)))
    for event in told:
        EVENT.validate_json(event.to_json(exclude_unset=True), strict=True)
    assert told[-1].type in ("response.completed", "response.incomplete")
    closed = [event.item for event in told if event.type == "response.output_item.done"]
    assert [bare(item) for item in closed] == [bare(item) for item in told[-1].response.output]
    for item in closed:
        deltas = [event.delta for event in told if event.type.endswith(".delta") and getattr(event, "item_id", None) == item.id]
        texts = {"message": "content", "reasoning": "summary"}
        whole = item.arguments if item.type == "function_call" else "".join(part.text for part in getattr(item, texts[item.type]))
        assert "".join(deltas) == whole
    return told[-1].response


def bare(item: Any) -> dict[str, Any]:
    """An item without its token, of which each telling has its own."""
    return {key: value for key, value in item.to_dict().items() if key != "encrypted_content"}


def items(response: Any) -> list[Any]:
    return [item.to_dict() for item in response.output]


def results(response: Any) -> list[Any]:
    return [{"type": "function_call_output", "call_id": item.call_id, "output": "7"} for item in response.output if item.type == "function_call"]


async def test_the_official_client_holds_a_conversation_with_it():
    async with fake_openai_responses(answers=[ASKS, DONE]) as fake, client(fake) as openai:
        first = await ask(openai, USER, tools=[TOOL])
        assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
        assert first.output_text == "I count, 🍏 by 🍏."
        assert (first.usage.input_tokens, first.usage.input_tokens_details.cached_tokens) == (90, 64)
        assert (first.usage.output_tokens, first.usage.output_tokens_details.reasoning_tokens) == (40, 8)
        second = await ask(openai, USER, *items(first), *results(first), tools=[TOOL])
        assert (second.output_text, second.output[0].type) == ("Seven.", "reasoning")
        whole = await openai.responses.create(model="any", input=[USER], store=False)
        assert (whole.status, whole.output_text) == ("completed", "Seven.")
        counted = await openai.responses.input_tokens.count(model="any", input=[USER])
        assert counted.input_tokens == tokens(fake.counted[0])
        assert (len(fake.served), fake.refused) == (3, [])


async def test_how_an_answer_ends():
    script = [Answer((Text("Sev"),), stop="output_cap"), Answer((Text("No."),), stop="refused")]
    async with fake_openai_responses(answers=script) as fake, client(fake) as openai:
        for reason in ("max_output_tokens", "content_filter"):
            response = await ask(openai, USER)
            assert (response.status, response.incomplete_details.reason, response.output[0].status) == ("incomplete", reason, "incomplete")


async def test_an_item_has_another_token_each_time_it_is_told_and_the_first_is_not_good():
    async with fake_openai_responses(answers=[DONE]) as fake, client(fake) as openai:
        told = [event async for event in await openai.responses.create(model="any", input=[USER], stream=True, store=False)]
        opened, closed = (next(event.item for event in told if event.type == f"response.output_item.{word}") for word in ("added", "done"))
        again, said = told[-1].response.output
        assert len({opened.encrypted_content, closed.encrypted_content, again.encrypted_content}) == 3
        for good in (closed, again):
            await ask(openai, USER, good.to_dict(), said.to_dict(), USER)
        with pytest.raises(BadRequestError, match="could not be decrypted"):
            await ask(openai, USER, opened.to_dict(), said.to_dict(), USER)


async def test_reasoning_goes_back_only_as_it_came_and_where_it_came_from():
    async with fake_openai_responses(answers=[ASKS]) as fake, client(fake) as openai, client(fake, OTHER_KEY) as other:
        first = await ask(openai, USER)
        reasoning, said, *calls = items(first)
        rest, unnamed = [said, *calls, *results(first)], {key: value for key, value in said.items() if key != "id"}

        async def refused(words: str, *given: Any, by: Any = openai, model: str = "any") -> None:
            with pytest.raises(BadRequestError, match=words):
                await ask(by, *given, model=model)

        await refused("could not be decrypted", USER, {**reasoning, "encrypted_content": reasoning["encrypted_content"][:-1]}, *rest)
        await refused("could not be decrypted", USER, {**reasoning, "encrypted_content": "gAAAAABoforeign"}, *rest)
        await refused("model did not match", USER, reasoning, *rest, model="another")
        await refused("organization_id did not match", USER, reasoning, *rest, by=other)
        await refused("item_id did not match", USER, {**reasoning, "id": "rs_2"}, *rest)
        await refused("summary", USER, {**reasoning, "summary": []}, *rest)
        await refused("without its required following item", USER, reasoning, *calls, *results(first))
        await refused("without its required following item", USER, reasoning, {**said, "id": "msg_2"}, *calls, *results(first))
        await refused("without its required 'reasoning' item", USER, *rest)
        await refused("'function_call' was provided without", USER, unnamed, *calls, *results(first))
        none = [{key: value for key, value in item.items() if key != "id"} for item in (reasoning, said, *calls)]
        for given in ([reasoning, *rest], [*none, *results(first)], [*none[1:], *results(first)], [reasoning, unnamed, *calls, *results(first)]):
            await ask(openai, USER, *given)
        assert {found[0].code for _, found in fake.refused[:6]} == {"invalid_encrypted_content"}


async def test_what_is_stored_can_be_named():
    async with fake_openai_responses(answers=[ASKS, DONE]) as fake, client(fake) as openai, client(fake, OTHER_KEY) as other:
        first = await ask(openai, USER, store=True)
        named = [{"type": "item_reference", "id": item.id} for item in first.output]
        await ask(openai, USER, *named, *results(first))
        await ask(openai, *results(first), previous_response_id=first.id)
        await ask(openai, USER, bare(first.output[0]), *items(first)[1:], *results(first), store=True)
        with pytest.raises(BadRequestError, match="Items are not persisted"):
            await ask(other, USER, bare(first.output[0]), *items(first)[1:], *results(first), store=True)
        with pytest.raises(BadRequestError, match="No tool output found"):
            await ask(openai, USER, previous_response_id=first.id)
        for given in ({"previous_response_id": first.id}, {"previous_response_id": "resp_2"}):
            with pytest.raises(BadRequestError, match="not found"):
                await ask(other, *results(first), **given)
        with pytest.raises(BadRequestError, match="Items are not persisted"):
            await ask(other, USER, named[1])
        second = await ask(openai, USER)
        with pytest.raises(BadRequestError, match="Items are not persisted"):
            await ask(openai, USER, {"type": "item_reference", "id": second.output[1].id})


async def test_a_recorded_stream_is_played_to_the_byte_and_its_tokens_are_good():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    said = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Seven.\u2028"}]}
    closed = [{"type": "response.output_item.done", "item": item} for item in (reasoning, said)]
    again = {"id": "resp_1", "output": [{**reasoning, "encrypted_content": "gBBBB"}, said]}
    stream = framed(iter([*closed, {"type": "response.completed", "response": again}]))
    async with fake_openai_responses([stream]) as fake, httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as http:
        asked = {"model": "m", "input": [USER], "stream": True, "store": False}
        assert (await http.post(f"{fake.url}/v1/responses", json=asked)).content == stream
        for token, found in (("gAAAA", 0), ("gBBBB", 0), ("gCCCC", 1)):
            assert len(fake.judge({**asked, "input": [USER, {**reasoning, "encrypted_content": token}, said]})) == found
        assert len(fake.judge({**asked, "input": [USER, said]})) == 1


async def test_a_recorded_stream_is_for_requests_that_stream():
    stream = b'event: response.created\ndata: {"type":"response.created"}\n\n' * 40
    async with fake_openai_responses([stream]) as fake, httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as http:
        url = f"{fake.url}/v1/responses"
        assert (await http.post(url, json={"model": "m", "input": "x", "stream": True})).content == stream
        assert (await http.post(url, json={"model": "m", "input": "x"})).json()["error"]["param"] == "stream"


async def test_keys_and_places():
    async with fake_openai_responses(answers=[DONE]) as fake, httpx.AsyncClient() as http:
        with pytest.raises(AuthenticationError, match="Incorrect API key"):
            async with client(fake, "sk-wrong") as openai:
                await ask(openai, USER)
        bare = await http.post(f"{fake.url}/v1/responses", json={"model": "m", "input": "x"})
        assert (bare.status_code, bare.json()["error"]["type"]) == (401, "invalid_request_error")
        assert (await http.post(f"{fake.url}/v1/chat/completions", headers={"authorization": f"Bearer {KEY}"})).status_code == 404
        assert (fake.served, fake.refused) == ([], [])
        assert fake.upstream().base_url == f"{fake.url}/v1"


async def test_it_fails_on_demand():
    async with fake_openai_responses(answers=[ASKS]) as fake, client(fake) as openai:
        fake.faults = [Fault(429, headers={"retry-after": "7"}), Fault(429, "insufficient_quota"), Fault(403)]
        with pytest.raises(RateLimitError) as busy:
            await ask(openai, USER)
        assert (busy.value.response.headers["retry-after"], busy.value.code) == ("7", "rate_limit_exceeded")
        assert busy.value.request_id == "req_fake_failed_1"
        for status, code in ((429, "insufficient_quota"), (403, "unsupported_country_region_territory")):
            with pytest.raises(APIError) as failed:
                await ask(openai, USER)
            assert (getattr(failed.value, "status_code", None), failed.value.code) == (status, code)
        assert len(fake.failed) == 3


@pytest.mark.parametrize(("shape", "ends"), [("flat", ["error"]), ("nested", ["error", "response.failed"]), ("failed", ["response.failed"])])
async def test_an_error_in_mid_stream_goes_on_counting(shape: Any, ends: list[str]):
    async with fake_openai_responses(answers=[ASKS]) as fake, httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as http:
        fake.error_shape = shape
        fake.faults = [Fault(kind="rate_limit_exceeded", stop_at_byte=6000, then="error")]
        sent = await http.post(f"{fake.url}/v1/responses", json={"model": "m", "input": "x", "stream": True})
        told = [json.loads(line.removeprefix("data: ")) for line in sent.text.split("\n") if line.startswith("data: ")]
        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        assert [event["type"] for event in told[-len(ends) :]] == ends
        for event in told[-len(ends) :]:
            body = event.get("error") or event.get("response", {}).get("error") or event
            assert (body["code"], body["message"]) == ("rate_limit_exceeded", "Made to fail.")
            if shape != "nested" or event["type"] != "error":  # the SDK's types know the flat one alone
                EVENT.validate_python(event)


async def test_a_stream_is_cut():
    async with fake_openai_responses(answers=[ASKS]) as fake, client(fake) as openai:
        fake.faults = [Fault(stop_at_byte=5000), Fault(stop_at_byte=5000, then="end")]
        stream = await openai.responses.create(model="any", input=[USER], stream=True)
        with pytest.raises(Exception, match="Connection error"):
            [event async for event in stream]
        stream = await openai.responses.create(model="any", input=[USER], stream=True)
        assert [event.type async for event in stream][-1] not in ("response.completed", "response.failed", "error")
