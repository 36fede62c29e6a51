"""Group e, the way in, of Messages and Gemini: what their streams say, and how they end."""

from dataclasses import replace
from typing import Any

import pytest

from tests.cases.checks.reading import completed
from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.streams import event_names, saying_in, stream
from tests.cases.upstream import Play
from tests.services.world import roles, text


async def ended(done: Done) -> Any:
    """The record of the turn's only call."""
    (found,) = await done.world.ledger(done.session, kinds="model_call_finished")
    return found["body"]


async def next_input(done: Done) -> Any:
    """The body of what the session would be sent next."""
    return (await done.world.input(done.session))["body"]


@expects("utf8-incomplete-must-not-abort", pytest.mark.req("S1-11"))
async def a_character_in_two_pieces(done: Done) -> None:
    await completed(done, "中")
    given = b"".join(bytes.fromhex(one["hex"]) if isinstance(one, dict) else one.encode() for one in done.case.input["upstream"]["chunks"])
    upstream = {**done.case.input["upstream"], "chunks": [{"hex": bytes([byte]).hex()} for byte in given]}
    again = Done(replace(done.case, input={**done.case.input, "upstream": upstream}), done.places, done.place)
    await stream(again)
    await completed(again, "中")


@expects("anthropic-error-event-mid-stream", pytest.mark.req("X-41", "X-92", "T-10"))
async def an_error_event(done: Done) -> None:
    """The contract's code is `upstream-error`. A failed answer is never sent; behind a piece that was shown nothing is tried again, while the
    same error before any piece is."""
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "upstream-error")
    assert "overloaded_error" in done.turn["error"]["detail"]
    (answer,) = await done.answered()
    assert (text(answer), answer["body"]["status"]) == ("Two reasons are", "failed")
    assert event_names(done.frames)[-1] == "turn.failed"
    assert len(done.played.seen) == 1
    assert done.turn["usage"]["input"] == 9
    assert roles(await next_input(done)) == ["user"]
    start, *_, error = done.case.input["upstream"]["chunks"]
    play = Play([{"status": 200, "chunks": [start, error]}, saying_in("anthropic-messages", "whole")])
    again = await done.world.turn(await done.place.playing(play, "anthropic"))
    assert (again["status"], len(play.seen)) == ("completed", 2)


@expects("anthropic-usage-late-correction", pytest.mark.req("X-42"))
async def figures_that_are_corrected(done: Done) -> None:
    """Input counts what came from the cache: 21 and 8981 are told apart as `input` less `cached`."""
    usage = done.turn["usage"]
    assert (usage["input"] - usage["cached"], usage["cached"], usage["cache_write"], usage["output"]) == (21, 8981, 0, 433)
    assert (await ended(done))["usage_raw"] == [
        {"input_tokens": 9002, "output_tokens": 0},
        {"input_tokens": 21, "output_tokens": 433, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8981},
    ]


@expects("downstream-heartbeat")
async def heartbeats_while_nothing_comes(done: Done) -> None:
    beats = [at for at, line in enumerate(done.lines) if line.startswith(":")]
    first = next(at for at, line in enumerate(done.lines) if line == "event: text.delta")
    last = next(at for at, line in enumerate(done.lines) if line == "event: turn.completed")
    assert len([at for at in beats if at < first]) >= 3
    assert not [at for at in beats if at > last]
    assert (done.headers["cache-control"].split(",")[0], done.headers["x-accel-buffering"]) == ("no-cache", "no")


@expects("gemini-malformed-function-call", pytest.mark.req("X-42"))
async def endings_that_are_none(done: Done) -> None:
    """Chosen: a call that broke, and a prompt that was blocked, say nothing, so that the turn fails as `empty-answer`; the reason, neutral and
    in Gemini's own word, and the figures stand in the record of the call. A word that nobody knows is neutral `other`."""
    reason, native, tokens = [
        ("malformed", "MALFORMED_FUNCTION_CALL", 5),
        ("malformed", "MALFORMED_FUNCTION_CALL", None),
        ("refused", "SAFETY", 5),
        ("other", "SOME_NEW_REASON", None),
    ][done.case.part or 0]
    record = await ended(done)
    assert (record["stop_reason"], record["native_stop_reason"]) == (reason, native)
    if reason == "other":
        (answer,) = await done.answered()
        assert (done.turn["status"], text(answer), answer["body"]["stop_reason"]) == ("completed", "x", "other")
        return
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "empty-answer")
    assert not [part for answer in await done.answered() for part in answer["body"]["parts"] if part["type"] == "text"]
    assert (record["usage"] or {}).get("input") == tokens
    assert [content["role"] for content in (await next_input(done))["contents"]] == ["user"]


@expects("safety-finish-with-function-call", pytest.mark.req("X-21", "X-74"), tools=[{"name": "a"}])
async def a_call_of_a_withheld_answer(done: Done) -> None:
    """Chosen: the call is kept and not executed; its result says so."""
    assert done.turn["status"] == "completed"
    record = await ended(done)
    assert (record["status"], record["stop_reason"], record["native_stop_reason"]) == ("completed", "refused", "SAFETY")
    (answer,) = await done.answered()
    (call,) = answer["body"]["parts"]
    assert (call["name"], call["arguments"]) == ("a", '{"x":1}')
    _, model, answered = (await next_input(done))["contents"]
    assert [part["functionCall"] for part in model["parts"]] == [{"name": "a", "args": {"x": 1}}]
    assert [part["functionResponse"]["name"] for part in answered["parts"]] == ["a"]


@expects("partial-then-final-row", tools=[{"name": "t"}])
async def text_call_text(done: Done) -> None:
    """The arguments that the model did not write are none in the record and `{}` on the wire."""
    (answer,) = await done.answered()
    first, call, second = answer["body"]["parts"]
    assert (first["text"], call["tool_call_id"], call["arguments"], second["text"]) == ("first", "toolu_1", "", "second")
    content = (await next_input(done))["messages"][1]["content"]
    assert [(block["type"], block.get("text"), block.get("input")) for block in content] == [
        ("text", "first", None),
        ("tool_use", None, {}),
        ("text", "second", None),
    ]
