"""Out as in: every string, every number's spelling, every order of keys, through each door by which a document enters and leaves."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import open_session, running, talking
from tests.api.fidelity import NUMBERS, TEXTS, any_document, any_text, array, exact, member, obj, spelled
from tests.corpus.conftest import command
from tests.database.copies import copy_of_template, with_database
from tests.database.shared import Server

JSON = {"content-type": "application/json"}


def drawn(count: int) -> examples:
    """So many examples, the same in each run; they share the test's service, which is what saves the time."""
    return examples(max_examples=count, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def sent(client: httpx.AsyncClient, method: str, path: str, body: str, *statuses: int) -> Any:
    """The exact answer to a body that is sent as it is spelled."""
    answer = await client.request(method, path, content=body.encode(), headers={**JSON, "accept": "application/json"})
    assert answer.status_code in (statuses or (200, 201)), answer.text[:500]
    return exact(answer.content)


async def got(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return exact(answer.content)


def text_part(text: str) -> str:
    return obj(type='"text"', text=spelled(text))


def entry(kind: str, texts: list[str], **more: str) -> str:
    return obj(kind=spelled(kind), parts=array([text_part(text) for text in texts]), **more)


def parts_of(found: Any) -> list[str]:
    """The texts of an exact entry's parts."""
    return [member(part, "text") for part in member(found, "body", "parts")]


@drawn(25)
@given(st.lists(st.tuples(any_text, any_document), min_size=1, max_size=20))
async def test_drawn_entries(client: httpx.AsyncClient, messages: list[tuple[str, str]]):
    session = await open_session(client)
    attributes = [obj(a=document, z="1", key=array([document])) for _, document in messages]
    entries = [entry("user_message", [text, ""], attributes=one) for (text, _), one in zip(messages, attributes, strict=True)]
    appended = await sent(client, "POST", f"/sessions/{session}/entries", obj(entries=array(entries)), 201)
    read = await got(client, f"/sessions/{session}/raw?limit=1000")
    for found in (member(appended, "entries"), member(read, "data")):
        assert [parts_of(one)[0] for one in found] == [text for text, _ in messages]
        assert [member(one, "attributes") for one in found] == [exact(one) for one in attributes]


@drawn(40)
@given(any_document, any_document)
async def test_drawn_state_and_metadata(client: httpx.AsyncClient, first: str, second: str):
    open_schema = {"session": {"type": "object"}}
    await open_session(client, "stateful", state_schema=open_schema)
    metadata, state = obj(b=first, a=array([second])), obj(session=obj(b=array([first]), a=array([second])))
    made = await sent(client, "POST", "/sessions", obj(agent='"stateful"', metadata=metadata, state=state), 201)
    session = member(made, "id")
    assert member(made, "metadata") == exact(metadata)
    assert member(await got(client, f"/sessions/{session}"), "metadata") == exact(metadata)
    assert member(await got(client, "/sessions?limit=1"), "data", 0, "metadata") == exact(metadata)
    assert member(await got(client, f"/sessions/{session}/state"), "state") == exact(state)
    patched = await sent(client, "PATCH", f"/sessions/{session}/state", obj(session=obj(c=array([second, first]))))
    expected = exact(obj(session=obj(b=array([first]), a=array([second]), c=array([second, first]))))
    assert member(patched, "state") == expected
    assert member(await got(client, f"/sessions/{session}/state"), "state") == expected
    other = obj(z=second)
    assert member(await sent(client, "PATCH", f"/sessions/{session}", obj(metadata=other)), "metadata") == exact(other)


@drawn(25)
@given(any_document)
async def test_drawn_agents_and_what_of_them_is_sent(client: httpx.AsyncClient, document: str):
    parameters = obj(type='"object"', examples=array([document]))
    tool = obj(name='"lookup"', parameters=parameters)
    params = obj(extra=obj(**{"x-vendor": array([document])}), script=array([obj(text='"ok"', usage=obj(input="1", output="1"))]))
    model = obj(upstream='"scripted"', name='"scripted"', params=params)
    limits = obj(context_window="128000", max_output_tokens="4096")
    whole = obj(model=model, limits=limits, tools=array([tool]))
    put = await sent(client, "PUT", "/agents/vendor", whole)
    assert member(put, "document") == exact(whole)
    assert member(await got(client, "/agents/vendor"), "document") == exact(whole)
    session = member(await sent(client, "POST", "/sessions", obj(agent='"vendor"'), 201), "id")
    sees = await got(client, f"/sessions/{session}/model-input")
    assert member(sees, "body", "x-vendor") == exact(array([document]))
    assert member(sees, "body", "tools", 0, "function", "parameters") == exact(parameters)


async def test_long_and_hostile_texts_and_every_number_in_each_form_of_raw(url: str):
    """JSON, lines, a stream that is followed, references to blobs: the same entries."""
    attributes = obj(numbers=array(NUMBERS), texts=array([spelled(text) for text in TEXTS if len(text) < 100]))
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        session = await open_session(client)
        entries = [entry("user_message", [text], attributes=attributes) for text in TEXTS]
        await sent(client, "POST", f"/sessions/{session}/entries", obj(entries=array(entries)), 201)
        page = member(await got(client, f"/sessions/{session}/raw?limit=1000"), "data")
        lines = (await client.get(f"/sessions/{session}/raw", headers={"accept": "application/x-ndjson"})).content
        followed = [one async for one in following(client, session, len(TEXTS))]
        for found in (page, [exact(line) for line in lines.split(b"\n") if line], followed):
            assert [parts_of(one) for one in found] == [[text] for text in TEXTS]
            assert {repr(member(one, "attributes")) for one in found} == {repr(exact(attributes))}
        assert page == followed


async def following(client: httpx.AsyncClient, session: str, count: int) -> AsyncIterator[Any]:
    """The exact data of so many frames."""
    seen, rest = 0, b""
    async with client.stream("GET", f"/sessions/{session}/raw", headers={"accept": "text/event-stream"}) as answer:
        async for piece in answer.aiter_bytes():
            *blocks, rest = (rest + piece).split(b"\n\n")
            for line in (line for block in blocks for line in block.split(b"\n") if line.startswith(b"data: ")):
                yield exact(line[6:])
                seen += 1
            if seen >= count:
                return


async def test_turns_answers_and_tool_results(client: httpx.AsyncClient):
    """What a person, a model and a tool say in one turn."""
    arguments = '{"z": 1.0, "a": 1e2, "n": 123456789012345678901234567890, "s": "\\ud83d\\u0000"}'
    script = array(
        [
            obj(reasoning=spelled(TEXTS[4]), tool_calls=array([obj(id='"c1"', name='"lookup"', arguments=spelled(arguments))])),
            obj(text=spelled("".join(TEXTS[:8])), chunk_chars="3"),
        ]
    )
    model = obj(upstream='"scripted"', name='"scripted"', params=obj(script=script))
    limits = obj(context_window="1000000", max_output_tokens="4096")
    tool = obj(name='"lookup"', parameters='{"type":"object"}', executor='{"kind":"client"}')
    await sent(client, "PUT", "/agents/talker", obj(model=model, limits=limits, tools=array([tool])), 201)
    session = member(await sent(client, "POST", "/sessions", obj(agent='"talker"'), 201), "id")
    attributes = obj(numbers=array(NUMBERS))
    spoken = array([text_part(text) for text in TEXTS])
    turn = await sent(client, "POST", f"/sessions/{session}/turns", obj(input=spoken, attributes=attributes))
    assert member(turn, "status") == "requires_action"
    assert member(turn, "pending", 0, "arguments") == arguments
    results = obj(results=array([obj(tool_call_id='"c1"', content=spoken)]))
    settled = await sent(client, "POST", f"/sessions/{session}/turns/{member(turn, 'id')}/tool-results", results)
    assert member(settled, "status") == "completed"
    asked, called, result, answered = member(await got(client, f"/sessions/{session}/raw"), "data")
    assert parts_of(asked) == parts_of(result) == TEXTS
    assert member(asked, "attributes") == exact(attributes)
    assert member(called, "body", "parts", 0, "text") == TEXTS[4]
    assert member(called, "body", "parts", 1, "arguments") == arguments
    assert "".join(parts_of(answered)) == "".join(TEXTS[:8])


@pytest.mark.timeout(180)
async def test_import_export_and_import_again(database_url: str, database_server: Server, tmp_path: Path):
    """A file of another program in; the session out as our own file; that into an empty database: always the same."""
    file, exported = tmp_path / "messages.json", tmp_path / "session.jsonl"
    file.write_bytes(chat_file().encode())
    report = command(database_url, "import", "--json", "--format", "openai-chat", str(file))
    session = report["files"][0]["sessions"][0]["id"]
    async with running(Settings(database_url=Secret(database_url), log_level="warning")) as app, talking(app) as client:
        stored = member(await got(client, f"/sessions/{session}/raw?limit=1000"), "data")
        assert [parts_of(one) for one in stored[: len(TEXTS)]] == [[text] for text in TEXTS]
        assert member(stored[-2], "body", "parts", 0, "arguments") == ARGUMENTS
        assert parts_of(stored[-1]) == [TEXTS[4]]
        await sent(client, "PATCH", f"/sessions/{session}", obj(metadata=obj(z="1e2", y="1.00", x="-0", a=spelled("\u2028"))))
        numbered = entry("user_message", ["x"], attributes=obj(n=array(NUMBERS)))
        await sent(client, "POST", f"/sessions/{session}/entries", obj(entries=array([numbered])), 201)
        before = await everything(client, session)
    command(database_url, "export", session, "--json", "--output", str(exported))
    async with copy_of_template(database_server) as name:
        elsewhere = with_database(database_server.app_url, name)
        command(elsewhere, "import", "--json", "--format", "jsonl", str(exported))
        async with running(Settings(database_url=Secret(elsewhere), log_level="warning")) as app, talking(app) as client:
            assert await everything(client, session) == before


ARGUMENTS = '{"n": 1.0, "s": "\\ud83d"}'


def chat_file() -> str:
    """A conversation as Chat Completions has it: each text as a question, then a call with its result."""
    asked = [obj(role='"user"', content=spelled(text)) for text in TEXTS]
    call = obj(id='"c1"', type='"function"', function=obj(name='"lookup"', arguments=spelled(ARGUMENTS)))
    answer = obj(role='"assistant"', content="null", tool_calls=array([call]))
    return obj(messages=array([*asked, answer, obj(role='"tool"', tool_call_id='"c1"', content=spelled(TEXTS[4]))]))


async def everything(client: httpx.AsyncClient, session: str) -> list[Any]:
    """The ledger with its times, the metadata, and what the model would see; digests are left out, since each chain has its own salts."""
    ledger = member(await got(client, f"/sessions/{session}/raw?view=ledger&limit=1000"), "data")
    bare = [[pair for pair in found[1:] if pair[0] != "digest"] for found in ledger]
    seen, sees = [await got(client, f"/sessions/{session}{what}") for what in ("", "/model-input")]
    return [bare, member(seen, "metadata"), member(sees, "body")]
