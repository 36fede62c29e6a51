"""Whatever a ledger holds, the body for each server breaks none of the server's rules."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings

from app.context.compile import compile_context
from app.context.sources import Sources
from app.formats.openai_chat.validate import validate
from app.formats.openai_chat.write_request import write_request
from app.models.presets import PRESETS
from tests.formats.openai_chat.requests import target
from tests.formats.openai_chat.servers import CHAT
from tests.strategies import sources, tokens

BLOBS = {"sha256:" + "a" * 64: b"\x89PNG\r\n\x1a\n"}


@pytest.mark.req("S0-28", "S0-30", "X-22", "X-24")
@pytest.mark.parametrize(("preset", "effort"), [*((preset, None) for preset in CHAT), ("deepseek", "none")])
def test_every_ledger_is_valid_at_every_server(preset: str, effort: str | None) -> None:
    params = {} if effort is None else {"reasoning": {"effort": effort}}
    chosen = target("house-model", dict(PRESETS[preset].quirks), **params)

    @settings(max_examples=200, deadline=None)
    @given(sources())
    def holds(drawn: Sources) -> None:
        compiled = compile_context(replace(drawn, target=chosen), tokens)
        written = write_request(compiled.request, BLOBS)
        if not compiled.request.messages:
            return
        assert validate(orjson.loads(written.body), chosen.rules) == []
        told = {(pointer.source, pointer.part) for pointer in written.pointers} | {(loss.source, loss.part) for loss in written.losses}
        for index, message in enumerate(compiled.request.messages):
            assert (index, None) in told
            assert all((index, number) in told for number in range(len(message.parts))), "sent, or listed as lost"

    holds()
