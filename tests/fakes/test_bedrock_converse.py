"""The official client gets along with the Converse fake: frames, documents, counts, keys and signatures, errors, faults."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from botocore.session import get_session

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, Usage
from tests.fakes.bedrock_converse import ACCESS_KEY, KEY, SECRET_KEY, FakeBedrock, fake_bedrock
from tests.fakes.serving import Fault

MODEL = "us.anthropic.claude-opus-5-5-v1:0"
TOOLS: Any = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
ASK: Any = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "What is there?"}]}], "toolConfig": TOOLS}
LOOKS = Answer(
    (Thinking("Let me see 🍏."), Redacted(), Text("I look."), ToolCall("look", '{"where": "höhe"}'), ToolCall("look", tool_call_id="mine")),
    usage=Usage(7, 9, 11, 13),
)


def client(url: str, secret: str = SECRET_KEY) -> Any:
    """botocore's client, signing with made-up keys."""
    return get_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=10),
    )


async def call(opened: Any, operation: str, **more: Any) -> Any:
    """The client is a blocking one; the fake lives on this loop."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the client's own use of the clock
        return await asyncio.to_thread(getattr(opened, operation), **more)


async def streamed(opened: Any, **more: Any) -> list[dict[str, Any]]:
    answer = await call(opened, "converse_stream", **{**ASK, **more})
    return await asyncio.to_thread(list, answer["stream"])


def folded(events: list[dict[str, Any]]) -> list[Any]:
    """What the deltas of each block add up to."""
    blocks: dict[int, Any] = {}
    for event in events:
        if "contentBlockDelta" in event:
            index, delta = event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"]
            inner = delta.get("reasoningContent", delta.get("toolUse", delta))
            for key, value in inner.items():
                held = blocks.setdefault(index, {})
                held[key] = held[key] + value if key in held else value
    return [blocks[index] for index in sorted(blocks)]


@pytest_asyncio.fixture
async def fake() -> AsyncIterator[FakeBedrock]:
    async with fake_bedrock(answers=[LOOKS]) as served:
        yield served


async def test_the_client_reads_what_was_scripted(fake: FakeBedrock):
    events = await streamed(client(fake.url))
    thinking, redacted, *said = folded(events)
    assert thinking["text"] == "Let me see 🍏."
    assert thinking["signature"]
    assert isinstance(redacted["redactedContent"], bytes)
    assert said == [{"text": "I look."}, {"input": '{"where": "höhe"}'}, {"input": "{}"}]
    starts = [event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event]
    assert [start["toolUse"]["name"] for start in starts] == ["look", "look"]
    assert [next(iter(event)) for event in events[-2:]] == ["messageStop", "metadata"]
    assert events[-2]["messageStop"]["stopReason"] == "tool_use"
    usage = events[-1]["metadata"]["usage"]
    assert usage == {"inputTokens": 7, "outputTokens": 9, "cacheReadInputTokens": 11, "cacheWriteInputTokens": 13, "totalTokens": 40}
    whole = await call(client(fake.url), "converse", **ASK)
    content = whole["output"]["message"]["content"]
    assert [next(iter(block)) for block in content] == ["reasoningContent", "reasoningContent", "text", "toolUse", "toolUse"]
    assert content[3]["toolUse"]["input"] == {"where": "höhe"}
    assert (fake.models, len(fake.served)) == ([MODEL, MODEL], 2)


async def test_recorded_frames_are_played_as_they_are(fake: FakeBedrock):
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as plain:
        body = {key: value for key, value in ASK.items() if key != "modelId"}
        wire = (await plain.post(f"{fake.url}/model/{MODEL}/converse-stream", json=body)).content
    async with fake_bedrock([wire]) as again:
        assert folded(await streamed(client(again.url)))[2:] == [{"text": "I look."}, {"input": '{"where": "höhe"}'}, {"input": "{}"}]
        whole = await call(client(again.url), "converse", **ASK)
        assert whole["output"]["message"]["content"][4]["toolUse"] == {"toolUseId": "mine", "name": "look", "input": {}}


async def test_other_models_do_not_sign(fake: FakeBedrock):
    thinking, said, *_ = folded(await streamed(client(fake.url), modelId="openai.gpt-oss-120b-1:0"))
    assert (thinking, said) == ({"text": "Let me see 🍏."}, {"text": "I look."})


async def test_counting(fake: FakeBedrock):
    counted = await call(client(fake.url), "count_tokens", modelId=MODEL, input={"converse": {"messages": ASK["messages"], "toolConfig": TOOLS}})
    assert counted["inputTokens"] > 0
    assert (len(fake.counted), fake.served) == (1, [])
    fake.window_tokens = 10
    with pytest.raises(ClientError, match="prompt is too long"):
        await call(client(fake.url), "converse", **ASK)


async def test_keys_and_signatures(fake: FakeBedrock):
    with pytest.raises(ClientError, match="UnrecognizedClientException") as refused:
        await call(client(fake.url, "another secret"), "converse", **ASK)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    bearer: Any = get_session().create_client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=fake.url, config=Config(signature_version=UNSIGNED)
    )
    # The client sends its own bearer keys over TLS alone.
    bearer.meta.events.register("before-send.*", lambda request, **_: request.headers.update({"Authorization": f"Bearer {KEY}"}))
    await call(bearer, "converse", **ASK)
    async with httpx.AsyncClient() as plain:
        path = f"{fake.url}/model/{MODEL}/converse"
        nothing, wrong = await plain.post(path, json={}), await plain.post(path, json={}, headers={"authorization": "Bearer other"})
        assert (nothing.status_code, nothing.headers["x-amzn-errortype"]) == (403, "MissingAuthenticationTokenException")
        assert (wrong.status_code, wrong.headers["x-amzn-errortype"]) == (403, "UnrecognizedClientException")
        elsewhere = await plain.post(f"{fake.url}/model/{MODEL}/invoke", json={}, headers={"authorization": f"Bearer {KEY}"})
        assert elsewhere.status_code == 404
    assert len(fake.served) == 1


async def test_a_signature_holds_for_one_body_and_one_path(fake: FakeBedrock):
    kept: list[Any] = []
    opened = client(fake.url)
    opened.meta.events.register("before-send.*", lambda request, **_: kept.append(request))
    await call(opened, "converse", **ASK)
    sent = kept[0]
    headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in sent.headers.items()}
    async with httpx.AsyncClient() as plain:
        assert (await plain.post(sent.url, content=sent.body, headers=headers)).status_code == 200
        assert (await plain.post(sent.url, content=sent.body.replace(b"What", b"Whit"), headers=headers)).status_code == 403
        assert (await plain.post(sent.url.replace("opus", "fable"), content=sent.body, headers=headers)).status_code == 403


async def test_a_breach_comes_in_the_shape_of_an_error(fake: FakeBedrock):
    body = {**ASK, "messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "x"}]}}]}]}
    with pytest.raises(ClientError, match="exceeds the number of toolUse blocks") as refused:
        await call(client(fake.url), "converse", **body)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert len(fake.refused) == 1


async def test_faults(fake: FakeBedrock):
    opened = client(fake.url)
    fake.faults = [
        Fault(429, headers={"retry-after": "3"}),
        Fault(stop_at_byte=900, then="error", kind="throttlingException"),
        Fault(stop_at_byte=900),
        Fault(stop_at_byte=900, then="end"),
    ]
    with pytest.raises(ClientError, match="ThrottlingException") as limited:
        await streamed(opened)
    assert limited.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "3"
    with pytest.raises(EventStreamError, match="throttlingException"):
        await streamed(opened)
    with pytest.raises(Exception, match="Response ended prematurely"):
        await streamed(opened)
    assert "messageStop" not in [next(iter(event)) for event in await streamed(opened)]
    assert "messageStop" in [next(iter(event)) for event in await streamed(opened)]
