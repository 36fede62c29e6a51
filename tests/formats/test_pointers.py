"""A pointer leads from the body to the part of the entry that is said there, whatever passes moved, in every dialect."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.report import manifest, source_map
from app.context.sources import Sources
from app.entries.parts import Text
from app.formats.registry import FORMATS
from tests.formats.pointing import at
from tests.strategies import AGENTS, checkpointed, ephemerals, ledgers, overrides, target, tokens

LISTS = {"openai-responses": "input", "gemini": "contents"}
"""The key of a body's messages, where it is not `messages`."""

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
    plain = data.draw(ledgers()).sources(target=target(dialect), running_turn=data.draw(st.none() | st.just(1)))
    given_sources: Sources = data.draw(checkpointed(plain))
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


@pytest.mark.req("S0-02", "S2-11", "S4-08")
@pytest.mark.parametrize("dialect", FORMATS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_message_of_a_body_has_a_source_and_every_source_a_place(dialect: str, data: st.DataObject):
    """Nothing stands in a body that no source accounts for: each message, section and tool of it is led to, and each one sent leads to it."""
    chosen = target(dialect, **data.draw(st.sampled_from([{}, {}, {"tools": "text"}])))
    given_agent, unstored, given_overrides = data.draw(st.tuples(st.sampled_from(AGENTS), ephemerals, overrides))
    given_sources = data.draw(checkpointed(data.draw(ledgers()).sources(given_agent, chosen, ephemeral=unstored, overrides=given_overrides)))
    compiled = compile_context(given_sources, tokens)
    written = FORMATS[dialect].write_request(compiled.request, BYTES)
    rows = manifest(compiled, written.pointers, written.sections, written.tools)["decisions"]
    led_to = [row["pointer"] for row in rows if row["pointer"] is not None] + [pointer.pointer for pointer in written.pointers]
    for pointer in led_to:
        at(written.document, pointer)
    key = LISTS.get(dialect, "messages")
    for number in range(len(written.document.get(key, ()))):
        place = f"/{key}/{number}"
        assert any(pointer == place or pointer.startswith(f"{place}/") for pointer in led_to), place
    lost = {loss.source for loss in written.losses}
    told = {pointer.source for pointer in written.pointers}
    assert {number for number in range(len(compiled.request.messages)) if number not in told} <= lost
    if not lost:
        assert all(row["pointer"] is not None for row in rows if row["disposition"] != "excluded" and row["source"]["kind"] != "tool")
