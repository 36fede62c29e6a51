"""Group e, the way out: what our clients read, clients that leave, and processes that die."""

import asyncio
import json

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.cases.streams import SETTLED, event_names, play_of, saying_in
from tests.services.world import frames, roles, said, text

UNSEEN = "a\u2028b\u0085c\x0bd\n\r\ne\r"
CONTRACT_EVENTS = {
    "turn.started", "call.started", "context.compiled", "attempt.failed", "text.delta", "reasoning.delta", "tool_call.started", "tool_call.delta",
    "tool_call.completed", "message.committed", "tool_result.committed", "turn.requires_action", "turn.completed", "turn.failed",
    "turn.cancelled", "turn.interrupted",
}  # fmt: skip


@expects("sse-comment-reemitted-as-data")
async def comments_stay_comments(done: Done) -> None:
    for line in done.lines:
        name, _, value = line.partition(": ")
        assert name in ("", "id", "event", "data"), line
        if name == "data":
            assert json.loads(value)["type"] in CONTRACT_EVENTS
    assert "OPENROUTER" not in "".join(done.lines)
    assert said(done.frames) == "x"


@expects("sse-out-splitlines", pytest.mark.req("S1-11"))
async def line_breaks_in_data(done: Done) -> None:
    assert said(done.frames) == UNSEEN
    (answer,) = await done.answered()
    assert text(answer) == UNSEEN
    async with done.world.client.stream("GET", f"/sessions/{done.session}/turns/{done.turn['id']}/events") as again:
        assert said([frame async for frame in frames(_lines([piece async for piece in again.aiter_text()]))]) == UNSEEN


async def _lines(pieces: list[str]):
    for line in "".join(pieces).split("\n"):
        yield line


@expects("sse-out-event-id-injection")
async def no_forged_events(done: Done) -> None:
    """Chosen: a cursor that is no number is 422, as any ill-formed parameter; an unknown field is 422."""
    assert [answer.status_code for answer in done.answers] == [422, 422]
    assert all("forged" not in answer.text for answer in done.answers)


@expects("client-disconnect-saves-partial", pytest.mark.req("X-92"), on_disconnect="cancel")
async def a_client_that_leaves(done: Done) -> None:
    """Chosen: a client that wants its leaving to stop the turn says `on_disconnect: cancel`; the contract's status is `cancelled`."""
    heard = said(done.frames)
    assert (done.turn["status"], done.turn["error"]) == ("cancelled", None)
    assert asyncio.get_running_loop().time() - done.facts["left_at"] < 2
    await asyncio.sleep(0.5)  # the upstream would have been through by now
    question, answer = await done.raw()
    assert (question["kind"], text(question)) == ("user_message", "go")
    assert (answer["kind"], answer["body"]["status"]) == ("assistant_message", "cancelled")
    assert text(answer).startswith(heard)
    assert "one two three".startswith(text(answer))


@expects("disconnect-closes-upstream", pytest.mark.req("X-92"), on_disconnect="cancel")
async def a_client_that_leaves_stops_the_upstream(done: Done) -> None:
    """Both policies: `cancel` in the case's own turn, `continue`, the default, in a second one."""
    (seen,) = done.played.seen
    await asyncio.wait_for(done.played.idle.wait(), 2)
    assert seen.left_at is not None
    assert seen.left_at - done.facts["left_at"] < 2
    assert seen.written < 20
    assert done.turn["status"] == "cancelled"
    await _goes_on(done)


async def _goes_on(done: Done) -> None:
    play = play_of(done.case.input)
    session = await done.place.playing(play)
    found = await done.world.stream(session, until="text.delta", on_disconnect="continue")
    turn = await done.world.until(session, found[0].data["turn_id"], *SETTLED, seconds=40)
    assert play.seen[0].written == len(play.attempts[0]["chunks"])
    (answer,) = [entry for entry in await done.world.raw(session) if entry["kind"] == "assistant_message"]
    assert text(answer) == "x" * len(play.attempts[0]["chunks"])
    # The case's upstream closes without a finish reason, so the answer is whole and still no completed one.
    assert (turn["status"], turn["error"]["code"]) == ("failed", "stream-truncated")
    await asyncio.wait_for(play.idle.wait(), 2)


@expects("disconnect-before-first-token", pytest.mark.req("X-92"), on_disconnect="cancel")
async def a_client_that_leaves_before_anything_came(done: Done) -> None:
    (seen,) = done.played.seen
    assert seen.left_at is not None
    assert seen.left_at - done.facts["left_at"] < 2
    assert done.turn["status"] == "cancelled"
    assert await done.answered() == []
    done.played.attempts = [saying_in("anthropic-messages", "next")]
    assert (await done.world.turn(done.session, "again"))["status"] == "completed"


@expects("generator-exit-single-save", pytest.mark.req("X-92"))
async def a_client_that_leaves_at_the_very_end(done: Done) -> None:
    assert "turn.completed" not in event_names(done.frames)
    assert done.turn["status"] == "completed"
    (answer,) = await done.answered()
    assert (text(answer), answer["body"]["status"]) == ("x", "completed")
    finished = await done.world.ledger(done.session, kinds="model_call_finished,turn_settled")
    assert [entry["kind"] for entry in finished] == ["model_call_finished", "turn_settled"]
    assert len(done.turn["calls"]) == 1


@expects("crash-mid-stream-zombie-turn", pytest.mark.req("X-79", "X-92"))
async def a_process_that_dies(done: Done) -> None:
    (turn,) = done.facts["turns"]
    assert (done.turn["status"], done.turn["error"]["code"]) == ("interrupted", "lease-lost")
    assert turn == done.turn
    assert done.answers[0].status_code == 201
    question, answer, again = done.facts["transcript"]
    assert (text(question), text(again)) == ("go", "hello again")
    assert (answer["body"]["status"], text(answer)) == ("interrupted", "partial ")
    assert roles(done.inputs[0]["body"]) == ["user", "user"]
    assert [entry["body"]["reason"] for entry in done.facts["interruptions"]] == ["lease_lost"]
    assert done.facts["alive"] == "completed"
