"""Tools in text, for a model without native calling."""

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Loss
from app.context.sources import Overrides
from app.entries.parts import Reasoning, Text
from app.formats.openai_chat import FORMAT
from app.formats.text_tools import promoted
from tests.strategies import TOOL_DOCUMENTS, Ledger, agent, call, target, tokens

IN_TEXT = target(tools="text")
AGENT = agent(context=[{"renderer": "history"}], tools=TOOL_DOCUMENTS)


def compiled(choice: str | None = None) -> Compiled:
    ledger = Ledger()
    ledger.user("q")
    ledger.answer("I look.", call("c", arguments='{"id": 1.0}'))
    ledger.result("c", "Ann")
    return compile_context(ledger.sources(AGENT, IN_TEXT, overrides=Overrides(None, choice)), tokens)


def said(found: Compiled) -> list[tuple[str, str]]:
    return [(message.role, "\n".join(part.text for part in message.parts if isinstance(part, Text))) for message in found.request.messages]


@pytest.mark.req("S0-26", "S0-27", "S0-16")
def test_tools_are_declared_in_the_instructions_and_used_in_text():
    found = compiled()
    (section,) = found.request.system
    assert (section.renderer, found.request.tools, found.request.tool_choice) == ("text_tools", (), None)
    assert '"name":"lookup"' in section.text
    assert "escalate" not in section.text, "a disabled tool is not told of"
    assert found.declared == ("lookup", "gone")
    assert said(found) == [("user", "q"), ("assistant", 'I look.\n{"tool": "lookup", "arguments": {"id": 1.0}}'), ("user", "[result of lookup]\nAnn")]
    reasons = {row.source["seq"]: row.reason for row in found.decisions if row.by == "text_tools"}
    assert reasons == {2: "call_as_text", 3: "result_as_text"}
    body = FORMAT.write_request(found.request, {}).body
    assert b'"tools"' not in body
    assert b"tool_calls" not in body


def test_a_choice_that_cannot_be_enforced_is_a_loss_and_none_tells_of_no_tool():
    assert compiled("required").losses == (Loss("tool_choice", "not_enforced"),)
    assert compiled("none").request.system == ()


@pytest.mark.req("S0-27")
def test_a_spelled_call_is_read_back_as_it_was():
    text = said(compiled())[1][1].removeprefix("I look.\n")
    assert promoted(text, ("lookup",)) == ("lookup", '{"id": 1.0}')


@pytest.mark.req("S0-30", "X-20")
def test_sealed_thinking_of_a_call_that_is_spelled_is_left_out_with_a_loss():
    ledger = Ledger()
    ledger.user("q")
    sealed = Reasoning("Hm.", '{"signature":"s"}', str(IN_TEXT.producer))
    ledger.answer(sealed, "I look.", call("c"))
    ledger.result("c")
    ledger.answer(sealed, "Done.")
    blocks = target(tools="text", provider_blocks=True)
    found = compile_context(ledger.sources(AGENT, blocks), tokens)
    assert [[type(part).__name__ for part in message.parts] for message in found.request.messages] == [
        ["Text"],
        ["Text", "Text"],
        ["Text"],
        ["Reasoning", "Text"],
    ]
    assert Loss("reasoning", "call_as_text", 2, 0) in found.losses
    assert found.part_of(1, 0) == 1, "the words are the second part of their entry"
    (row,) = [row for row in found.decisions if row.source.get("seq") == 2]
    assert (row.reason, row.also) == ("call_as_text", ("reasoning_left_out",))
    assert row.tokens_before - row.tokens_after == tokens("Hm.")


@pytest.mark.req("S0-27", "S3-24")
def test_controls_are_told_of_in_text_and_may_be_called_in_it():
    found = compile_context(Ledger().sources(agent(plan={"enabled": True}, tools=TOOL_DOCUMENTS), IN_TEXT), tokens)
    assert '"name":"update_plan"' in found.request.system[0].text
    assert found.declared == ("lookup", "gone")
    assert found.callable == ("lookup", "gone", "update_plan", "report_progress")
