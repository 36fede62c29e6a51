"""Tools in text, for a model without native calling."""

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Loss
from app.context.sources import Overrides
from app.entries.parts import Text
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
