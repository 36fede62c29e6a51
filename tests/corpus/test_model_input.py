"""Imported sessions as a model would be sent them: each body valid by the SDK's types, by our own rules and by the fake's; then turns."""

import json
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from app.config.settings import Settings
from tests.api.conftest import message, on_socket, running, talking
from tests.corpus.conftest import Imported
from tests.fakes.openai_chat import fake_openai
from tests.fakes.openai_chat_rules import breaches
from tests.formats.openai_chat.judge import sdk_answer
from tests.formats.openai_chat.streams import recorded
from tests.judges.openai_chat import schema
from tests.judges.schemas import found_by
from tests.services.world import World, client_of, said, text

OWN_STREAMS = Path(__file__).parents[1] / "transcripts" / "openai_chat"
LIMITS = {"context_window": 1_000_000, "max_output_tokens": 8_192}


def largest(imported: Imported) -> str:
    """The session with the most messages."""
    counted = {session["id"]: session["messages"] for report in imported.reports for session in report["sessions"]}
    return max(counted, key=lambda one: counted[one])


def streams_of(request: pytest.FixtureRequest, imported: Imported, vendor: str) -> dict[str, bytes]:
    """Our own recorded streams for our own files, and those of the corpus for its files."""
    if imported.files[0].is_relative_to(OWN_STREAMS.parent):
        return {path.name: path.read_bytes() for path in sorted(OWN_STREAMS.glob("*.sse.txt"))}
    found = recorded(request.getfixturevalue("shared"))
    return {name: stream for name, stream in found.items() if name.startswith("openai/") == (vendor == "openai")}


async def follow_with(client: httpx.AsyncClient, session: str, upstream: str, tools: list[Any], **params: Any) -> None:
    """Puts an agent on that upstream and makes the session adopt it."""
    model = {"upstream": upstream, "name": "gpt-4.1-nano", "params": params}
    document = {"model": model, "limits": LIMITS, "tools": tools, "context": [{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}]}
    assert (await client.put("/agents/reader", json=document)).status_code in (200, 201)
    adopted = await client.patch(f"/sessions/{session}", json={"agent": "reader"})
    assert adopted.status_code == 200, adopted.text


def against(body: Any) -> list[str]:
    """What the SDK's own types have against a body."""
    return found_by(schema(), body)


def called_names(body: Any) -> set[str]:
    return {call["function"]["name"] for each in body["messages"] for call in each.get("tool_calls", [])}


def declared(names: set[str]) -> list[Any]:
    return [
        {"name": name, "description": f"The tool {name}.", "parameters": {"type": "object"}, "executor": {"kind": "client"}} for name in sorted(names)
    ]


@pytest.mark.req("S0-30", "X-64")
async def test_the_body_of_every_session_is_valid_after_one_more_message(imported: Imported):
    async with running(imported.settings()) as app, talking(app) as client:
        for session, path in imported.latest.items():
            before = await client.get(f"/sessions/{session}/raw", params={"view": "ledger", "limit": 1000})
            added = await client.post(f"/sessions/{session}/entries", json={"entries": [message("And what is left to do?")]})
            assert added.status_code == 201, added.text
            found = (await client.get(f"/sessions/{session}/model-input")).json()
            body = found["body"]
            assert against(body) == [], path.name
            judged = await client.post("/validate/openai-chat", content=json.dumps(body), headers={"content-type": "application/json"})
            assert judged.json()["violations"] == [], path.name
            assert breaches(body) == [], path.name
            assert found["violations"] == []
            assert body["messages"][-1] == {"role": "user", "content": "And what is left to do?"}
            said_before = [as_sent(text(one)) for one in before.json()["data"] if one["kind"] == "user_message" and one["include_in_context"]]
            sent = iter([words(each) for each in body["messages"] if each["role"] == "user"])
            assert [one for one in said_before if one not in sent] == [], path.name
            again = await client.get(f"/sessions/{session}/model-input")
            assert again.json()["digest"] == found["digest"]


def as_sent(said: str) -> str:
    """UTF-8 has no form for half a character, so a provider gets its replacement."""
    return "".join("\ufffd" if 0xD800 <= ord(each) <= 0xDFFF else each for each in said)


