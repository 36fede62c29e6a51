"""Session files of another program, whole: every line is kept or reported, and raw gives each message back in order."""

from pathlib import Path
from typing import Any

from tests.api.conftest import running, talking
from tests.corpus.claude_code import Reading, loads, of_entry
from tests.corpus.conftest import Imported, command

MESSAGES = "user_message,assistant_message,tool_result"


async def entries(imported: Imported, view: str) -> dict[str, list[Any]]:
    """Session id → its messages in that view, with numbers as they are written."""
    found = {}
    async with running(imported.settings()) as app, talking(app) as client:
        for session in imported.latest:
            answer = await client.get(f"/sessions/{session}/raw", params={"view": view, "kinds": MESSAGES, "limit": 1000})
            assert answer.status_code == 200, answer.text[:300]
            page = loads(answer.text)
            assert not page["has_more"]
            found[session] = page["data"]
    return found


def test_every_file_is_taken(imported: Imported):
    assert len(imported.files) >= 2
    assert [report["file"] for report in imported.reports] == [str(path) for path in imported.files]
    assert all(len(report["sessions"]) == 1 and "error" not in report for report in imported.reports)


async def test_every_line_is_a_message_or_is_reported_as_lost(imported: Imported, readings: dict[Path, Reading]):
    ledgers = await entries(imported, "ledger")
    for report in imported.reports:
        (session,) = report["sessions"]
        reading = readings[Path(report["file"])]
        lost = {note["source"] for note in session["lost"]}
        stored = {line for entry in ledgers[session["id"]] for line in entry["attributes"]["claude_code"]["lines"]}
        kept = {line for said in reading.said for line in said.lines}
        titles = set(reading.beside) - lost
        assert kept <= stored
        assert kept | lost >= set(reading.places) - titles
        assert not kept & lost
        assert len(titles) <= 1, "of titles the last one is kept; every other line beside the conversation is reported"
        assert session["kept"] == len(kept) + len(titles)
        assert all(note["what"] and note["why"] for note in (*session["lost"], *session["changed"]))


async def test_raw_gives_back_each_message_in_order(imported: Imported, readings: dict[Path, Reading]):
    for view in ("ledger", "transcript"):
        for session, stored in (await entries(imported, view)).items():
            path = imported.latest[session]
            expected = [said for said in readings[path].said if view == "ledger" or not said.hidden]
            assert len(stored) == len(expected), path.name
            for entry, said in zip(stored, expected, strict=True):
                assert of_entry(entry) == said, (path.name, said.lines)


async def test_a_file_that_was_imported_before_it_grew_is_the_beginning_of_its_session(imported: Imported, readings: dict[Path, Reading]):
    ledgers = await entries(imported, "ledger")
    grown = 0
    for report in imported.reports:
        (session,) = report["sessions"]
        path = Path(report["file"])
        if imported.latest[session["id"]] != path:
            grown += 1
            known = [of_entry(entry) for entry in ledgers[session["id"]]]
            assert known[: len(readings[path].said)] == readings[path].said, path.name
    assert grown >= 1


async def test_what_no_later_call_gets_is_reported_with_its_line(imported: Imported):
    ledgers = await entries(imported, "ledger")
    for report in imported.reports:
        (session,) = report["sessions"]
        if imported.latest[session["id"]] == Path(report["file"]):
            left_out = [entry for entry in ledgers[session["id"]] if not entry["include_in_context"] or entry["body"].get("status") == "failed"]
            lines = {line for entry in left_out for line in entry["attributes"]["claude_code"]["lines"]}
            assert lines <= {note["source"] for note in session["changed"]}, report["file"]


async def test_the_same_files_again_add_nothing(imported: Imported):
    before = await entries(imported, "ledger")
    again = command(imported.url, "import", "--json", "--format", "claude-code", *map(str, imported.files))["files"]
    assert all(session["already_stored"] == session["messages"] for report in again for session in report["sessions"])
    assert await entries(imported, "ledger") == before


def test_the_chain_of_every_session_holds(imported: Imported):
    checked = command(imported.url, "verify", "--json")
    assert "false" not in str(checked).lower(), checked
