"""Whatever a summarizer does, the projection before stays in force, nobody is asked more often than is allowed, and the session goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.config.upstreams import Timeouts
from tests.api.conftest import running, talking
from tests.fakes.answers import Answer, ToolCall
from tests.fakes.serving import FakeServer, Fault
from tests.services.long_sessions.providers import GOOD, INJECTION, REASONS, Asked, Style, Voice, voiced
from tests.services.world import World

KINDS: dict[str, tuple[Style, Fault | None, frozenset[str]]] = {
    **{style: (style, None, reasons) for style, reasons in REASONS.items()},
    "silent": ("facts", Fault(pause_seconds=0.4), frozenset({"upstream", "truncated"})),
    "slow": ("facts", Fault(pause_seconds=0.02), frozenset({"timeout"})),
}
"""How summaries come out, what goes wrong on the wire, and what the ledger says of it."""

LONG_WAITS = {"longer": 20, "silent": 20, "slow": 20}
TURNS = 135
"""Of each other kind: a thousand in all."""

SUMMARY_SECONDS, IDLE_SECONDS = 0.15, 0.1


def driver(upstream: str) -> dict[str, Any]:
    return {"kind": "model", "model": {"upstream": upstream, "name": "gpt-4.1"}}


COMPACTION = {"trigger_fraction": 0.1, "keep_recent_tokens": 200, "driver": driver("summarizer")}
DOCUMENT: dict[str, Any] = {
    "model": {"upstream": "openai-chat", "name": "gpt-4.1"},
    "limits": {"context_window": 12_000, "max_output_tokens": 1_000},
    "context": [{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}],
    "tools": [{"name": "lookup", "description": "Finds a record."}],
    "compaction": COMPACTION,
}
"""An agent that presses from its first few turns on, and whose summaries another upstream makes."""


async def pressed(world: World, voice: Voice, agent: str) -> tuple[str, str]:
    """A session with a checkpoint in force that presses on its trigger; its id, and the checkpoint's."""
    session = await world.session(agent)
    voice.style, voice.slow = "facts", None
    for number in range(9):
        assert (await world.turn(session, f"Long question {number}. " + "lorem " * 180))["status"] == "completed"
    checkpoint = (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"]
    assert checkpoint is not None
    voice.style = "error"
    for number in range(6):
        await world.turn(session, f"Longer question {number}. " + "lorem " * 200)
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] == checkpoint
    return session, checkpoint


@asynccontextmanager
async def place(settings: Settings) -> AsyncIterator[tuple[World, Voice, FakeServer]]:
    """A service with two upstreams of their own for summaries, one of little patience, its client, and the fake behind all of them."""
    voice = Voice()
    async with voiced(settings, voice) as (configured, fakes):
        fake: FakeServer = fakes["openai-chat"]
        hasty = fake.upstream("hasty", timeouts=Timeouts(connect_seconds=5, idle_seconds=IDLE_SECONDS))
        more = {"summarizer": fake.upstream("summarizer"), "hasty": hasty}
        configured = replace(configured, upstreams={**configured.upstreams, **more})
        async with running(configured) as app, talking(app) as client:
            yield World(client), voice, fake
    assert fake.refused == []


def main(asked: list[Asked]) -> list[Any]:
    return [one.body["messages"] for one in asked if not one.summary]


async def folds(world: World, session: str, after_seq: int) -> list[Any]:
    return await world.ledger(session, after_seq=after_seq, kinds="compaction_requested,checkpoint,compaction_failed,checkpoint_selected")


