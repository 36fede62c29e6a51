"""Signatures of the Converse fake, through the official client: as they were they are served, changed they are refused."""

from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import pytest
import pytest_asyncio
from botocore.exceptions import ClientError

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall
from tests.fakes.bedrock_converse import FakeBedrock, fake_bedrock
from tests.fakes.test_bedrock_converse import TOOLS, call, client

BOUND, FREE, NOVA = "us.anthropic.claude-opus-5-5-v1:0", "anthropic.claude-opus-5-v1:0", "amazon.nova-2-lite-v1:0"
LOOKS = Answer((Thinking("Look first."), Redacted(), Text("I look."), ToolCall("look", '{"b": 1, "a": 2}')))
DONE = Answer((Thinking("That is it."), Text("Seven.")))


class Talk:
    """A conversation that the official client holds with the fake. `body` is what is sent next."""

    def __init__(self, fake: FakeBedrock) -> None:
        self.fake = fake
        self.client = client(fake.url)
        self.body: Any = {"modelId": BOUND, "system": [{"text": "Count."}], "toolConfig": deepcopy(TOOLS)}
        self.body["messages"] = [{"role": "user", "content": [{"text": "How many?"}]}]

    async def step(self, answer: Answer) -> None:
        """One answer, put down as it came; the calls in it get results."""
        self.fake.answers = [answer]
        told = (await call(self.client, "converse", **self.body))["output"]["message"]
        self.body["messages"].append(told)
        ids = [block["toolUse"]["toolUseId"] for block in told["content"] if "toolUse" in block]
        results: list[Any] = [{"toolResult": {"toolUseId": id, "content": [{"text": "7"}]}} for id in ids]
        self.body["messages"].append({"role": "user", "content": results or [{"text": "And now?"}]})

    def blocks(self, answer: int) -> list[dict[str, Any]]:
        return [message["content"] for message in self.body["messages"] if message["role"] == "assistant"][answer]

    async def refused(self, gist: str) -> None:
        with pytest.raises(ClientError) as error:
            await call(self.client, "converse", **self.body)
        assert gist in str(error.value)

    async def served(self) -> None:
        await call(self.client, "converse", **self.body)


@pytest_asyncio.fixture
async def talk(request: pytest.FixtureRequest) -> AsyncIterator[Talk]:
    """An open round of tool calls after two closed answers, of the model that the test names."""
    async with fake_bedrock() as fake:
        opened = Talk(fake)
        opened.body["modelId"] = request.param
        for answer in (LOOKS, DONE, LOOKS):
            await opened.step(answer)
        yield opened


bound = pytest.mark.parametrize("talk", [BOUND], indirect=True)
both = pytest.mark.parametrize("talk", [BOUND, FREE], indirect=True)


@both
async def test_signatures(talk: Talk):
    await talk.served()
    whole = deepcopy(talk.body["messages"])
    for broken in (whole[-2]["content"][1:], whole[-2]["content"][2:]):
        talk.body["messages"][-2]["content"] = broken
        await talk.refused("cannot be modified")
    talk.body["messages"] = deepcopy(whole)
    talk.blocks(0)[0]["reasoningContent"]["reasoningText"]["signature"] = "bWFkZSB1cA=="
    await talk.refused("Invalid `signature`")
    talk.body["messages"] = deepcopy(whole)
    talk.blocks(0)[1]["reasoningContent"]["redactedContent"] = b"made up"
    await talk.refused("Invalid `signature`")
    talk.body["messages"] = deepcopy(whole)
    del talk.blocks(0)[:2]
    await talk.served()


@bound
async def test_a_prefix(talk: Talk):
    whole = deepcopy(talk.body)
    talk.body["system"] = [{"text": "Count."}, {"cachePoint": {"type": "default"}}]
    talk.body["inferenceConfig"] = {"maxTokens": 3000}
    await talk.served()
    talk.body["system"] = [{"text": "Count again."}]
    await talk.refused("The `system` prompt differs")
    talk.body["additionalModelRequestFields"] = {
        "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        "anthropic_beta": ["thinking-binding-controls-2026-08-01"],
    }
    await talk.served()
    talk.body = deepcopy(whole)
    talk.body["toolConfig"]["tools"][0]["toolSpec"]["description"] = "Looks."
    await talk.refused("The `tools` differ")
    talk.body = deepcopy(whole)
    talk.body["messages"][0]["content"][0]["text"] = "How many then?"
    await talk.refused("An earlier message differs")


@pytest.mark.parametrize("talk", [FREE], indirect=True)
async def test_another_model(talk: Talk):
    await talk.step(DONE)
    for model, refuses in ((BOUND, True), ("anthropic.claude-sonnet-4-6", False), (NOVA, False)):
        talk.body["modelId"] = model
        await (talk.refused("created by a different model") if refuses else talk.served())
