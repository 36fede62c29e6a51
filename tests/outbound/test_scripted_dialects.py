"""The scripted upstream says the same in every dialect: written and read by each format's own writer and reader."""

from contextlib import aclosing
from typing import Any

import pytest

from app.config.upstreams import Upstream
from app.entries.answer import AnswerFold
from app.entries.deltas import Usage
from app.entries.parts import Reasoning, Text, ToolCall
from app.formats.registry import FORMATS
from app.models.resolve import ModelChoice
from app.outbound.exchange import AttemptFailed, Deltas, Item, Outgoing
from app.outbound.retry import Dispatch, RetryPolicy
from app.outbound.scripted import Scripted
from tests.outbound.kit import Naps


async def play(dialect: str, step: dict[str, Any], retries_max: int = 0) -> list[Item]:
    form = FORMATS[dialect]
    model = ModelChoice("scripted", "m", {"script": [step], "dialect": dialect})
    call = Outgoing(Upstream("scripted", dialect), form, model, b"{}", lambda: form.new_reader(f"{dialect}/scripted/m"))
    dispatch = Dispatch(Scripted(sleep=Naps()), call, RetryPolicy(retries_max), sleep=Naps(), chance=lambda: 0.0)
    async with aclosing(dispatch.items()) as items:
        return [item async for item in items]


def texts(items: list[Item]) -> list[str]:
    return [part.text for part in fold(items).parts() if isinstance(part, Text)]


def fold(items: list[Item]) -> AnswerFold:
    answer = AnswerFold()
    for item in items:
        for delta in item.deltas if isinstance(item, Deltas) else ():
            answer.add(delta)
    return answer


@pytest.mark.req("S0-25", "X-90")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_an_answer(dialect: str):
    calls = [{"id": "c1", "name": "f", "arguments": '{"a":1}'}, {"id": "c2", "name": "g", "arguments": "{}"}]
    usage = {"input": 9, "cached": 4, "output": 5}
    step = {"reasoning": "Let me think.", "text": "Bonjour à tous.", "tool_calls": calls, "chunk_chars": 3, "usage": usage, "stop": "tool_calls"}
    answer = fold(await play(dialect, step))
    assert answer.finished is not None
    assert answer.finished.stop_reason == "tool_calls"
    assert [part.text for part in answer.parts() if isinstance(part, Reasoning)] == ["Let me think."]
    assert [part.text for part in answer.parts() if isinstance(part, Text)] == ["Bonjour à tous."]
    assert [(part.name, part.arguments) for part in answer.parts() if isinstance(part, ToolCall)] == [("f", '{"a":1}'), ("g", "{}")]
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.cached, answer.usage.output) == (9, 4, 5)
    assert isinstance(answer.usage, Usage)


@pytest.mark.parametrize("dialect", FORMATS)
async def test_a_cut_a_failure_in_mid_answer_and_a_refusal(dialect: str):
    cut = await play(dialect, {"text": "Hello there", "cut_after_chars": 5})
    assert isinstance(cut[-1], AttemptFailed)
    assert (cut[-1].fault.code, texts(cut)) == ("stream-truncated", ["Hello"])
    broken = await play(dialect, {"text": "Hello there", "error": {"status": 500, "after_chars": 5}})
    assert isinstance(broken[-1], AttemptFailed)
    assert (broken[-1].fault.code, texts(broken)) == ("upstream-error", ["Hello"])
    refused = await play(dialect, {"text": "Hello", "error": {"status": 429, "attempts": 1, "retry_after": "1"}}, retries_max=1)
    failed = [item.fault for item in refused if isinstance(item, AttemptFailed)]
    assert [(fault.code, fault.retryable, fault.retry_after_ms) for fault in failed] == [("upstream-rate-limited", True, 1000)]
    assert texts(refused) == ["Hello"]
