"""What long sessions cost: how often somebody is asked for a summary, and how much of each request is what the one before was."""

import json
from typing import Any

import pytest

from app.config.settings import Settings
from app.models.tokens import Counter
from tests.api.conftest import running, talking
from tests.fakes.answers import Answer, Text, ToolCall
from tests.services.long_sessions.providers import Asked, Voice, voiced
from tests.services.world import World

TURNS = 500
TAIL = 1_200
LIMITS = {"context_window": 8_000, "max_output_tokens": 500}
DOCUMENT: dict[str, Any] = {
    "model": {"upstream": "openai-chat", "name": "gpt-4.1"},
    "limits": LIMITS,
    "context": [{"renderer": "system", "text": "You are a triage nurse."}, {"renderer": "history"}],
    "tools": [{"name": "lookup", "description": "Finds a record."}],
    "compaction": {"keep_recent_tokens": TAIL},
}
COUNT = Counter("o200k_base")


def tokens(message: Any) -> int:
    return COUNT.repeated(json.dumps(message))


def stable(before: Asked, after: Asked) -> tuple[int, int]:
    """Tokens of the messages that two bodies begin with alike, and of all of the later one's."""
    one, other = before.body["messages"], after.body["messages"]
    alike = next((at for at, (was, now) in enumerate(zip(one, other, strict=False)) if was != now), min(len(one), len(other)))
    return sum(map(tokens, other[:alike])), sum(map(tokens, other))


def least_compactions(calls: list[Any], whole: int, turn_tokens: int) -> int:
    """The least number of compactions with which all those calls can be made below the trigger.

    Without any, the last request would weigh `whole`, and the first one is the floor that every request has. A request that presses may
    be let grow to the trigger; one compaction then takes it down to the floor and the tail, if the summary weighed nothing: whole turns
    that weigh at most `TAIL`, so at least `TAIL` less one turn. What has to go in all is what the last request is above the trigger.
    """
    trigger, floor = calls[0]["budget"]["trigger"], calls[0]["budget"]["total"]
    freed = trigger - floor - (TAIL - turn_tokens)
    return -(-(whole - trigger) // freed)


async def played(world: World, voice: Voice, *, tools: bool) -> tuple[str, int]:
    """The session, and the tokens of its largest turn."""
    session = await world.session(await world.agent(name="nurse", **DOCUMENT))
    voice.otherwise = lambda number: Answer((Text(f"Answer {number}. " + "ipsum dolor " * (20 + number % 17)),))
    for number in range(TURNS):
        calls = tools and number % 4 == 1
        if calls:
            voice.answers.append((Answer((ToolCall("lookup", json.dumps({"id": number})),)), None))
        turn = await world.turn(session, f"Question {number}. " + "lorem amet " * (10 + number % 13))
        if calls:
            found = "record field " * (40 + number % 29)
            turn = await world.results(session, turn["id"], [{"tool_call_id": turn["pending"][0]["tool_call_id"], "content": found}])
        assert turn["status"] == "completed", turn["error"]
    sizes: dict[int, int] = {}
    for entry in await everything(world, f"/sessions/{session}/raw"):
        sizes[entry["turn"]] = sizes.get(entry["turn"], 0) + entry["tokens"] + 8
    return session, max(sizes.values())


async def everything(world: World, path: str) -> list[Any]:
    """All pages of a list."""
    found: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page = (await world.call("GET", path, 200, params={"limit": 1000, **after})).json()
        found += page["data"]
        if not page["has_more"]:
            return found
        after = {("after_seq" if path.endswith("/raw") else "after"): page["next"]}


@pytest.mark.timeout(240)
@pytest.mark.req("S0-31", "S0-35", "S1-25", "S1-26", "S1-30", "X-31", "X-46")
@pytest.mark.parametrize("tools", [False, True], ids=["talk", "tools"])
async def test_five_hundred_turns_ask_for_few_summaries_and_keep_their_prefixes(settings: Settings, tools: bool) -> None:
    voice = Voice()
    async with voiced(settings, voice) as (configured, fakes), running(configured) as app, talking(app) as client:
        world = World(client)
        session, turn_tokens = await played(world, voice, tools=tools)
        calls = await everything(world, f"/sessions/{session}/calls")
        main = [call for call in calls if call["purpose"] == "main"]
        whole = (await world.input(session, checkpoint="none", include="budget"))["budget"]["total"]
        assert fakes["openai-chat"].refused == []
    assert len(main) == len([one for one in voice.asked if not one.summary]) == TURNS + (TURNS // 4 if tools else 0)
    assert max(call["budget"]["total"] - call["budget"]["input_limit"] for call in calls) <= 0
    assert all(
        sum(COUNT.repeated(message.get("content") or "") for message in one.body["messages"])
        <= LIMITS["context_window"] - LIMITS["max_output_tokens"]
        for one in voice.asked
    )

    least = least_compactions(main, whole, turn_tokens)
    assert least >= 5, "the run is long enough to tell"
    assert voice.summaries <= 1.3 * least, (voice.summaries, least)
    if not tools:  # what is pruned needs no summary
        assert voice.summaries >= least

    same = total = 0
    for before, after in zip(voice.asked, voice.asked[1:], strict=False):
        if not (before.summary or after.summary):
            alike, all_of_it = stable(before, after)
            same, total = same + alike, total + all_of_it
    assert same >= 0.85 * total, same / total
