"""Files of every format, our own and the corpus's: into the ledger, out as they went in, and again without a trace."""

import json
from uuid import uuid4

import pytest

from app.entries.messages import encode
from app.formats.registry import IMPORTERS
from app.services.transcripts import RawQuery, Transcripts
from tests.corpus.said import File, corpus_files
from tests.corpus.test_importers import FOLDERS, OWN
from tests.services.transfers.sessions import importing

OWN_FILES = [File(path.name, format, path.read_bytes()) for folder, format in FOLDERS.items() for path in sorted((OWN / folder).iterdir())]


async def goes_in_and_comes_out(store, file: File) -> None:
    tenant = uuid4()
    (report,) = (await importing(store).import_bytes(tenant, file.format, None, [file.raw]))["sessions"]
    (session,) = IMPORTERS[file.format]([file.raw])
    assert (report["messages"], report["kept"], report["title"]) == (len(session.entries), session.kept, session.title), file.name
    transcripts = Transcripts(store, heartbeat_seconds=15)
    row = await transcripts.session(tenant, report["id"])
    raw = b"".join([piece async for piece in transcripts.lines(row, RawQuery(view="ledger", kinds=None))])
    stored = [line for line in map(json.loads, raw.splitlines()) if line["message_index"] is not None]
    assert len(stored) == len(session.entries)
    for line, entry in zip(stored, session.entries, strict=True):
        assert not isinstance(entry.body, str)
        assert (line["kind"], line["hidden"], line["include_in_context"]) == (entry.kind, entry.hidden, entry.include_in_context)
        assert line["attributes"] == json.loads(entry.attributes or "{}")
        assert line["body"] == json.loads(encode(entry.body)), file.name
    (again,) = (await importing(store).import_bytes(tenant, file.format, None, [file.raw]))["sessions"]
    assert (again["id"], again["already_stored"]) == (report["id"], report["messages"])


@pytest.mark.req("X-17", "S1-22", "S1-23", "S0-29")
@pytest.mark.parametrize("file", OWN_FILES, ids=[file.name for file in OWN_FILES])
async def test_our_own_files_go_in_and_come_out(store, file: File):
    await goes_in_and_comes_out(store, file)


@pytest.mark.req("S1-22", "S1-23", "S0-29")
async def test_every_file_of_the_corpus_goes_in_and_comes_out(store, shared):
    for file in corpus_files(shared):
        await goes_in_and_comes_out(store, file)


async def test_a_file_that_grew_adds_what_is_new(store, tenant):
    for file in OWN_FILES:
        if file.name in ("linear.jsonl", "orchard.jsonl"):
            lines = file.raw.splitlines(keepends=True)
            short = b"".join(lines[: len(lines) // 2])
            (first,) = (await importing(store).import_bytes(tenant, file.format, None, [short]))["sessions"]
            (whole,) = (await importing(store).import_bytes(tenant, file.format, None, [file.raw]))["sessions"]
            assert whole["id"] == first["id"]
            assert 0 < first["messages"] - 1 <= whole["already_stored"] < whole["messages"]


async def test_names_that_no_column_holds_are_made_fit(store, tenant):
    document = {"id": "a\x00b", "title": "Tr\x00ees \ud800", "messages": [{"role": "user", "parts": [{"type": "text", "text": "q\x00 \ud800"}]}]}
    raw = json.dumps(document).encode()
    (report,) = (await importing(store).import_bytes(tenant, "ai-sdk", None, [raw]))["sessions"]
    assert report["title"] == "Tr\ufffdees \ufffd"
    odd = {"messages": [{"role": "user", "parts": [{"type": "file", "mediaType": "\x00" * 300, "url": "data:\x00;base64,AAAA"}]}]}
    (report,) = (await importing(store).import_bytes(tenant, "ai-sdk", None, [json.dumps(odd).encode()]))["sessions"]
    assert report["messages"] == 1


async def test_blocks_and_messages_of_any_size_do_not_stop_an_import(store, tenant):
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "x" * 200_000}
    parts = [{"type": "input_text", "text": f"{n}"} for n in range(9_000)]
    items = [{"role": "user", "content": "q"}, sealed, {"role": "assistant", "content": "a"}, {"role": "user", "content": parts}]
    (report,) = (await importing(store).import_bytes(tenant, "openai-responses", None, [json.dumps({"input": items}).encode()]))["sessions"]
    assert report["messages"] == 2
    assert [(note["source"], note["what"]) for note in report["changed"]] == [("message 1", "opaque")]
    assert [(note["source"], note["what"]) for note in report["lost"]] == [("message 2", "user_message")]