async def head(world: World, session: str) -> int:
    return int((await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"])


@pytest.mark.timeout(240)
@pytest.mark.req("S1-29", "S3-32", "S3-34", "S3-35", "T-06", "T-17", "X-48", "X-49")
async def test_no_summarizer_changes_what_is_sent_or_is_asked_without_end(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(LONG_WAITS.get(kind, TURNS) for kind in KINDS) >= 1_000
    async with place(settings) as (world, voice, fake):
        agent = await world.agent(name="pressed", **DOCUMENT)
        hasty = await world.agent(name="hasty", **{**DOCUMENT, "compaction": {**COMPACTION, "driver": driver("hasty")}})
        for kind in KINDS:
            with monkeypatch.context() as patched:
                if kind == "slow":
                    patched.setattr("app.services.compactions.reading.SUMMARY_SECONDS_MAX", SUMMARY_SECONDS)
                    patched.setattr(fake, "piece_bytes", 60)
                await lived(world, voice, hasty if kind == "silent" else agent, kind)


async def lived(world: World, voice: Voice, agent: str, kind: str) -> None:
    """A session whose summarizer fails in one way, turn after turn."""
    (style, fault, reasons), turns = KINDS[kind], LONG_WAITS.get(kind, TURNS)
    session, checkpoint = await pressed(world, voice, agent)
    voice.style, voice.slow = style, fault
    voice.asked.clear()
    before, begun = await world.input(session, include="body"), await head(world, session)
    sent = before["body"]["messages"]
    for number in range(turns):
        asked = len(voice.asked)
        turn = await world.turn(session, f"And {number}?")
        assert turn["status"] == "completed", turn["error"]
        now = voice.asked[asked:]
        assert [one.summary for one in now] in ([True, False], [False]), "one attempt at most, and the call"
        (body,) = main(now)
        assert body[: len(sent)] == sent, "the projection before stays in force"
        sent = body
    manual = (await world.call("POST", f"/sessions/{session}/compactions", 200, json={})).json()
    assert (manual["outcome"], manual["checkpoint_id"]) in (("failed", None), ("not_smaller", None)), kind
    seen = await folds(world, session, begun)
    assert [entry["kind"] for entry in seen] == ["compaction_requested", "compaction_failed"] * (turns + 1)
    assert {entry["body"]["reason"] for entry in seen[1::2]} <= reasons, kind
    assert [entry["body"]["requested_seq"] for entry in seen[1::2]] == [entry["seq"] for entry in seen[::2]]
    assert {entry["body"]["outcome"] for entry in seen[1::2]} <= {"failed", "not_smaller"}
    view = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (view["checkpoint"], view["status"]) == (checkpoint, "idle")
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


@pytest.mark.req("X-48", "S3-30")
async def test_a_turn_of_many_pressed_steps_asks_twice_and_then_no_more(settings: Settings) -> None:
    async with place(settings) as (world, voice, _):
        session, _ = await pressed(world, voice, await world.agent(name="pressed", **DOCUMENT))
        voice.style, begun = "blank", await head(world, session)
        voice.asked.clear()
        voice.answers.extend([(Answer((ToolCall("lookup", f'{{"id":{number}}}'),)), None) for number in range(8)])
        turn = await world.turn(session, "Look it up.")
        while turn["status"] == "requires_action":
            turn = await world.results(session, turn["id"], [{"tool_call_id": turn["pending"][0]["tool_call_id"], "content": "42"}])
        assert turn["status"] == "completed"
        assert [one.summary for one in voice.asked] == [True, False, True, False, *[False] * 7]
        assert [entry["body"].get("step_index") for entry in await folds(world, session, begun)][::2] == [0, 1]
        voice.asked.clear()
        await world.turn(session, "Thanks.")
        assert [one.summary for one in voice.asked] == [True, False], "a new prompt may try again"


@pytest.mark.req("S3-32", "T-16", "X-49")
@pytest.mark.parametrize("style", GOOD)
async def test_what_a_summary_says_is_told_as_history_and_obeyed_by_nobody(settings: Settings, style: Style) -> None:
    """A summary that gives orders is words in a frame that it cannot end: no tool runs, nothing is permitted, no key of a body changes."""
    async with place(settings) as (world, voice, _):
        session, before = await pressed(world, voice, await world.agent(name="pressed", **DOCUMENT))
        voice.style = style
        voice.asked.clear()
        turn = await world.turn(session, "And now?")
        assert (turn["status"], turn["pending"]) == ("completed", [])
        view = (await world.call("GET", f"/sessions/{session}", 200)).json()
        assert view["checkpoint"] not in (None, before)
        assert [one.summary for one in voice.asked] == [True, False]
        summary, call = voice.asked
        assert "tools" not in summary.body
        (told,) = [message["content"] for message in call.body["messages"] if "<conversation_summary>" in message["content"]]
        assert told.count("</conversation_summary>") == 1
        assert told.endswith("</conversation_summary>")
        assert INJECTION not in told
        assert [message["role"] for message in call.body["messages"][:2]] == ["system", "user"]
        kinds = {entry["kind"] for entry in await world.ledger(session)}
        assert kinds.isdisjoint({"tool_started", "tool_result", "approval_decided", "state_changed"})


@pytest.mark.req("S3-35", "T-06", "X-48")
@pytest.mark.parametrize("style", ["blank", "error", "longer"])
async def test_over_the_hard_limit_two_attempts_are_made_and_nothing_is_sent(settings: Settings, style: Style) -> None:
    async with place(settings) as (world, voice, _):
        session, checkpoint = await pressed(world, voice, await world.agent(name="pressed", **DOCUMENT))
        voice.style = style
        before = await head(world, session)
        voice.asked.clear()
        turn = await world.turn(session, "Much. " + "lorem " * 8_400)
        assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
        assert [one.summary for one in voice.asked] == [True, True], "the second keeps the newest turn alone"
        seen = await folds(world, session, before)
        assert [entry["kind"] for entry in seen] == ["compaction_requested", "compaction_failed"] * 2
        assert [entry["body"]["attempt"] for entry in seen[::2]] == [1, 2]
        view = (await world.call("GET", f"/sessions/{session}", 200)).json()
        assert view["checkpoint"] == checkpoint
        assert (await world.raw(session))[-1]["kind"] == "user_message", "the input is kept"
        voice.style = "facts"
        voice.asked.clear()
        turn = await world.turn(session, "Shorter.", follows=turn["follows"])
        assert turn["status"] == "completed", turn["error"]
