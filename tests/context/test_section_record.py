"""Which system sections of a call are recorded: a pure comparison with the record before."""

from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.section_record import section_record
from app.entries import lossless
from app.entries.settings import SectionsRecorded
from tests.strategies import Ledger, agent, tokens


def compiled(*context: dict[str, Any]) -> Compiled:
    ledger = Ledger()
    ledger.user("a question")
    return compile_context(ledger.sources(agent(context=[*context, {"renderer": "history"}])), tokens)


def section(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"renderer": "system", "id": name, "text": text, **more}


@pytest.mark.req("S2-49", "X-28", "T-14")
def test_the_first_record_holds_all_sections_and_later_ones_what_changed():
    one = compiled(section("identity", "PRIVATE nurse"), section("brief", "short"), section("now", "tuesday", placement="tail"))
    first = section_record(one, "mcl_1", None)
    assert first is not None
    assert (first.changed, first.removed) == (("identity", "brief", "now"), ())
    manifest = {row.source["renderer"]: (row.digest, row.tokens_after) for row in one.decisions if row.source["kind"] == "system"}
    assert {name: tuple(first.sections[name]) for name in ("identity", "brief")} == manifest
    assert first.sections["now"].tokens == tokens("tuesday")
    assert "PRIVATE" not in first.encode()
    assert SectionsRecorded.decode(first.encode()) == first
    assert section_record(one, "mcl_2", first) is None
    two = compiled(section("identity", "PRIVATE nurse"), section("now", "wednesday", placement="tail"), section("new", "more"))
    later = section_record(two, "mcl_3", first)
    assert later is not None
    assert (later.changed, later.removed, set(later.sections)) == (("new", "now"), ("brief",), {"identity", "now", "new"})
    assert section_record(two, "mcl_4", later) is None
    gone = section_record(compiled(), "mcl_5", later)
    assert gone is not None
    assert (gone.changed, set(gone.removed), dict(gone.sections)) == ((), {"identity", "now", "new"}, {})
    assert section_record(compiled(), "mcl_6", gone) is None


@pytest.mark.req("S2-49")
def test_nothing_is_recorded_of_an_agent_without_sections():
    assert section_record(compiled(), "mcl_1", None) is None


@pytest.mark.req("S2-49")
def test_the_order_of_sections_is_no_change():
    there = section_record(compiled(section("a", "x"), section("b", "y")), "mcl_1", None)
    assert section_record(compiled(section("b", "y"), section("a", "x")), "mcl_2", there) is None
    assert there is not None
    assert list(lossless.loads(there.encode())["sections"]) == ["a", "b"]
