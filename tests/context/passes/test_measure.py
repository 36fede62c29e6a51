"""The weight of a request: what each message brought, and what only this request holds."""

from fractions import Fraction

import pytest

from app.context.compile import compile_context
from app.context.passes.measure import declaration
from app.context.sources import Ephemeral
from app.entries.messages import Message
from app.entries.parts import Blob, Media, Text
from app.models.resolve import ModelChoice
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, resolved, target, tokens


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


@pytest.mark.req("X-36", "X-39")
def test_a_picture_weighs_what_its_size_costs_the_model_and_a_file_a_flat_figure():
    ledger = Ledger()
    sized = Blob("sha256:" + "a" * 64, "image/png", 9, 2048, 4096)
    unsized = Blob("sha256:" + "b" * 64, "image/png", 9)
    scan = Blob("sha256:" + "c" * 64, "application/pdf", 9, 5, 5)
    ledger.add("user_message", Message((Media("image", sized), Media("image", unsized), Media("file", scan), Text("q"))))
    plain = compile_context(ledger.sources(), tokens).measured.messages
    tiled = compile_context(ledger.sources(target=target(image_counting="tiles 85 170", image_tokens=700)), tokens).measured.messages
    text = ledger.messages[0].entry.tokens
    assert (plain, tiled) == (text + 3 * 765, text + 1_105 + 2 * 700)


@pytest.mark.req("X-38", "X-39")
def test_stored_counts_are_scaled_to_the_models_family_and_so_is_every_row_of_the_account():
    ledger = Ledger()
    stored = [ledger.user("q").entry.tokens, ledger.answer("a").entry.tokens]
    ephemeral = (Ephemeral("user_message", (Text("e"),), tokens=7, after_seq=2),)
    claude = resolved(ModelChoice("u", "claude-opus-5", {}))
    assert claude.estimate.factor == Fraction(3, 2)
    found = compile_context(ledger.sources(target=claude, ephemeral=ephemeral), tokens)
    scaled = [-(-count * 3 // 2) for count in (*stored, 7)]
    assert found.measured.messages == sum(scaled)
    assert [row.tokens_after for row in found.decisions if row.source["kind"] in ("entry", "ephemeral")] == scaled
    assert list(found.message_tokens) == scaled


def test_what_is_out_weighs_nothing():
    ledger = Ledger()
    stored = ledger.user("q" * 1_000, include_in_context=False).entry
    found = compile_context(ledger.sources(), tokens)
    assert found.measured.messages == 0
    assert [(row.tokens_before, row.tokens_after) for row in found.decisions if row.source["kind"] == "entry"] == [(stored.tokens, 0)]
