"""Group e, the way in: what an upstream streams, however it is framed, and how it may fail."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.streams import TERMINAL, event_names, saying
from tests.cases.upstream import Play
from tests.services.world import said, text

TOOLS = [{"name": name} for name in ("get_weather", "get_time", "s", "ls")]


async def completed(done: Done, expected: str) -> None:
    """One answer of this text, completed, as streamed and as stored."""
    assert (done.turn["status"], done.turn["error"]) == ("completed", None)
    (answer,) = await done.answered()
    assert (text(answer), answer["body"]["status"], answer["body"]["stop_reason"]) == (expected, "completed", "finished")
    assert said(done.frames) == expected
    assert [name for name in event_names(done.frames) if name in TERMINAL] == ["turn.completed"]


def calls(done: Done) -> list[tuple[str, str, str]]:
    """The calls that the client was told of: id, name, arguments."""
    found = [frame.data for frame in done.frames if frame.event == "tool_call.completed"]
    return [(one["tool_call_id"], one["name"], one["arguments"]) for one in found]


@expects("utf8-split-across-chunks")
async def split_characters(done: Done) -> None:
    await completed(done, "你好 🌍")
    assert "�" not in "".join(done.lines)
    assert "�" not in str(await done.world.ledger(done.session))


@expects("sse-comment-keepalive")
async def comments_are_no_data(done: Done) -> None:
    await completed(done, "ok")
    assert [entry["kind"] for entry in await done.raw()] == ["user_message", "assistant_message"]
    assert not [line for line in done.lines if "OPENROUTER" in line]


@expects("usage-chunk-after-finish-empty-choices")
async def usage_after_the_finish(done: Done) -> None:
    await completed(done, "Hi")
    assert (done.turn["usage"]["input"], done.turn["usage"]["output"]) == (10, 50)
    (call,) = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"]
    assert (call["usage"]["input"], call["usage"]["output"], call["usage"]["source"]) == (10, 50, "reported")


@expects("choices-absent-or-null")
async def chunks_without_choices(done: Done) -> None:
    """Chosen: unknown is not zero, so what nobody reported is an estimate that says so."""
    await completed(done, "Hi")
    (call,) = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"]
    assert call["usage"]["source"] == "estimated"
    assert (call["usage"]["cached"], call["usage"]["reasoning"]) == (None, None)


@expects("stream-with-no-chunks", pytest.mark.req("X-92"))
async def nothing_streamed(done: Done) -> None:
    """The contract's code is `stream-truncated`; the same bytes were tried again, since nobody had seen anything."""
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "stream-truncated")
    assert [name for name in event_names(done.frames) if name in TERMINAL] == ["turn.failed"]
    assert done.frames[-1].data["turn"]["error"]["code"] == "stream-truncated"
    assert await done.answered() == []
    assert len({seen.body for seen in done.played.seen}) == 1


@expects("tool-delta-missing-index", pytest.mark.req("X-74"), tools=TOOLS)
async def calls_without_an_index(done: Done) -> None:
    assert calls(done) == [("c_a", "get_weather", '{"city":"Paris"}'), ("c_b", "get_time", '{"tz":"JST"}')]
    assert done.turn["status"] == "requires_action"


@expects("tool-delta-all-index-zero", pytest.mark.req("X-74"), tools=TOOLS)
async def calls_that_are_all_number_zero(done: Done) -> None:
    assert calls(done) == [("x1", "s", '{"q":"ab"}'), ("x2", "s", '{"q":"c"}')]


@expects("tool-delta-missing-id", pytest.mark.req("X-74"), tools=TOOLS)
async def calls_without_an_id(done: Done) -> None:
    ((made, name, arguments),) = calls(done)
    assert (name, arguments) == ("ls", "{}")
    assert made
    assert [one["tool_call_id"] for one in done.turn["pending"]] == [made]
    done.played.attempts = saying("done").attempts
    turn = await done.world.results(done.session, done.turn["id"], [{"tool_call_id": made, "content": "x"}])
    assert turn["status"] == "completed"
    (result,) = [entry for entry in await done.raw() if entry["kind"] == "tool_result"]
    assert result["body"]["tool_call_id"] == made


@expects("openai-error-chunk-no-choices", pytest.mark.req("X-92"))
async def an_error_in_the_stream(done: Done) -> None:
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "upstream-error")
    assert "server_error" in done.turn["error"]["detail"]
    (answer,) = await done.answered()
    assert (text(answer), answer["body"]["status"], answer["body"]["stop_reason"]) == ("par", "failed", None)
    assert done.frames[-1].event == "turn.failed"
    assert len(done.played.seen) == 1


@expects("retry-after-honoured", pytest.mark.req("X-78", "T-30"))
async def retry_after(done: Done) -> None:
    await completed(done, "ok")
    first, second = done.played.seen
    assert 2.0 <= second.at - first.at < 4.0
    assert first.body == second.body
    (call,) = (await done.world.call("GET", f"/sessions/{done.session}/calls", 200)).json()["data"]
    assert [(one["n"], one["status"], one["http_status"]) for one in call["attempts"]] == [(1, "failed", 429), (2, "completed", 200)]
    now = datetime.now(UTC)
    dates = {"Date": format_datetime(now, usegmt=True), "Retry-After": format_datetime(now + timedelta(seconds=1), usegmt=True)}
    dated = Play([{"status": 429, "headers": dates, "body": "{}"}, *saying("ok").attempts])
    turn = await done.world.turn(await done.place.playing(dated))
    assert turn["status"] == "completed"
    assert 1.0 <= dated.seen[1].at - dated.seen[0].at < 3.0
    capped = Play([{"status": 429, "headers": {"Retry-After": "86400"}, "body": "{}"}])
    turn = await done.world.turn(await done.place.playing(capped))
    assert (turn["status"], turn["error"]["code"], len(capped.seen)) == ("failed", "upstream-rate-limited", 1)


@expects("no-retry-after-first-byte", pytest.mark.req("X-78", "X-92"))
async def no_second_answer_behind_a_first(done: Done) -> None:
    """Chosen: no retry once a delta was seen; the turn fails and the client may retry it."""
    assert (done.turn["status"], done.turn["error"]["code"]) == ("failed", "stream-truncated")
    assert len(done.played.seen) == 1
    (answer,) = await done.answered()
    assert (text(answer), answer["body"]["status"]) == ("The answer ", "failed")
    assert said(done.frames) == "The answer "
