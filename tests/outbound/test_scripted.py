"""The scripted upstream, played through the wire format and its reader."""

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.upstreams import Upstream
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, Finished, TextDelta, ToolCallStarted, Usage, UsageReport
from app.entries.messages import Status
from app.entries.parts import Reasoning, Text, ToolCall
from app.models.resolve import ModelChoice
from app.outbound.exchange import AttemptFailed, Deltas, Opened, Outgoing
from app.outbound.outbound import Outbound
from app.outbound.retry import Dispatch
from app.outbound.scripted import Scripted, ScriptError, Step, account, deltas_of, read_script
from tests.outbound.kit import CHAT, Naps, text

SCRIPTED = Upstream("scripted", "openai-chat")


async def play(script: Any, ordinal=0, body=b"{}", naps=None, purpose="main", retries_max=2):
    upstream = Upstream("scripted", "openai-chat", retries_max=retries_max)
    params = script if isinstance(script, dict) else {"script": script}
    call = Outgoing(upstream, CHAT, ModelChoice("scripted", "m", params), body, lambda: CHAT.new_reader("p"), ordinal, purpose)
    outbound, sleep = Outbound(), Naps() if naps is None else naps
    dispatch = Dispatch(Scripted(sleep=sleep), call, outbound.retry_of(upstream), sleep=sleep)
    async with aclosing(dispatch.items()) as items:
        found = [item async for item in items]
    await outbound.aclose()
    return found, dispatch


def fold(items):
    folded, names = AnswerFold(), CallNames("mcl_1")
    for item in items:
        for delta in item.deltas if isinstance(item, Deltas) else ():
            folded.add(names.name(delta) if isinstance(delta, ToolCallStarted) else delta)
    return folded


def failed(items):
    return [item for item in items if isinstance(item, AttemptFailed)]


async def test_text_in_pieces():
    items, dispatch = await play([{"text": "Bonjour. " * 3, "chunk_chars": 7}])
    pieces = [d.text for item in items if isinstance(item, Deltas) for d in item.deltas if isinstance(d, TextDelta)]
    assert pieces == ["Bonjour", ". Bonjo", "ur. Bon", "jour. "]
    folded = fold(items)
    assert folded.finished is not None
    assert folded.finished.stop_reason == "finished"
    assert dispatch.attempts[0].status == "completed"
    assert isinstance(items[1], Opened)


async def test_reasoning_calls_usage_and_stop():
    step = {
        "reasoning": "hm",
        "text": "so",
        "tool_calls": [{"id": "a", "name": "look", "arguments": {"q": 1.0, "n": 12345678901234567890}}, {"name": "pay", "arguments": "{bad"}],
        "usage": {"input": 5, "cached": 2, "output": 3, "reasoning": 1},
        "stop": "length",
    }
    folded = fold((await play([step]))[0])
    answer = folded.answer(Status.COMPLETED)
    assert answer.parts == (
        Reasoning("hm"),
        Text("so"),
        ToolCall("a", "look", '{"q":1.0,"n":12345678901234567890}'),
        ToolCall("call_1_3", "pay", "{bad", answer.parts[3].provider_id),
    )
    assert answer.stop_reason == "length"
    assert folded.usage is not None
    assert (folded.usage.input, folded.usage.cached, folded.usage.output, folded.usage.reasoning) == (5, 2, 3, 1)


@pytest.mark.parametrize(("ordinal", "said"), [(0, "one"), (1, "two"), (2, "two"), (99, "two")])
async def test_one_step_a_call_and_the_last_repeats(ordinal, said):
    assert text((await play([{"text": "one"}, {"text": "two"}], ordinal))[0]) == said


async def test_without_a_script_it_says_what_it_received():
    body = b'{"messages":[{"role":"system","content":"my secret"},{"role":"user","content":"x"}],"tools":[{}]}'
    said = text((await play({}, body=body))[0])
    assert said == f"Received 2 messages (1 system, 1 user), 1 tools, {len(body)} bytes."
    assert account(b"[]").startswith("Received 0 messages")


async def test_compaction_plays_its_own_script():
    params = {"script": [{"text": "main"}], "compaction_script": [{"text": "sum"}]}
    assert text((await play(params, purpose="compaction"))[0]) == "sum"
    assert text((await play({"script": [{"text": "main"}]}, purpose="compaction"))[0]).startswith("Received")


async def test_delay_before_each_piece():
    naps = Naps()
    await play([{"text": "abcdef", "chunk_chars": 2, "delay_ms": 40}], naps=naps)
    assert naps == [0.04, 0.04, 0.04]


