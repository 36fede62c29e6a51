"""Texts counted as the service counts them: as entries that are appended, and as a request that is compiled."""

import asyncio
import time
from typing import Any

from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.posting import seeded
from tests.cases.rows import entries, split_system
from tests.cases.streams import reporting
from tests.cases.upstream import Play


async def count(done: Done) -> None:
    """Texts: each appended as a message of its own, timed. A ledger: compiled with and without its tools."""
    given = done.case.input
    if "texts" in given:
        done.session = await done.place.session(given["model"])
        async with _probe(done, "concurrent_probe" in given):
            done.facts["tokens"], done.facts["seconds"] = [], []
            for text in given["texts"]:
                await _one(done, text)
        return
    (model,) = given["models"]
    upstream = upstream_of(dialect_of(done.case.provider))
    renderers, rows = split_system(given["ledger"])
    choices: tuple[list[Any], ...] = (given["tools"], []) if "tools" in given else ([],)
    for tools in choices:
        # Two tools of one agent have two names: the case repeats one tool.
        named = [{**tool, "name": f"{tool['name']}_{at}"} for at, tool in enumerate(tools)]
        done.session = await done.place.session(model, upstream, context=renderers, tools=named)
        await seeded(done.world, done.session, rows)
        done.inputs.append(await done.world.input(done.session))


async def usage(done: Done) -> None:
    """A turn that is answered with the frames' figures, one after another."""
    done.play = Play([reporting(*done.case.input["frames"])])
    done.session = await done.place.playing(done.play, upstream_of(dialect_of(done.case.provider)))
    done.turn = await done.world.turn(done.session)


async def _one(done: Done, text: str) -> None:
    began = time.perf_counter()
    path = f"/sessions/{done.session}/entries"
    answer = await done.world.call("POST", path, 201, json={"entries": entries([{"kind": "user", "text": text}])})
    done.facts["seconds"].append(time.perf_counter() - began)
    done.facts["tokens"].append(answer.json()["entries"][0]["tokens"])


class _probe:
    """Asks `/livez` every 50 ms while its block runs; the waits, in seconds, are in `facts["probe"]`."""

    def __init__(self, done: Done, wanted: bool) -> None:
        self._done = done
        self._wanted = wanted
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._done.facts["probe"] = []
        if self._wanted:
            self._task = asyncio.create_task(self._ask())

    async def __aexit__(self, *_: Any) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ask(self) -> None:
        while True:
            began = time.perf_counter()
            await self._done.world.call("GET", "/livez", 200)
            self._done.facts["probe"].append(time.perf_counter() - began)
            await asyncio.sleep(0.05)