def words(message: Any) -> str:
    """The text of a message of a Chat body."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


async def test_a_streamed_turn_on_the_largest_by_the_built_in_upstream(imported: Imported):
    session = largest(imported)
    async with on_socket(imported.settings()) as url, client_of(url) as client:
        world = World(client)
        await follow_with(client, session, "scripted", [], script=[{"reasoning": "Hm.", "text": "Nothing is left.", "chunk_chars": 3}])
        found = await world.stream(session, "Is that all?")
        assert found[0].event == "turn.started"
        assert found[-1].event == "turn.completed"
        assert said(found) == "Nothing is left."
        assert (await world.raw(session, order="desc"))[0]["body"]["parts"][-1]["text"] == "Nothing is left."
        (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
        derived = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert derived["verified"] is True
        assert against(derived["body"]) == []


@pytest.mark.parametrize("vendor", ["openai", "others"])
async def test_streamed_turns_on_the_largest_by_a_strict_server(request: pytest.FixtureRequest, imported: Imported, vendor: str):
    """Each recorded stream answers one turn; what it called gets results, and the conversation as it has become must pass again."""
    streams = streams_of(request, imported, vendor)
    assert len(streams) >= 3
    session = largest(imported)
    closing = (OWN_STREAMS / "text.sse.txt").read_bytes()
    async with fake_openai([closing]) as fake:
        # What other vendors put beside their answers goes back to them, and this server would not know it.
        upstream = fake.upstream(quirks={"provider_blocks": vendor == "openai"})
        settings: Settings = imported.settings(upstreams={**Settings().upstreams, "openai": upstream})
        async with on_socket(settings) as url, client_of(url) as client:
            world = World(client)
            history = (await world.input(session))["body"]
            offered = called_names(history) | {name for stream in streams.values() for name in names_in(stream)}
            await follow_with(client, session, "openai", declared(offered))
            for name, stream in streams.items():
                fake.streams, fake.served = [stream, closing], []
                await one_turn(world, session, name, stream)
                assert not fake.refused, (name, fake.refused[0][1])
                assert [against(fake.plain(body)) for body in fake.served] == [[]] * len(fake.served)
                assert len(fake.served[0]["messages"]) > len(history["messages"])
            verified = (await world.call("GET", f"/sessions/{session}/verify", 200)).json()
            assert verified["ok"]


async def one_turn(world: World, session: str, name: str, stream: bytes) -> None:
    """A turn whose first answer is the stream; open calls are answered until the turn settles."""
    found = await world.stream(session, f"Play {name}")
    assert found[-1].event in ("turn.completed", "turn.failed", "turn.requires_action"), (name, found[-1])
    turn = found[0].data["turn_id"]
    committed = [frame.data["message"] for frame in found if frame.event == "message.committed"]
    if name.startswith("openai/") or "/" not in name:
        assert found[-1].event != "turn.failed", (name, found[-1])
        expected = sdk_answer(stream).choices[0].message
        assert text(committed[0]) == (expected.content or expected.refusal or ""), name
        calls = [part for part in committed[0]["body"]["parts"] if part["type"] == "tool_call"]
        assert [(part["name"], part["arguments"]) for part in calls] == [
            (call.function.name, call.function.arguments) for call in expected.tool_calls or [] if call.type == "function"
        ]
    if found[-1].event == "turn.requires_action":
        pending = found[-1].data["turn"]["pending"]
        results = [{"tool_call_id": each["tool_call_id"], "content": "Nothing was found."} for each in pending]
        settled = await world.results(session, turn, results)
        assert settled["status"] in ("completed", "failed"), (name, settled)


def names_in(stream: bytes) -> set[str]:
    """The names that a stream calls, told by whatever looks like one: more may be declared than is called."""
    found = set()
    for line in stream.split(b"\n"):
        if line.startswith(b"data: {"):
            for choice in orjson.loads(line[6:]).get("choices") or []:
                for call in (choice.get("delta") or {}).get("tool_calls") or []:
                    found.add((call.get("function") or {}).get("name"))
    return {name for name in found if name}
