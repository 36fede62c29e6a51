"""The weight of a request: what each message brought, and what only this request holds."""

import pytest

from app.context.compile import compile_context
from app.context.passes.measure import declaration
from app.entries.messages import Message
from app.entries.parts import Media
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, target, tokens


@pytest.mark.req("S2-02")
def test_every_kind_of_text_is_weighed_once():
    ledger = Ledger()
    first = ledger.user("q").entry.tokens
    ledger.add("user_message", Message((Media("image", url="https://example.test/a.png"),)))
    second = ledger.messages[-1].entry.tokens
    third = ledger.answer(call("c1")).entry.tokens
    fourth = ledger.result("c1").entry.tokens
    found = compile_context(ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)), tokens)
    rules = target().rules
    assert found.measured.system == len(SYSTEM["text"])
    assert found.measured.messages == first + second + third + fourth + rules.image_tokens
    declared = [len(declaration(tool)) + rules.tool_overhead_tokens for tool in found.request.tools]
    assert found.measured.tool_tokens == tuple(declared)
    assert found.measured.tools == sum(declared) + rules.tools_overhead_tokens
    assert found.measured.overhead == 5 * rules.message_overhead_tokens + rules.call_overhead_tokens + rules.reply_overhead_tokens
    assert found.measured.total == found.measured.system + found.measured.tools + found.measured.messages + found.measured.overhead
    assert sum(found.message_tokens) == first + second + third + fourth


def test_what_is_out_weighs_nothing():
    ledger = Ledger()
    stored = ledger.user("q" * 1_000, include_in_context=False).entry
    found = compile_context(ledger.sources(), tokens)
    assert found.measured.messages == 0
    assert [(row.tokens_before, row.tokens_after) for row in found.decisions if row.source["kind"] == "entry"] == [(stored.tokens, 0)]
