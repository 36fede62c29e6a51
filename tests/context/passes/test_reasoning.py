"""Who gets a provider's block back, and what becomes of it for everybody else."""

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Loss
from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.models.resolve import Target
from tests.strategies import Ledger, target, tokens

OWN = "openai-chat/scripted/scripted"
OTHER = "openai-chat/scripted/other"
SIGNED = '{"signature":"s"}'
BLOCKS = target(provider_blocks=True)


def compiled(*parts: Part, model: str | None = None, to: Target = BLOCKS) -> Compiled:
    ledger = Ledger()
    ledger.user("q")
    ledger.add("assistant_message", Answer(parts, model=model))
    ledger.user("and?")
    return compile_context(ledger.sources(target=to), tokens)


def sent(found: Compiled) -> tuple[Part, ...]:
    return next((message.parts for message in found.request.messages if message.role == "assistant"), ())


def decision(found: Compiled) -> tuple[str, str, str]:
    (row,) = [row for row in found.decisions if row.source == {"kind": "entry", "seq": 2}]
    return str(row.disposition), str(row.reason), row.by


@pytest.mark.req("X-20", "X-23", "S2-25")
def test_own_blocks_go_back_untouched_and_in_place():
    parts = (
        Reasoning("hm ", SIGNED, OWN),
        Text("a", None, '{"phase":"x"}', OWN),
        Opaque("openai-chat", OWN, '{"type":"search"}'),
        Reasoning("", '{"data":"ENC=="}', OWN),
        ToolCall("c1", "lookup", "{}", opaque='{"extra_content":{}}', producer=OWN),
    )
    found = compiled(*parts)
    assert sent(found) == parts
    assert found.losses == ()
    assert decision(found) == ("included", "in_window", "history")


@pytest.mark.req("X-20", "X-23")
@pytest.mark.parametrize(
    ("producer", "why"),
    [
        (OTHER, "signed_by_other_model"),
        ("anthropic-messages/scripted/scripted", "of_other_format"),
        ("openai-chat/second/scripted", "of_other_account"),
        ("somebody", "of_unknown_producer"),
        (None, "of_unknown_producer"),
    ],
)
def test_a_block_goes_to_nobody_else(producer: str | None, why: str):
    called = ToolCall("c", "lookup", "{}", None, "{}", None, producer)
    found = compiled(Reasoning("secret plan", SIGNED, producer), Text("x", None, "{}", producer), called)
    assert sent(found) == (Text("x"), ToolCall("c", "lookup", "{}"))
    assert found.losses == (Loss("reasoning", why, 2, 0), Loss("block", why, 2, 1), Loss("block", why, 2, 2))
    assert decision(found) == ("transformed", "reasoning_left_out", "reasoning")


def test_a_target_that_takes_no_blocks_gets_none():
    found = compiled(Reasoning("t", SIGNED, OWN), Text("x"), to=target(provider_blocks=False))
    assert sent(found) == (Text("x"),)
    assert found.losses == (Loss("reasoning", "not_in_format", 2, 0),)


@pytest.mark.req("X-20")
def test_plain_thinking_of_another_model_becomes_text_and_blank_thinking_goes():
    found = compiled(Reasoning("I weigh it."), Reasoning(" \n"), Text("x"), model="other")
    assert sent(found) == (Text("I weigh it."), Text("x"))
    assert found.losses == (Loss("reasoning", "sent_as_text", 2, 0),)
    (row,) = [row for row in found.decisions if row.source == {"kind": "entry", "seq": 2}]
    assert (row.reason, row.also) == ("reasoning_as_text", ("reasoning_left_out",))


def test_plain_thinking_of_the_model_itself_is_left_out_where_it_takes_none_back():
    found = compiled(Reasoning("I weigh it."), Text("x"), model="scripted")
    assert sent(found) == (Text("x"),)
    assert found.losses == (Loss("reasoning", "not_in_format", 2, 0),)
    (row,) = [row for row in found.decisions if row.source == {"kind": "entry", "seq": 2}]
    assert row.tokens_before - row.tokens_after == len("I weigh it.")
    assert sent(compiled(Reasoning("t"), Text("x"), model="other", to=target(foreign_reasoning="drop"))) == (Text("x"),)
    assert sent(compiled(Reasoning("t"), Text("x"), model="scripted", to=target(reasoning_key="reasoning"))) == (Reasoning("t"), Text("x"))


def test_an_answer_of_foreign_blocks_alone_is_out():
    found = compiled(Reasoning("t", SIGNED, OTHER))
    assert sent(found) == ()
    assert decision(found) == ("excluded", "reasoning_left_out", "reasoning")


@pytest.mark.req("X-23")
def test_blocks_of_input_go_to_nobody_else_either():
    """Imports keep parts that nobody models, such as a file that lies at its provider."""
    ledger = Ledger()
    ledger.add("user_message", Message((Text("See."), Opaque("openai-chat", "openai-chat/import/scripted", '{"file_id":"f"}'))))
    ledger.add("user_message", Message((Opaque("ai-sdk", "ai-sdk/import/unknown", "{}"),)))
    ledger.add("user_message", Message((Text("own"), Opaque("openai-chat", OWN, '{"own":1}'))))
    ledger.add("assistant_message", Answer((ToolCall("c", "lookup", "{}"),)))
    ledger.add("tool_result", ToolResult("c", (Opaque("gemini", "gemini/import/unknown", "{}"),)))
    ledger.user("and?")
    found = compile_context(ledger.sources(target=BLOCKS), tokens)
    parts = [message.parts for message in found.request.messages if message.role in ("user", "tool")]
    own = (Text("own"), Opaque("openai-chat", OWN, '{"own":1}'))
    assert [part for parts in parts for part in parts if isinstance(part, Opaque)] == [own[1]]
    assert parts[0][0] == Text("See.")
    assert [(loss.what, loss.why, loss.seq) for loss in found.losses][:3] == [
        ("opaque", "of_other_account", 1),
        ("opaque", "of_other_format", 2),
        ("opaque", "of_other_format", 5),
    ]
    assert any(message.role == "tool" and message.tool_call_id == "c" for message in found.request.messages)
