"""A service as its clients see it, and the words that tests of turns need: agents, sessions, turns, frames."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

LIMITS = {"context_window": 128000, "max_output_tokens": 4096}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it came over the wire."""

    id: int
    event: str
    data: Any


async def lines(answer: httpx.Response) -> AsyncIterator[str]:
    """Lines as the format of event streams has them; `aiter_lines` would also cut at U+2028 and its kin."""
    rest = ""
    async for piece in answer.aiter_text():
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield line


async def frames(chunks: AsyncIterator[str]) -> AsyncIterator[Frame]:
    """The frames of an event stream, read line by line; comments are left out."""
    number, event, data = 0, "", ""
    async for line in chunks:
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            data = line[6:]
        elif not line and event:
            yield Frame(number, event, json.loads(data))
            event = data = ""


class World:
    """Calls of one client. Every method fails the test where the service answers otherwise than asked for."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self._agents = 0

    async def call(self, method: str, path: str, expect: int, **more: Any) -> httpx.Response:
        answer = await self.client.request(method, path, **more)
        assert answer.status_code == expect, (answer.status_code, answer.text[:600])
        return answer

    async def agent(self, script: Sequence[Any] = ({"text": "Bonjour."},), name: str | None = None, **document: Any) -> str:
        self._agents += 1
        name = name or f"agent-{self._agents}"
        model = document.pop("model", {"upstream": "scripted", "name": "scripted", "params": {"script": list(script)}})
        answer = await self.client.put(f"/agents/{name}", json={"model": model, "limits": LIMITS, **document})
        assert answer.status_code in (200, 201), answer.text
        return name

    async def session(self, agent: str | None = None, script: Sequence[Any] = ({"text": "Bonjour."},), **more: Any) -> str:
        agent = agent or await self.agent(script)
        return str((await self.call("POST", "/sessions", 201, json={"agent": agent, **more})).json()["id"])

    async def turn(self, session: str, text: Any = "hello", expect: int = 200, headers: Any = None, **more: Any) -> Any:
        given = {"accept": "application/json", **(headers or {})}
        return (await self.call("POST", f"/sessions/{session}/turns", expect, json={"input": text, **more}, headers=given)).json()

    async def stream(self, session: str, text: Any = "hello", until: str | None = None, **more: Any) -> list[Frame]:
        """The frames of a streamed turn; `until` leaves right after the first frame of that name."""
        body = {"input": text, **more}
        headers = {"accept": "text/event-stream"}
        async with self.client.stream("POST", f"/sessions/{session}/turns", json=body, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            return await read_until(answer, until)

    async def events(self, session: str, turn: str, after: int | None = None, until: str | None = None) -> list[Frame]:
        headers = {"accept": "text/event-stream"} | ({} if after is None else {"last-event-id": str(after)})
        async with self.client.stream("GET", f"/sessions/{session}/turns/{turn}/events", headers=headers) as answer:
            if answer.status_code == 204:
                return []
            assert answer.status_code == 200, await answer.aread()
            return await read_until(answer, until)

    async def raw(self, session: str, **query: Any) -> list[Any]:
        return list((await self.call("GET", f"/sessions/{session}/raw", 200, params={"limit": 1000, **query})).json()["data"])

    async def ledger(self, session: str, **query: Any) -> list[Any]:
        return await self.raw(session, view="ledger", **query)

    async def input(self, session: str, **query: Any) -> Any:
        return (await self.call("GET", f"/sessions/{session}/model-input", 200, params=query)).json()

    async def results(self, session: str, turn: str, results: list[Any], expect: int = 200, **more: Any) -> Any:
        path = f"/sessions/{session}/turns/{turn}/tool-results"
        return (await self.call("POST", path, expect, json={"results": results, **more}, headers={"accept": "application/json"})).json()

    async def until(self, session: str, turn: str, *statuses: str, seconds: float = 20) -> Any:
        """The turn once it has one of the statuses."""
        async with asyncio.timeout(seconds):
            while True:
                view = (await self.call("GET", f"/sessions/{session}/turns/{turn}", 200)).json()
                if view["status"] in statuses:
                    return view
                await asyncio.sleep(0.05)


async def read_until(answer: httpx.Response, until: str | None) -> list[Frame]:
    found: list[Frame] = []
    async for frame in frames(lines(answer)):
        found.append(frame)
        if frame.event == until:
            break
    return found


def text(entry: Any) -> str:
    """The text parts of an entry, joined."""
    return "".join(part.get("text", "") for part in entry["body"]["parts"] if part["type"] == "text")


def roles(body: Any) -> list[str]:
    """The roles of a Chat body's messages."""
    return [message["role"] for message in body["messages"]]


def said(found: Sequence[Frame]) -> str:
    """The text that was streamed."""
    return "".join(frame.data["text"] for frame in found if frame.event == "text.delta")


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client with room for many open streams."""
    limits = httpx.Limits(max_connections=400, max_keepalive_connections=50)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, trust_env=False) as client:
        yield client
