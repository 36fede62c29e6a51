"""Signatures of the Messages fake: given out, taken back as they were, and refused when they or what they are bound to changed."""

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic, BadRequestError

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall
from tests.fakes.anthropic_messages import KEY, OTHER_KEY, FakeAnthropic, fake_anthropic
from tests.fakes.claude_thinking import BINDING_BETA

BOUND, FREE, BUDGET = "claude-opus-5-5", "claude-opus-5", "claude-haiku-4-5"
TOOLS: list[Any] = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
LOOKS = Answer((Thinking("Look first."), Redacted(), Text("I look."), ToolCall("look", '{"b": 1, "a": 2}')))
DONE = Answer((Thinking("That is it."), Text("Seven.")))
SAYS = Answer((Text("Eight."),))
CHANGED = "latest assistant message cannot be modified"
OTHER = "bound to a different conversation"
FORGED = "Invalid `signature` in `thinking` block"
DROP: dict[str, Any] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


class Talk:
    """A conversation that the official client holds with the fake. `body` is what is sent next."""

    def __init__(self, fake: FakeAnthropic, client: AsyncAnthropic, model: str) -> None:
        self.fake = fake
        self.client = client
        self.body: dict[str, Any] = {"model": model, "max_tokens": 2000, "system": "Count.", "tools": deepcopy(TOOLS), "messages": []}

    def user(self, *content: Any) -> None:
        self.body["messages"].append({"role": "user", "content": list(content)})

    async def ask(self, **more: Any) -> Any:
        return await self.client.messages.create(**{**self.body, **more})

    async def step(self, answer: Answer, **more: Any) -> None:
        """One answer, put down as it came; the calls in it get results."""
        self.fake.answers = [answer]
        message = await self.ask(**more)
        blocks = [block.model_dump(exclude_none=True) for block in message.content]
        self.body["messages"].append({"role": "assistant", "content": blocks})
        if message.stop_reason == "tool_use":
            self.user(*[{"type": "tool_result", "tool_use_id": block["id"], "content": "7"} for block in blocks if block["type"] == "tool_use"])
        else:
            self.user({"type": "text", "text": "And now?"})

    def blocks(self, answer: int) -> list[dict[str, Any]]:
        """The blocks of the answer with this number."""
        return [message["content"] for message in self.body["messages"] if message["role"] == "assistant"][answer]

    async def refused(self, gist: str, **more: Any) -> None:
        with pytest.raises(BadRequestError) as error:
            await self.ask(**more)
        assert gist in str(error.value)

    async def served(self, **more: Any) -> None:
        before = len(self.fake.served)
        await self.ask(**more)
        assert len(self.fake.served) == before + 1


@pytest_asyncio.fixture
async def fake() -> AsyncIterator[FakeAnthropic]:
    async with fake_anthropic() as served:
        yield served


@pytest_asyncio.fixture
async def client(fake: FakeAnthropic) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=KEY, base_url=fake.url, max_retries=0) as opened:
        yield opened


@pytest_asyncio.fixture
async def talk(request: pytest.FixtureRequest, fake: FakeAnthropic, client: AsyncAnthropic) -> Talk:
    """A round of tool calls that is open, after two answers that are closed, of the model that the test names."""
    talk = Talk(fake, client, request.param)
    talk.user({"type": "text", "text": "How many?"})
    for answer in (LOOKS, DONE, LOOKS):
        await talk.step(answer)
    return talk


bound = pytest.mark.parametrize("talk", [BOUND], indirect=True)
free = pytest.mark.parametrize("talk", [FREE], indirect=True)
both = pytest.mark.parametrize("talk", [BOUND, FREE], indirect=True)


@both
async def test_what_comes_back_as_it_was_is_served(talk: Talk):
    await talk.served()
    await talk.step(DONE)
    await talk.served()


@both
async def test_a_token_that_was_never_given_out_is_refused(talk: Talk):
    token = talk.blocks(0)[0]["signature"]
    talk.blocks(0)[0]["signature"] = token[:-8] + "AAAAAAA="
    await talk.refused(FORGED)
    talk.blocks(0)[0]["signature"] = token
    talk.blocks(0)[1]["data"] = "bWFkZSB1cA=="
    await talk.refused(FORGED)


@both
async def test_a_text_that_was_changed_is_refused(talk: Talk):
    talk.blocks(0)[0]["thinking"] = "Look last."
    await talk.refused(CHANGED)


@both
async def test_an_open_round_needs_its_thinking(talk: Talk):
    whole = deepcopy(talk.blocks(2))
    assert [block["type"] for block in whole] == ["thinking", "redacted_thinking", "text", "tool_use"]
    for broken in (whole[1:], [whole[0], *whole[2:]], whole[2:], [whole[1], whole[0], *whole[2:]], [whole[2], *whole[:2], whole[3]]):
        talk.body["messages"][-2]["content"] = broken
        await talk.refused(CHANGED)
    talk.body["messages"][-2]["content"] = whole
    await talk.served()


@both
async def test_thinking_of_closed_answers_may_go_from_the_front(talk: Talk):
    for answer, thinking in ((0, 2), (1, 1)):
        for _ in range(thinking):
            del talk.blocks(answer)[0]
            await talk.served()


@bound
async def test_thinking_may_not_go_from_the_middle(talk: Talk):
    del talk.blocks(1)[0]
    await talk.refused(OTHER)


@free
async def test_thinking_may_go_from_the_middle_where_nothing_is_bound(talk: Talk):
    del talk.blocks(1)[0]
    await talk.served()


