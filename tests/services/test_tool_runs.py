"""One run of a tool for a turn: what reaches the server, what comes back as a result, and that a stop ends it."""

import asyncio
import json
from typing import Any, cast
from uuid import UUID

import pytest

from app.context.agents.read import read_agent
from app.context.sources import Tool
from app.entries.ids import TURN, format_id
from app.entries.messages import ToolResult
from app.entries.parts import Media, Text, ToolCall
from app.models.resolve import Limits
from app.outbound.client import Clients
from app.outbound.tool_servers.servers import ToolServers
from app.services.running import Facts, Options, Running
from app.services.streams import TurnKey, TurnStream
from app.services.tools import ToolRuns, request_id
from app.services.write import Draft, Writer
from app.turn.policy import Policy
from tests.outbound.tool_servers.kit import Endpoint, configured, endpoint
from tests.strategies import MODEL

SESSION, TURN_ID = "ses_01h455vb4pex5vsknk084sn02q", UUID(int=7)
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "maxLength": 5, "pattern": "^[a-z/-]+$"}, "depth": {"$ref": "#/$defs/depth"}},
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"depth": {"type": "integer", "minimum": 1}},
}


@pytest.fixture
async def clients():
    found = Clients()
    yield found
    await found.aclose()


@pytest.fixture
def running() -> Running:
    key = TurnKey(UUID(int=1), UUID(int=2), 3)
    facts = Facts(key, SESSION, TURN_ID, follows=0, retry_of=None, input_seq=2, options=Options())
    agent = read_agent("a", 1, {"model": MODEL}, Limits(1000, 100, "explicit"), "sha256:0")
    return Running(facts, Policy(), agent, 1, 5, TurnStream(key, 1, 0), cast(Writer, None))  # a run writes nothing


@pytest.fixture
def run(clients, running):
    async def call(place: Endpoint, arguments: str, schema: Any = SCHEMA, **server: Any) -> Draft:
        runs = ToolRuns(ToolServers(clients, {"desk": configured(place.url, **server)}))
        tool = Tool("look", "", schema, executor={"kind": "http", "server": "desk", "tool": "look-up"})
        return await runs.run(running, tool, ToolCall("call_1", "look", arguments))

    return call


def text(draft: Draft) -> str:
    assert isinstance(draft.body, ToolResult)
    return "".join(part.text for part in draft.body.parts if isinstance(part, Text))


@pytest.mark.req("T-23", "S0-21")
async def test_a_run_gives_the_result_of_its_call(run):
    async with endpoint() as place:
        draft = await run(place, '{"path": "a/b"}')
        assert draft == Draft("tool_result", ToolResult("call_1", (Text("fine"),), "look", False), 3)
        turn = format_id(TURN, TURN_ID)
        assert place.taken == [{"tool": "look-up", "tool_call_id": "call_1", "arguments": {"path": "a/b"}, "session_id": SESSION, "turn_id": turn}]
        await run(place, '{"path": "a/b"}')
        assert place.ids == [request_id(SESSION, "call_1")] * 2
        assert len({request_id(SESSION, "call_1"), request_id(SESSION, "call_2"), request_id(SESSION[:-1] + "r", "call_1")}) == 3


@pytest.mark.req("X-18")
async def test_media_come_along(run):
    async with endpoint(answer=b'{"content":[{"type":"file","data":"AAAA","media_type":"a/b"}]}') as place:
        draft = await run(place, '{"path": "a"}')
        (part,) = draft.body.parts
        assert isinstance(part, Media)
        assert part.blob is not None
        assert draft.media == {part.blob.digest: ("a/b", bytes(3))}


@pytest.mark.req("T-23")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{", "no JSON"),
        ('{"path":"a","path":"b"}', "duplicate-key"),
        ("[1]", "JSON object"),
        ("", "/path: This is required."),
        ('{"path": 3}', "/path: This must be a string."),
        ('{"path": "secret-value"}', "/path: This may have at most 5."),
        ('{"path": "A"}', "/path: This does not match the pattern"),
        ('{"path": "a", "depth": 0}', "/depth: This must be at least 1."),
        ('{"path": "a", "more": "secret-value"}', "/more: There is no such field."),
    ],
)
async def test_arguments_that_do_not_fit_reach_no_server(run, arguments, said):
    async with endpoint() as place:
        draft = await run(place, arguments)
        assert draft.body.is_error
        assert text(draft).startswith("Not executed:")
        assert said in text(draft)
        assert "secret-value" not in text(draft)
        assert (place.taken, place.bodies) == ([], [])


async def test_blank_arguments_are_an_empty_object(run):
    async with endpoint() as place:
        assert not (await run(place, " ", {"type": "object"})).body.is_error
        assert place.taken[0]["arguments"] == {}


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"])
async def test_an_older_dialect_is_read_as_what_it_is(run, dialect):
    """`items` as a list of schemas is another keyword in 2020-12."""
    schema = {"$schema": dialect, "type": "object", "properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}]}}}
    async with endpoint() as place:
        assert not (await run(place, '{"pair": ["a", 1]}', schema)).body.is_error
        assert "/pair/1: This must be an integer." in text(await run(place, '{"pair": ["a", "b"]}', schema))


async def test_a_check_is_bounded_in_time_and_in_words(run):
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|aa)+$"}}}
    names = {"type": "object", "patternProperties": {"^(a|aa)+$": {"type": "string"}}}
    wide = {"type": "object", "required": [f"field-{at}-{'x' * 300}" for at in range(100)]}
    async with endpoint() as place:
        started = asyncio.get_running_loop().time()
        assert "too long" in text(await run(place, json.dumps({"a": "a" * 60 + "!"}), slow))
        assert not (await run(place, json.dumps({"a" * 60 + "!": 3}), names)).body.is_error, "the server judges patterns of names"
        assert len(text(await run(place, "{}", wide))) < 5_000
        assert asyncio.get_running_loop().time() - started < 10


@pytest.mark.req("T-23")
async def test_a_run_that_is_cancelled_drops_its_request(run):
    async with endpoint(pause_seconds=30) as place:
        task = asyncio.create_task(run(place, '{"path": "a"}', timeout_seconds=60.0))
        for _ in range(1000):
            if place.taken:
                break
            await asyncio.sleep(0.01)
        before = asyncio.all_tasks()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not [one for one in asyncio.all_tasks() & before if "ToolServers" in repr(one)]