@pytest.mark.parametrize(
    ("status", "code", "ours", "attempts"),
    [
        (500, None, "upstream-error", 3),
        (429, None, "upstream-rate-limited", 3),
        (401, None, "upstream-auth", 1),
        (400, "context_length_exceeded", "upstream-overflow", 1),
    ],
)
async def test_an_error_instead_of_an_answer(status, code, ours, attempts):
    items, dispatch = await play([{"text": "never", "error": {"status": status, "code": code}}])
    assert len(dispatch.attempts) == attempts
    assert text(items) == ""
    assert failed(items)[-1].fault.code == ours
    assert failed(items)[-1].fault.http_status == status
    assert failed(items)[-1].retry_in_ms is None


@pytest.mark.req("S0-09", "T-30")
async def test_the_first_attempts_fail_and_their_waits_are_short():
    naps = Naps()
    error = {"status": 429, "code": "rate_limit_exceeded", "retry_after": 120, "attempts": 2}
    items, dispatch = await play([{"text": "at last", "error": error}], naps=naps)
    assert text(items) == "at last"
    assert [record.status for record in dispatch.attempts] == ["failed", "failed", "completed"]
    assert [item.retry_in_ms for item in failed(items)] == [50, 50]
    assert all(nap <= 0.05 for nap in naps)


@pytest.mark.req("X-78", "X-92")
async def test_an_error_in_the_stream_ends_it_after_so_many_characters():
    items, dispatch = await play([{"text": "0123456789", "chunk_chars": 3, "error": {"status": 503, "code": "server_error", "after_chars": 5}}])
    assert text(items) == "01234"
    assert len(dispatch.attempts) == 1
    assert failed(items)[0].fault.code == "upstream-error"
    assert fold(items).finished is None


@pytest.mark.req("X-92")
async def test_a_cut_stream_is_truncated():
    items, _ = await play([{"text": "0123456789", "cut_after_chars": 4}])
    assert text(items) == "0123"
    assert failed(items)[0].fault.code == "stream-truncated"


async def test_a_cut_in_the_arguments_of_a_call():
    items, _ = await play([{"tool_calls": [{"id": "a", "name": "look", "arguments": '{"q":1}'}], "cut_after_chars": 3}])
    assert fold(items).parts() == (ToolCall("a", "look", '{"q'),)


@pytest.mark.parametrize(
    "script",
    [
        {"text": "x"},
        "x",
        [1],
        [{"txt": "x"}],
        [{"text": 1}],
        [{"tool_calls": [{}]}],
        [{"tool_calls": [{"name": "a"}] * 129}],
        [{"error": {"status": 99}}],
        [{"error": {"status": 500, "retry_after": []}}],
        [{"usage": {"x": 1}}],
        [{"delay_ms": -1}],
    ],
)
async def test_a_script_that_cannot_be_played_says_where(script):
    items, dispatch = await play({"script": script})
    assert len(dispatch.attempts) == 1
    assert failed(items)[0].fault.detail.startswith("The script cannot be played")
    with pytest.raises(ScriptError):
        read_script(script)


def test_a_script_is_read_whole():
    assert read_script([]) == ()
    (step,) = read_script([{"text": "a", "error": {"status": 429, "retry_after": 0.5}}])
    assert step.error is not None
    assert step.error.retry_after == "0.5"
    with pytest.raises(ScriptError):
        read_script([{"text": "a"}] * 1001)


@pytest.mark.req("X-92")
async def test_cancelling_a_slow_script_ends_it_at_once():
    call = Outgoing(
        SCRIPTED, CHAT, ModelChoice("scripted", "m", {"script": [{"text": "slow", "delay_ms": 30_000}]}), b"{}", lambda: CHAT.new_reader("p")
    )
    dispatch = Outbound().dispatch(call)

    async def read():
        return [item async for item in dispatch.items()]

    began = time.monotonic()
    task = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 5
    assert dispatch.attempts[0].status == "cancelled"


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=80),
    st.text(max_size=20),
    st.integers(1, 9),
    st.none() | st.integers(0, 99),
)
@pytest.mark.req("X-75")
async def test_what_is_played_is_what_is_read(said, thought, chunk_chars, cut):
    step = {"text": said, "reasoning": thought, "chunk_chars": chunk_chars, "cut_after_chars": cut}
    items, _ = await play([step])
    read = fold(items)
    parts = {type(part): part.text for part in read.parts() if isinstance(part, Text | Reasoning)}
    whole = thought + said
    assert parts.get(Reasoning, "") + parts.get(Text, "") == (whole if cut is None else whole[:cut])
    assert (read.finished is None) == (cut is not None)


def test_usage_is_reported_before_the_end():
    *_, usage, finished = deltas_of(Step(text="a", usage=Usage(1, output=2)))
    assert (usage, finished) == (UsageReport(Usage(1, output=2)), Finished("finished"))
