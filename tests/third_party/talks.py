"""What the service is asked for, whichever fake answers: upstreams as an operator writes them, and turns in both forms of the answer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from app.config.settings import Settings, load_settings
from tests.api.conftest import on_socket
from tests.services.world import Frame, World, client_of, read_until, said

FORMS = ("json", "stream")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOLS = [
    {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA},
    {"name": "get_time", "description": "The time in a city.", "parameters": SCHEMA},
]
CONTEXT = [{"renderer": "system", "text": "You answer travellers."}, {"renderer": "history"}]


class Wire(NamedTuple):
    """One upstream: its name, the dialect that is spoken there, the model, and its table in the settings file but for what all share."""

    name: str
    dialect: str
    model: str
    table: str


class Answer(NamedTuple):
    """What one request to the service gave: the turn, and the text as it was streamed with the number of its pieces (none in JSON)."""

    turn: Any
    text: str
    pieces: int


def settings_of(wires: Sequence[Wire], url: str, database_url: str, folder: Path) -> Settings:
    """The settings of a file whose upstreams all lead to the fake at `url`; `{url}` stands for it in their tables."""
    tables = []
    for wire in wires:
        lines = [f"[upstreams.{wire.name}]", "allow_private_network = true", wire.table.replace("{url}", url)]
        lines += ['api_key_env = "FAKE_KEY"'] if "aws_region" not in wire.table else []
        lines += ["retries_max = 0"] if "retries_max" not in wire.table else []
        tables.append("\n".join(lines))
    path = folder / "context-ledger.toml"
    path.write_text("pool_size = 5\nlog_level = 'warning'\ndrain_seconds = 0.5\n" + "\n\n".join(tables), "utf-8")
    keys = {"FAKE_KEY": "fake-key-" + "k" * 24, "FAKE_ID": "FAKEFAKEFAKEFAKEFAKE", "FAKE_SECRET": "s" * 40}
    return load_settings({**keys, "CONTEXT_LEDGER_DATABASE_URL": database_url}, path)


@asynccontextmanager
async def service(settings: Settings) -> AsyncIterator[World]:
    """A client of the whole service, which listens on a socket."""
    async with on_socket(settings) as url, client_of(url) as client:
        yield World(client)


async def open_session(world: World, wire: Wire, **document: Any) -> str:
    """A session of a new agent with the wire's model."""
    model = {"upstream": wire.name, "name": wire.model}
    return await world.session(await world.agent(model=model, context=CONTEXT, **document))


async def ask(world: World, form: str, path: str, body: Any) -> Answer:
    """Posts to a turn's path in one of the `FORMS`."""
    if form == "json":
        return Answer((await world.call("POST", path, 200, json=body, headers={"accept": "application/json"})).json(), "", 0)
    async with world.client.stream("POST", path, json=body, headers={"accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200, await answer.aread()
        found: list[Frame] = await read_until(answer, None)
    return Answer(found[-1].data["turn"], said(found), sum(frame.event == "text.delta" for frame in found))


async def say(world: World, form: str, session: str, text: str) -> Answer:
    """A turn with a user's text."""
    return await ask(world, form, f"/sessions/{session}/turns", {"input": text})


async def give(world: World, form: str, session: str, turn: Any, results: dict[str, str]) -> Answer:
    """Results for the turn's pending calls, by the names of their tools."""
    given = [{"tool_call_id": one["tool_call_id"], "content": results[one["name"]]} for one in turn["pending"]]
    return await ask(world, form, f"/sessions/{session}/turns/{turn['id']}/tool-results", {"results": given})


async def answers(world: World, session: str) -> list[Any]:
    """The bodies of the model's answers so far."""
    return [entry["body"] for entry in await world.raw(session) if entry["kind"] == "assistant_message"]


def spoken(answer: Any) -> list[tuple[str, str]]:
    """Kind and text of an answer's parts, but for reasoning of which only the provider's own block is there."""
    return [(part["type"], part["text"]) for part in answer["parts"] if part["type"] != "reasoning" or part["text"]]


async def check_calls(world: World, session: str, wire: Wire, number: int) -> None:
    """All model calls ended well, spoke the wire's dialect, brought their own usage, and sent bodies that are proved and in order."""
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert len(calls) == number
    for call in calls:
        assert (call["dialect"], call["status"], call["usage"]["source"]) == (wire.dialect, "completed", "reported"), call
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert (seen["verified"], seen["violations"], seen["losses"]) == (True, [], [])
