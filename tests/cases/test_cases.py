"""Every case: run and checked, or skipped with what is missing."""

from pathlib import Path

import pytest

from tests.cases.adapter import perform
from tests.cases.checks import answering, calling, content, folding, guarding, measuring, reading, reasoning, rendering, storing, telling, texts
from tests.cases.checks.registry import CHECKS
from tests.cases.done import Done
from tests.cases.everywhere import valid_everywhere
from tests.cases.needs import NEEDS, missing
from tests.cases.notation import Case, case_file, read_cases
from tests.cases.place import Places

OF_ONE_DIALECT = ("load", "stream_then_project")
"""Operations whose sessions are not looked at in every dialect: too long ones, and those of an agent that says `extra` words of a provider."""

GROUPS = (answering, calling, content, folding, guarding, measuring, reading, reasoning, rendering, storing, telling, texts)


def _parameters() -> list[object]:
    path = case_file()
    if not path.is_file():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(f"the cases are absent: {path} (CONTEXT_LEDGER_SHARED names another place)"))]
    return [_parameter(case) for case in read_cases(path.read_text("utf-8"))]


def _parameter(case: Case) -> object:
    row, needs = CHECKS.get(case.id), missing(case)
    marks = [] if row is None else list(row.marks)
    if needs:
        marks.append(pytest.mark.skip("needs " + ", ".join(needs)))
    return pytest.param(case, id=case.name, marks=marks)


def test_every_check_and_every_need_is_of_a_case(shared: Path) -> None:
    known = {case.id for case in read_cases((shared / "cases" / "cases.jsonl").read_text("utf-8"))}
    assert {*CHECKS, *NEEDS} <= known


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", _parameters())
async def test_case(case: Case, places: Places) -> None:
    assert case.id in CHECKS, f"nothing that this case needs is missing any more; write its check: {case.expected}"
    row, done = CHECKS[case.id], Done(case, places, places.shared)
    await perform(done, **row.options)
    await row.check(done)
    if done.place is places.shared and done.session and case.op not in OF_ONE_DIALECT:
        await valid_everywhere(done)
