"""Compactions of cases: their fake summarizer as a model of the upstream, and what their words of budgets and tails come to here.

A case keeps so many of the newest messages; here that is what they weigh in tokens. Where a case "projects with automatic compaction", a
turn is taken: nothing else is compacted before. What the case appended last from its user is then the input of that turn.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import httpx

from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import MODELS, SUMMARIZER, SUMMARIZER_SMALL, upstream_of
from tests.cases.posting import seeded
from tests.cases.rows import split_system
from tests.cases.streams import saying_in
from tests.cases.upstream import Play

PADDING: Sequence[Mapping[str, Any]] = (
    {"kind": "user", "text": "Something else first: how does a river find the sea? " * 8},
    {"kind": "assistant", "text": "It flows downhill, always. " * 16},
)
"""What stands before rows of a few words: a summary says of itself what it is, so it is smaller than a hundred tokens and more alone."""

WORDS_MIN = 100
OUTPUT_TOKENS = 500
SLOW_SECONDS = 5


def summarizer(done: Done, *given: Mapping[str, Any], small: bool = False) -> dict[str, Any]:
    """Makes the fake answer one compaction after another, and gives the driver that asks it; the play is `facts["summaries"]`."""
    dialect = dialect_of(given[0].get("provider", "openai-chat"))
    delay = max(one.get("delay_ms", 0) / 1000 or (SLOW_SECONDS if "timeout_ms" in one else 0) for one in given)
    play = Play([_attempt(one, dialect) for one in given], delay)
    name = SUMMARIZER_SMALL if small else SUMMARIZER
    done.place.upstream.plays[name] = done.facts["summaries"] = play
    return {"kind": "model", "model": {"upstream": upstream_of(dialect), "name": name}}


def _attempt(given: Mapping[str, Any], dialect: str) -> Any:
    if "http_status" in given:
        return {"status": given["http_status"], "body": given["body"]}
    if "stream" in given:
        return {"status": 200, "chunks": given["stream"], "then": given["then"]}
    return saying_in(dialect, given.get("returns", "Noted."))


def limits_of(budget_tokens: int) -> dict[str, Any]:
    """A window in which input may take that much."""
    window = -(-(budget_tokens + OUTPUT_TOKENS) * 100 // 95)
    return {"context_window": window, "max_output_tokens": OUTPUT_TOKENS}


async def asked(done: Done, driver: Mapping[str, Any], given: Mapping[str, Any]) -> httpx.Response:
    """A compaction on request."""
    keep = given.get("keep_recent_tokens") or await _weight(done, given.get("keep_recent_messages", 1))
    body = {"keep_recent_tokens": keep, "driver": driver}
    answer = await done.world.client.post(f"/sessions/{done.session}/compactions", json=body)
    done.answers.append(answer)
    return answer


def padded(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows, behind the padding where they are few words."""
    return [*(PADDING if len(json.dumps(rows).split()) < WORDS_MIN else ()), *rows]


async def _weight(done: Done, messages: int) -> int:
    newest = (await done.raw())[-messages:]
    return max(1, sum(entry["tokens"] or 0 for entry in newest))


async def compact(done: Done) -> None:
    """The ledger, compacted once, or once for each of several summarizers; `inputs` are what was sent before and what will be sent to each target."""
    given = done.case.input
    options = given.get("options", {})
    await _opened(done, given)
    done.inputs.append(await done.world.input(done.session))
    for one in given.get("summarizers") or [given["summarizer"]]:
        driver = summarizer(done, one, small="summarizer_context_tokens" in options)
        driver = {"kind": "excerpt"} if options.get("keep_user_texts") else driver
        with _in_time(one):
            await asked(done, driver, options)
    targets = given.get("then_project") or ["openai-chat" if done.case.provider == "any" else done.case.provider]
    for target in targets:
        done.inputs.append(await done.world.input(done.session, **_model(target)))


def _in_time(given: Mapping[str, Any]) -> AbstractContextManager[Any]:
    return patch("app.services.compactions.reading.SUMMARY_SECONDS_MAX", given["timeout_ms"] / 1000) if "timeout_ms" in given else nullcontext()


def _model(provider: str) -> dict[str, Any]:
    upstream = upstream_of(dialect_of(provider))
    return {"upstream": upstream, "model": MODELS[upstream]}


async def _opened(done: Done, given: Mapping[str, Any]) -> None:
    """A session with the rows. What only a provider's own request can say is imported as one; system rows are the agent's."""
    rows = padded(given["ledger"])
    if given.get("ledger_request_format") == "anthropic" or any("raw_blocks" in row for row in rows):
        messages = [row if "role" in row else {"role": row["kind"], "content": row.get("raw_blocks") or row["text"]} for row in rows]
        agent = await done.world.agent(model={"upstream": "anthropic", "name": "claude-sonnet-4-5"})
        query = {"format": "anthropic-messages", "agent": agent}
        report = await done.world.call("POST", "/sessions/import", 201, params=query, content=json.dumps({"messages": messages}))
        done.session = report.json()["sessions"][0]["id"]
        return
    head = [{"renderer": "system", "text": row["text"]} for row in rows if row["kind"] == "system"]
    done.session = await done.place.session(context=[*head, {"renderer": "history"}])
    await seeded(done.world, done.session, split_system([row for row in rows if row["kind"] != "system"])[1])


async def behind_a_summary(done: Done, **model: Any) -> Any:
    """The session's input with all but its newest turn covered, by excerpts."""
    body = {"keep_recent_tokens": 1, "driver": {"kind": "excerpt"}}
    found = (await done.world.call("POST", f"/sessions/{done.session}/compactions", 200, json=body)).json()
    assert found["outcome"] == "compacted", found
    return await done.world.input(done.session, **model)


