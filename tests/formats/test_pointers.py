"""A pointer leads from the body to the part of the entry that is said there, whatever passes moved, in every dialect."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.report import source_map
from app.context.sources import Sources
from app.entries.parts import Text
from app.formats.registry import FORMATS
from tests.formats.pointing import at
from tests.strategies import ledgers, target, tokens

BYTES = {"sha256:" + "a" * 64: b"bytes"}


def words(value: Any) -> str:
    """All texts of a piece of a body, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(map(words, value))
    return "\n".join(words(item) for item in value.values()) if hasattr(value, "values") else ""


@pytest.mark.req("S2-40", "T-19", "X-64")
@pytest.mark.parametrize("dialect", FORMATS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_pointer_leads_to_what_the_entry_says(dialect: str, data: st.DataObject):
    given_sources: Sources = data.draw(ledgers()).sources(target=target(dialect), running_turn=data.draw(st.none() | st.just(1)))
    compiled = compile_context(given_sources, tokens)
    written = FORMATS[dialect].write_request(compiled.request, BYTES)
    bodies = {message.entry.seq: message.body for message in given_sources.messages}
    for row in source_map(compiled, written.pointers)["pointers"]:
        piece = at(written.document, row["pointer"])
        if row["part"] is None or row["seq"] is None:
            continue
        part = bodies[row["seq"]].parts[row["part"]]
        if isinstance(part, Text):
            said = part.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
            assert said in words(piece), (row, part)
    for loss in compiled.losses:
        if loss.seq is not None and loss.part is not None:
            assert loss.part < len(bodies[loss.seq].parts)
