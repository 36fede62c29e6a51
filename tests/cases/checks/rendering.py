"""Group j: what is a template, what is data, and what is neither."""

from pathlib import Path
from typing import Any

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.services.world import roles

PROOF = Path("/tmp/pwn")
"""What the case's payload would leave behind."""


def _proof() -> bool:
    return PROOF.exists()


def said(done: Done, number: int = 0) -> list[tuple[str, Any]]:
    """Role and content of each message of a projection's body."""
    return [(message["role"], message["content"]) for message in done.inputs[number]["body"]["messages"]]


def refused(done: Done, code: str) -> str:
    """The detail of the one fault, which is the first section's."""
    answer = done.answers[0]
    assert answer.status_code == 422, answer.text
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/context/0/template", code)
    assert not done.inputs
    return str(fault["detail"])


@expects("missing-state-key", pytest.mark.req("S4-44"))
async def a_key_that_is_not_there(done: Done) -> None:
    """Chosen: `template-unknown-key` for a key that the schema does not name; there is no `?`, which is `template-syntax`."""
    if done.case.part == 0:
        assert "`name`" in refused(done, "template-unknown-key")
    elif done.case.part == 1:
        refused(done, "template-syntax")
    else:
        assert said(done) == [("system", done.case.input["system_template"]), ("user", "hi")]


@expects("braces-in-user-text", pytest.mark.req("S4-45"))
async def braces_are_data(done: Done) -> None:
    user, answer, last = [row["text"] for row in done.case.input["ledger"]]
    assert said(done) == [("system", "City: {{state.secret}} {my_town}"), ("user", user), ("assistant", answer), ("user", last)]
    assert "S3CRET" not in str(done.inputs[0]["body"])


@expects("code-in-system-prompt")
async def code_is_text(done: Done) -> None:
    assert said(done)[0] == ("system", done.case.input["system_template"])


@expects("escape-syntax")
async def literal_braces(done: Done) -> None:
    """Chosen: `{{ '{{' }}` and `{% raw %}` put out braces; a backslash escapes nothing and is refused."""
    if done.case.part == 0:
        refused(done, "template-syntax")
    else:
        assert said(done)[0] == ("system", "{{ literal")


@expects("state-as-of-turn", pytest.mark.req("S4-45", "S4-46", "S4-47"))
async def text_follows_the_state(done: Done) -> None:
    """Chosen: the state's version is the seq of its entry, in the manifest's row."""
    assert [said(done, number)[0][1] for number in range(3)] == ["Work in {repo}", "Work in one", "Work in two"]
    states = [[row for row in found["manifest"]["decisions"] if row["source"]["kind"] == "state"] for found in done.inputs]
    assert [rows[0]["disposition"] for rows in states] == ["excluded", "included", "included"]
    assert states[1][0]["source"]["seq"] < states[2][0]["source"]["seq"]
    again = await done.world.input(done.session, at_seq=done.inputs[1]["head_seq"])
    assert again["body"] == done.inputs[1]["body"]


@expects("few-shot-content-with-braces")
async def examples_are_data(done: Done) -> None:
    given = done.case.input
    assert said(done) == [("system", "Docs:\n" + given["state"]["doc"]), ("user", given["ledger"][0]["text"])]


@expects("stored-template-code-execution", pytest.mark.req("S4-44"))
async def nothing_runs(done: Done) -> None:
    refused(done, "template-syntax")
    assert not _proof()


FILTERS = [{"renderer": "select_recent", "n": 4, "unit": "entries"}]


@expects("trim-last-window-starts-with-tool", pytest.mark.req("S4-29", "S4-30", "T-09"), filters=FILTERS)
async def a_kept_result_keeps_its_call(done: Done) -> None:
    """Chosen: the window widens to the call, five messages."""
    body = done.inputs[0]["body"]
    assert roles(body) == ["assistant", "tool", "user", "assistant", "user"]
    reasons = [row["reason"] for row in done.inputs[0]["manifest"]["decisions"] if row["source"]["kind"] == "entry"]
    assert reasons == ["not_recent", "call_kept_for_result", "in_window", "in_window", "in_window", "in_window"]