async def step(done: Done, given: Mapping[str, Any], saved: dict[str, str]) -> None:
    """A compaction on request among other steps."""
    one = given["compact"]
    await asked(done, summarizer(done, one["summarizer"]), one)


async def failed_checkpoint(done: Done, given: Mapping[str, Any], saved: dict[str, str]) -> None:
    """Nobody inserts checkpoints here: a summary that breaks off with these words is as near as it gets."""
    text = json.dumps({"choices": [{"index": 0, "delta": {"content": given["insert_checkpoint"]["summary"]}, "finish_reason": None}]})
    await asked(done, summarizer(done, {"stream": [f"data: {text}\n\n"], "then": "close"}), {})


async def automatic(done: Done, given: Mapping[str, Any], saved: dict[str, str]) -> None:
    """A turn before whose call a compaction may be made."""
    summarizer(done, given["project_auto_compact"]["summarizer"])
    body = {"input": done.facts["held"]}
    done.answers.append(await done.world.call("POST", f"/sessions/{done.session}/turns", 200, json=body, headers={"accept": "application/json"}))


async def opened_for_turns(done: Done, given: Mapping[str, Any], **document: Any) -> None:
    """A session whose agent has the room that `project_auto_compact` names and whose model plays `done.play`, compacted by the fake."""
    upstream = upstream_of(dialect_of(given.get("provider", "openai-chat")))
    done.play = done.play or Play([saying_in(dialect_of(given.get("provider", "openai-chat")), "ok")])
    compaction = {"driver": summarizer(done, given["summarizer"]), "trigger_fraction": given.get("trigger_ratio", 0.9)}
    done.session = await done.place.playing(done.play, upstream, limits=limits_of(given["budget_tokens"]), compaction=compaction, **document)


async def sequence(done: Done) -> None:
    """Steps that end in turns: the rows, but for what the user said last, which is what each turn says."""
    steps: Sequence[Mapping[str, Any]] = done.case.input["steps"]
    autos = [one["project_auto_compact"] for one in steps if "project_auto_compact" in one]
    texts = [one["put_system"] for one in steps if "put_system" in one]
    await opened_for_turns(done, autos[0], context=[*[{"renderer": "system", "text": text} for text in texts], {"renderer": "history"}])
    for one in steps:
        if "append" in one:
            *rows, last = one["append"]
            done.facts["held"] = last["text"]
            await seeded(done.world, done.session, rows)
        elif "project_auto_compact" in one:
            await automatic(done, one, {})


async def loop(done: Done) -> None:
    """Turns with the same input again and again; or one turn whose model calls a tool in each iteration."""
    given = done.case.input
    *rows, last = given.get("ledger") or given["start"]
    done.facts["held"] = last["text"]
    if "each" in given and isinstance(given["each"], dict):
        await opened_for_turns(done, given["each"]["project_auto_compact"])
        await seeded(done.world, done.session, rows)
        for _ in range(given["max_iterations"]):
            await automatic(done, given["each"], {})
        return
    appended, projected = given["each"][0]["append"], given["each"][1]["project_auto_compact"]
    done.play = Play([_calling(appended[0]["calls"][0], number) for number in range(given["iterations"])])
    tool = {"name": appended[0]["calls"][0]["name"], "parameters": {"type": "object"}}
    await opened_for_turns(done, projected, tools=[tool])
    await seeded(done.world, done.session, rows)
    turn = await done.world.turn(done.session, last["text"])
    while turn["status"] == "requires_action":
        results = [{"tool_call_id": one["tool_call_id"], "content": appended[1]["text"]} for one in turn["pending"]]
        turn = await done.world.results(done.session, turn["id"], results)
    done.turn = turn


def _calling(call: Mapping[str, Any], number: int) -> Any:
    """An attempt in Chat Completions that calls the tool of that iteration."""
    filled = {key: value.replace("{i}", str(number)) for key, value in call.items()}
    function = {"name": filled["name"], "arguments": filled["arguments"]}
    delta = {"tool_calls": [{"index": 0, "id": filled["id"], "type": "function", "function": function}]}
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    return {"status": 200, "chunks": [*[f"data: {json.dumps(chunk)}\n\n" for chunk in chunks], "data: [DONE]\n\n"]}


async def parallel(done: Done) -> None:
    """Requests side by side on a session with these rows, each begun after its own delay."""
    given = done.case.input
    requests = given["requests"]
    turns = [one["turn"] for one in requests if "turn" in one]
    told = given.get("settings", {}).get("summarizer") or requests[0]["compact"]["summarizer"]
    driver = summarizer(done, told)
    done.play = Play(turns[0]["upstream_sequence"]) if turns else Play([saying_in("openai-chat", "ok")])
    done.session = await done.place.playing(done.play, limits={"context_window": 100_000, "max_output_tokens": 500}, compaction={"driver": driver})
    await seeded(done.world, done.session, given["session_ledger"])
    done.facts["outcomes"] = list(await asyncio.gather(*[_beside(done, one, driver) for one in requests]))


async def _beside(done: Done, given: Mapping[str, Any], driver: Mapping[str, Any]) -> Any:
    await asyncio.sleep(given.get("delay_ms", 0) / 1000)
    if "compact" in given:
        return await asked(done, driver, given["compact"])
    done.frames = await done.world.stream(done.session, given["turn"]["message"])
    return None