@pytest.mark.parametrize("talk", ["claude-opus-4-8"], indirect=True)
async def test_an_open_round_needs_no_thinking_of_a_model_that_does_not_think(talk: Talk):
    assert talk.blocks(0)[0]["type"] == "text"
    await talk.served()


@bound
async def test_what_stands_before_may_not_change(talk: Talk):
    body, whole = talk.body, deepcopy(talk.body)
    body["system"] = "Count again."
    await talk.refused("The `system` prompt differs")
    body.update(deepcopy(whole))
    body["tools"][0]["description"] = "Looks hard."
    await talk.refused("The `tools` differ")
    body.update(deepcopy(whole))
    body["messages"][0]["content"][0]["text"] = "How many then?"
    await talk.refused("An earlier message differs")
    body.update(deepcopy(whole))
    body["messages"].insert(0, {"role": "user", "content": "Hello."})
    await talk.refused("An earlier message differs")
    body.update(deepcopy(whole))
    talk.blocks(0)[3]["input"] = {"a": 2, "b": 1}  # the same object in another order is another prompt
    await talk.refused("An earlier message differs")
    body.update(deepcopy(whole))
    await talk.served()


@free
async def test_what_stands_before_may_change_where_nothing_is_bound(talk: Talk):
    talk.body["system"] = "Count again."
    talk.body["messages"][0]["content"][0]["text"] = "How many then?"
    await talk.served()


@bound
async def test_what_the_model_does_not_see_may_change(talk: Talk):
    mark = {"cache_control": {"type": "ephemeral"}}
    talk.body["system"] = [{"type": "text", "text": "Count.", **mark}]
    talk.body["tools"][0] |= mark
    talk.body["messages"][0]["content"][0] |= mark
    talk.body["messages"][2]["content"][0] |= {**mark, "is_error": False, "content": [{"type": "text", "text": "7"}]}
    talk.body["max_tokens"] = 3000
    talk.body["tools"].append({"name": "later", "input_schema": {"type": "object"}, "defer_loading": True})
    await talk.served(output_config={"effort": "low"})
    talk.body["messages"].insert(3, {"role": "assistant", "content": talk.blocks(1)})  # merged with what follows
    del talk.body["messages"][4]
    await talk.served()


@bound
async def test_blocks_of_another_prefix_are_dropped_on_demand(talk: Talk):
    talk.body["system"] = "Count again."
    talk.body["thinking"] = DROP
    await talk.refused("block_binding: Extra inputs are not permitted")
    message = await talk.client.beta.messages.create(**talk.body, betas=[BINDING_BETA])
    dropped = [(each.type, each.path, each.reason) for each in message.input_transformations or [] if each.type == "thinking_dropped"]
    assert dropped[0] == ("thinking_dropped", "messages.1.content.0", "prefix_binding_mismatch")
    assert len(dropped) == 5


@free
async def test_blocks_of_another_model_are_ignored_or_refused(talk: Talk):
    await talk.step(DONE)
    await talk.served(model="claude-sonnet-4-6")
    await talk.refused("created by a different model", model=BOUND)
    for answer in range(4):
        talk.blocks(answer)[:] = [block for block in talk.blocks(answer) if "thinking" not in block["type"]]
    await talk.served(model=BOUND)


@both
async def test_a_model_that_is_switched_to_and_fro_gets_its_own_blocks_back(talk: Talk):
    await talk.step(DONE)
    kept = deepcopy(talk.body["messages"])
    for message in talk.body["messages"]:
        message["content"] = [block for block in message["content"] if "thinking" not in block["type"]]
    await talk.step(SAYS, model="claude-haiku-4-5")
    talk.body["messages"][: len(kept)] = kept
    await talk.served()


@pytest.mark.parametrize("talk", ["claude-sonnet-5-5"], indirect=True)
async def test_blocks_of_some_models_belong_to_an_account(talk: Talk):
    await talk.served()
    talk.client = talk.client.with_options(api_key=OTHER_KEY)
    await talk.refused("created under a different organization")


@both
async def test_other_accounts_are_no_matter_to_the_rest(talk: Talk):
    talk.client = talk.client.with_options(api_key=OTHER_KEY)
    await talk.served()


async def test_with_a_budget_the_call_starts_with_its_thinking(fake: FakeAnthropic, client: AsyncAnthropic):
    talk = Talk(fake, client, BUDGET)
    talk.body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    talk.user({"type": "text", "text": "How many?"})
    await talk.step(LOOKS)
    await talk.served()
    talk.blocks(0)[:] = talk.blocks(0)[2:]
    await talk.refused("Expected `thinking` or `redacted_thinking`, but found `text`")
    await talk.served(thinking={"type": "disabled"})


async def test_signatures_of_recorded_streams_are_in_the_book_too(fake: FakeAnthropic, client: AsyncAnthropic):
    talk = Talk(fake, client, BOUND)
    talk.user({"type": "text", "text": "How many?"})
    fake.answers, fake.streams = [], [recorded("c2lnbmF0dXJl")]
    async with client.messages.stream(**talk.body) as stream:
        content = [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in (await stream.get_final_message()).content]
    assert content[0]["signature"] == "c2lnbmF0dXJl"
    talk.body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": "And now?"}]
    await talk.served()
    talk.body["system"] = "Count again."
    await talk.refused(OTHER)


def recorded(signature: str) -> bytes:
    """A stream as some provider sent it: other blanks, a line of comment, an event nobody knows."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "news"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": signature}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Seven"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    lines = [f"event: {event['type']}\ndata:{json.dumps(event)[:-1]}   }}\n\n" for event in events]
    return ": hello\n\n".join(lines).encode()
