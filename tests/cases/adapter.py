"""From a case's `op` to calls of the service. Each operation is a function from the case and its options to what came of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx

from app.config.secret import Secret
from tests.cases import compacting, counting, faults, loads, processes, rendering, streams, tenants
from tests.cases.blocks import has_blocks
from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.posting import posted, seeded
from tests.cases.rows import entries, split_system
from tests.cases.steps import entries_text, request_of
from tests.cases.upstream import Play

Operation = Callable[..., Awaitable[None]]


async def perform(done: Done, **options: Any) -> None:
    """Carries a case out. `options` are what its check chose where the case leaves a choice."""
    await OPERATIONS[done.case.op](done, **options)


async def http(done: Done, *, own: bool = False, keys: bool = False) -> None:
    """One request after another. A case that speaks of tenants has two of them; `own`: the log is looked at, `keys`: keys are asked for."""
    given = done.case.input
    steps = given.get("steps") or given["requests"]
    if "as" in given:
        names = await tenants.two(done)
    else:
        if own or keys:
            changes = {"auth": "keys", "bootstrap_key": Secret("boot-" + "k" * 40)} if keys else {}
            done.place = await done.places.own(log_level="debug", **changes)
        names = {} if keys else await _names(done, steps)
    for step in steps:
        request = request_of(step, names)
        done.answers.append(await done.world.client.request(request.method, request.path, **request.arguments))


async def _names(done: Done, steps: list[Mapping[str, Any]]) -> dict[str, str]:
    """A session, and a settled turn of it where a step names one."""
    play = streams.saying("hello")
    done.session = await done.place.playing(play)
    if not any("{turn}" in step["path"] for step in steps):
        return {"id": done.session}
    return {"id": done.session, "turn": (await done.world.turn(done.session))["id"]}


async def append(done: Done) -> None:
    """The events, appended together."""
    done.session = await done.place.session()
    done.answers.append(await posted(done, entries(done.case.input["events"])))


async def append_raw(done: Done) -> None:
    """One event, its text sent as written, and read again where the case says so."""
    done.session = await done.place.session()
    text = entries_text(done.case.input["raw_body"]).encode()
    headers = {"content-type": "application/json"}
    done.answers.append(await done.world.client.post(f"/sessions/{done.session}/entries", content=text, headers=headers))
    if done.case.input.get("then") == "GET":
        done.answers.append(await done.world.client.get(f"/sessions/{done.session}/raw"))


async def project(done: Done, upstream: str | None = None, **document: Any) -> None:
    """The ledger, stored, and what its target would be sent. `upstream`: one with quirks."""
    given = done.case.input
    if "system_template" in given:
        await rendering.project(done)
        return
    renderers, rows = split_system(given["ledger"])
    renderers += document.pop("filters", [])
    upstream = upstream or upstream_of(dialect_of(given["target"]["provider"]))
    done.session = await done.place.session(given["target"]["model"], upstream, context=renderers, **document)
    await seeded(done.world, done.session, rows)
    done.inputs.append(await done.world.input(done.session))


async def ingest_then_project(done: Done, **document: Any) -> None:
    """A request of another API, imported; a session of an import follows the agent that it names."""
    given = done.case.input
    upstream = upstream_of(dialect_of(given["target"]["provider"]))
    agent = await done.world.agent(model={"upstream": upstream, "name": given["target"]["model"]}, **document)
    chat = json.dumps({"messages": given["request_messages"]})
    done.answers.append(await done.world.call("POST", "/sessions/import", 201, params={"format": "openai-chat", "agent": agent}, content=chat))
    done.session = done.answers[0].json()["sessions"][0]["id"]
    done.inputs.append(await done.world.input(done.session))


async def sequence(done: Done) -> None:
    """Steps, one after another, in one session."""
    if any("project_auto_compact" in step for step in done.case.input["steps"]):
        await compacting.sequence(done)
        return
    if any("put_system" in step for step in done.case.input["steps"]):
        await rendering.sequence(done)
        return
    done.session = await done.place.session(**_opened(done.case.input["steps"]))
    saved: dict[str, str] = {}
    if any("compact" in step for step in done.case.input["steps"]):
        await seeded(done.world, done.session, compacting.PADDING)
    for step in done.case.input["steps"]:
        for word, act in _STEPS.items():
            if word in step:
                await act(done, step, saved)


def _opened(steps: list[Mapping[str, Any]]) -> dict[str, Any]:
    """What the steps ask of the session's agent: tools, and room for an input of the size that a projection names."""
    tools = [_tool(n, one["put_tools"]["schema_bytes_each"]) for one in _with(steps, "put_tools") for n in _count(one)]
    rooms = [one["project"]["budget_tokens"] for one in _with(steps, "project") if "budget_tokens" in one["project"]]
    output = 1_000
    limits = [{"context_window": -(-(room + output) * 100 // 95), "max_output_tokens": output} for room in rooms]
    return ({"tools": tools} if tools else {}) | ({"limits": limits[0]} if limits else {})


def _tool(number: int, schema_bytes: int) -> dict[str, Any]:
    """A tool whose schema is about that long."""
    fields = {f"field_{n}": {"type": "string", "description": "words " * 10} for n in range(schema_bytes // 100)}
    return {"name": f"t_{number}", "parameters": {"type": "object", "properties": fields}}


def _with(steps: list[Mapping[str, Any]], word: str) -> list[Mapping[str, Any]]:
    return [one for one in steps if word in one]


def _count(step: Mapping[str, Any]) -> range:
    return range(step["put_tools"]["count"])


async def _append(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    if any(map(has_blocks, step["append"])):
        await seeded(done.world, done.session, step["append"])
        return
    headers = {"if-match": saved[step["if_match"].strip("{}")]} if "if_match" in step else {}
    answer = await posted(done, entries(step["append"]), headers)
    done.answers.append(answer)
    if "save" in step:
        saved[step["save"]] = answer.headers["etag"]


async def _get(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    path = step["get"].partition("/")[2]
    if path:  # the content of one message on demand: the blob that its reference names
        listed = done.answers[-1].json()["data"]
        (part,) = [part for entry in listed for part in entry["body"]["parts"] if "blob" in part]
        done.answers.append(await done.world.client.get(f"/sessions/{done.session}/blobs/{part['blob']['digest']}"))
        return
    request = request_of({"method": "GET", "path": f"/sessions/{done.session}/{step['get']}"}, {})
    done.answers.append(await done.world.client.get(request.path, params={**request.params, "blobs": "ref"}))


async def _walk(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    forward = step["direction"] == "forward"
    query: dict[str, Any] = {"order": "asc" if forward else "desc", "limit": step["walk"].partition("limit=")[2]}
    pages: list[Any] = []
    while not pages or pages[-1]["has_more"]:
        pages.append((await done.world.call("GET", f"/sessions/{done.session}/raw", 200, params=query)).json())
        query["after_seq" if forward else "before_seq"] = pages[-1]["next"]
        assert len(pages) <= 100
    done.walks.append(pages)


async def _project(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    target = step["project"]
    upstream = upstream_of(dialect_of(target["provider"]))
    done.inputs.append(await done.world.input(done.session, upstream=upstream, model=target["model"]))


async def _digest(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    """The ledger as it is read, and what its chain comes to."""
    whole = (await done.world.call("GET", f"/sessions/{done.session}/verify", 200)).json()
    done.facts.setdefault("digests", []).append([whole["head_digest"], whole["ok"], await done.world.ledger(done.session)])


async def _record_usage(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    """Nobody tells the service of usage but a provider: a turn, answered by one that reports these figures."""
    (model,) = {one["project"]["model"] for one in done.case.input["steps"] if "project" in one}
    done.place.upstream.plays[model] = Play([streams.reporting(step["record_usage"])])
    done.turn = await done.world.turn(done.session, "b", overrides={"model": {"upstream": "anthropic", "name": model}})


async def _freeze(done: Done, step: Mapping[str, Any], saved: dict[str, str]) -> None:
    """The clock is the database's and stands still within a statement, so what is appended together has one time."""


_STEPS: Mapping[str, Callable[[Done, Mapping[str, Any], dict[str, str]], Awaitable[None]]] = {
    "append": _append,
    "get": _get,
    "walk": _walk,
    "project": _project,
    "digest": _digest,
    "record_usage": _record_usage,
    "freeze_clock": _freeze,
    "compact": compacting.step,
    "insert_checkpoint": compacting.failed_checkpoint,
}


async def parallel(done: Done) -> None:
    """Requests side by side, each begun after its own delay."""
    if "session_ledger" in done.case.input:
        await compacting.parallel(done)
        return
    given = [{**one, **one.get("turn", {})} for one in done.case.input["requests"]]
    (seconds,) = {one["upstream_delay_ms"] / 1000 for one in given if "upstream_delay_ms" in one}
    done.play = streams.saying("hello", delay_seconds=seconds)
    done.session = await done.place.playing(done.play)
    done.answers = list(await asyncio.gather(*[_after(done, one) for one in done.case.input["requests"]]))


async def _after(done: Done, step: Mapping[str, Any]) -> httpx.Response:
    await asyncio.sleep(step.get("delay_ms", 0) / 1000)
    if "delete" in step:
        return await done.world.client.delete(f"/sessions/{done.session}")
    if "turn" in step:
        body = {"input": step["turn"]["message"]}
        return await done.world.client.post(f"/sessions/{done.session}/turns", json=body, headers={"accept": "application/json"})
    request = request_of(step, {"id": done.session})
    return await done.world.client.request(request.method, request.path, **request.arguments)


OPERATIONS: Mapping[str, Operation] = {
    "http": http,
    "http_many": http,
    "append": append,
    "append_raw": append_raw,
    "project": project,
    "sequence": sequence,
    "parallel": parallel,
    "stream": streams.stream,
    "stream_then_project": streams.stream_then_project,
    "ingest_then_project": ingest_then_project,
    "usage": counting.usage,
    "crash": processes.crash,
    "startup": processes.startup,
    "log_scan": faults.log_scan,
    "fault": faults.fault,
    "fetch_guard": faults.fetch_guard,
    "sql_and_http": faults.sql_and_http,
    "load": loads.load,
    "compact": compacting.compact,
    "compact_many": compacting.compact,
    "loop": compacting.loop,
    "count": counting.count,
}
