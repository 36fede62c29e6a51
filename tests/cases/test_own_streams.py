"""Turns over a real socket to an upstream, on data of our own: cut anywhere, empty, broken off, and left by the client at any moment."""

import asyncio
from typing import Any

import pytest

from tests.cases.done import Done
from tests.cases.notation import Case
from tests.cases.place import Places
from tests.cases.streams import STOP, TERMINAL, event_names, said, stream
from tests.cases.upstream import DONE
from tests.services.world import said as heard
from tests.services.world import text

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n'
HOSTILE = "né 🎈\\u2028\\u0085\\r\\n\\u0000 end"
SPOKEN = "né 🎈\u2028\u0085\r\n\x00 end"


def upstream(*chunks: Any, **more: Any) -> dict[str, Any]:
    return {"upstream": {"status": 200, "chunks": list(chunks), **more}}


async def done(places: Places, given: dict[str, Any], **options: Any) -> Done:
    """A turn against such an upstream, with such a client."""
    found = Done(Case("own", "e", "openai-chat", {"op": "stream", **given}, ""), places, places.shared)
    await stream(found, **options)
    return found


async def answers(found: Done) -> list[tuple[str, str]]:
    """Text and status of every answer of the transcript."""
    return [(text(entry), entry["body"]["status"]) for entry in await found.answered()]


@pytest.mark.req("S1-11", "X-92")
async def test_a_stream_may_be_cut_at_every_byte(places: Places) -> None:
    whole = (": waking up\r\n\r\n" + said(HOSTILE) + ":\n\n" + STOP.replace("\n", "\r\n") + USAGE + DONE).encode()
    for size in (1, 7):
        pieces = [{"hex": whole[at : at + size].hex()} for at in range(0, len(whole), size)]
        found = await done(places, upstream(*pieces))
        assert await answers(found) == [(SPOKEN, "completed")]
        assert heard(found.frames) == SPOKEN
        assert (found.turn["usage"]["input"], found.turn["usage"]["output"]) == (7, 3)
        assert not [line for line in found.lines if "waking up" in line]


@pytest.mark.req("X-41", "X-42")
async def test_what_a_provider_says_of_its_answer_is_kept_in_its_own_words(places: Places) -> None:
    """Beside the neutral reason and figures, which are what everybody else reads; an odd word is neutral `other`."""
    odd = STOP.replace('"stop"', '"eos_token_of_a_server_that_says_more_than_anybody_would_like_to_keep"')
    for ending, reason, native in ((STOP, "finished", "stop"), (odd, "other", "eos_token_of_a_server_that_says_more_than_anybody_would_like_to_")):
        found = await done(places, upstream(said("x"), ending, USAGE, USAGE.replace("3", "4"), DONE))
        (record,) = await found.world.ledger(found.session, kinds="model_call_finished")
        body = record["body"]
        assert (body["stop_reason"], body["native_stop_reason"]) == (reason, native)
        assert body["usage_raw"] == [{"prompt_tokens": 7, "completion_tokens": 3}, {"prompt_tokens": 7, "completion_tokens": 4}]
        assert body["usage"] == {"input": 7, "cached": None, "cache_write": None, "output": 4, "reasoning": None, "source": "reported"}


@pytest.mark.req("X-92")
@pytest.mark.parametrize("chunks", [(), (DONE,), (": only a comment\n\n",), (USAGE,)], ids=["nothing", "done", "comment", "usage"])
async def test_a_stream_that_says_nothing_is_no_answer(places: Places, chunks: tuple[str, ...]) -> None:
    found = await done(places, upstream(*chunks))
    assert (found.turn["status"], found.turn["error"]["code"]) == ("failed", "stream-truncated")
    assert [name for name in event_names(found.frames) if name in TERMINAL] == ["turn.failed"]
    assert await answers(found) == []
    assert len({seen.body for seen in found.played.seen}) == 1


@pytest.mark.req("X-78", "X-92")
@pytest.mark.parametrize("then", ["close", "reset"])
async def test_what_broke_off_is_kept_as_failed_and_not_tried_again(places: Places, then: str) -> None:
    found = await done(places, upstream(said("half an "), then=then))
    assert await answers(found) == [("half an ", "failed")]
    assert found.turn["status"] == "failed"
    assert len(found.played.seen) == 1


@pytest.mark.req("X-92")
@pytest.mark.parametrize("on_disconnect", ["cancel", "continue"])
@pytest.mark.parametrize("client", [{"disconnect_after_ms": 200}, {"disconnect_after_events": 1}, {"disconnect_at": "after_finish_before_done"}])
async def test_a_client_may_leave_at_any_moment(places: Places, client: dict[str, Any], on_disconnect: str) -> None:
    """Before the first word, in the middle, and after the last: one answer at most, and the upstream is let go where that was asked for."""
    pause = {"sleep_ms": 600 if "disconnect_at" not in client else 0}
    chunks = (pause, said("one "), said("two "), STOP, DONE) if "disconnect_after_ms" in client else (said("one "), said("two "), pause, STOP, DONE)
    found = await done(places, {**upstream(*chunks), "client": client}, on_disconnect=on_disconnect)
    (seen,) = found.played.seen
    if on_disconnect == "continue":
        assert await answers(found) == [("one two ", "completed")]
        assert (found.turn["status"], seen.left_at) == ("completed", None)
        return
    await asyncio.wait_for(found.played.idle.wait(), 2)
    ended = await answers(found)
    if "disconnect_after_ms" in client:
        assert (found.turn["status"], ended) == ("cancelled", [])
    elif "disconnect_after_events" in client:
        assert (found.turn["status"], [status for _, status in ended]) == ("cancelled", ["cancelled"])
        assert ended[0][0].startswith(heard(found.frames))
    else:  # the answer was whole: whichever is first, there is one of it
        assert found.turn["status"] in ("cancelled", "completed")
        assert [said_then for said_then, _ in ended] == ["one two "]
    if found.turn["status"] == "cancelled":
        assert seen.left_at is not None
        assert seen.left_at - found.facts["left_at"] < 2
    assert (await found.world.call("GET", f"/sessions/{found.session}", 200)).json()["status"] == "idle"


async def test_no_cursor_forges_a_frame(places: Places) -> None:
    found = await done(places, upstream(said("x"), STOP, DONE))
    path = f"/sessions/{found.session}/turns/{found.turn['id']}/events"
    for cursor in ("5%0Adata: forged", "-1", "1.5", "x", "9" * 40, "5\tdata: forged"):
        answer = await found.world.client.get(path, headers={"last-event-id": cursor})
        assert answer.status_code == 422, cursor
        assert "forged" not in answer.text
