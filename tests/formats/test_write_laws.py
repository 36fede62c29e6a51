"""Laws of writing requests that hold in every dialect: nothing stays, texts arrive as they were, names are fitted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.parts import ToolCall
from app.formats.protocols import WireLoss
from app.formats.registry import FORMATS
from app.models.resolve import Target
from tests.formats.anthropic import judge as anthropic_judge
from tests.formats.anthropic import requests as anthropic
from tests.formats.bedrock import judge as bedrock_judge
from tests.formats.bedrock import requests as bedrock
from tests.formats.gemini import requests as gemini
from tests.formats.openai_chat import judge as chat_judge
from tests.formats.openai_chat import requests as chat
from tests.formats.openai_chat.requests import ESCALATE, LOOKUP, message, request
from tests.formats.openai_responses import judge as responses_judge
from tests.formats.openai_responses import requests as responses

TARGETS = {
    "anthropic-messages": (anthropic.target(), anthropic.target()),
    "bedrock-converse": (bedrock.target(bedrock.OPUS, temperature=0.5), bedrock.target(bedrock.NOVA)),
    "gemini": (gemini.target(), gemini.target()),
    "openai-chat": (chat.target(temperature=0.5), chat.target()),
    "openai-responses": (responses.target(temperature=0.5), responses.target()),
}
"""For each dialect those of two requests that have nothing to do with each other."""


@pytest.mark.req("S0-08")
@pytest.mark.parametrize("history", [(), (message("assistant", ToolCall("c1", "lookup", "{}")), message("tool", "r", tool_call_id="c1"))])
@pytest.mark.parametrize("system", [(), ("s",)])
@pytest.mark.parametrize("dialect", TARGETS)
def test_nothing_of_one_request_stays_for_the_next(dialect: str, system: tuple[str, ...], history: tuple[Any, ...]):
    write_request = FORMATS[dialect].write_request
    one, other = TARGETS[dialect]
    first = request(message("user", "a"), *history, system=system, tools=(LOOKUP,), target=one)
    second = request(message("user", "a"), tools=(ESCALATE,), target=other)
    alone = [write_request(first, {}).body, write_request(second, {}).body]
    mixed = [write_request(each, {}).body for each in (first, second, first, second)]
    assert mixed == alone * 2
    assert b"lookup" not in mixed[1]
    assert b"escalate" not in mixed[0]


TEXTS = st.text(alphabet=st.characters(), max_size=50)


@dataclass(frozen=True)
class Written:
    """What of a dialect's bodies the laws look at."""

    target: Target
    objections: Callable[[bytes], Any]
    texts: Callable[[Any], list[str]]
    name: Callable[[Any], str]
    """That of the call in the second message."""
    follows_up: bool = True
    """Whether the user speaks again behind the answer."""
    text: st.SearchStrategy[str] = TEXTS


WRITTEN = {
    "anthropic-messages": Written(
        anthropic.target(),
        anthropic_judge.objections,
        lambda body: [row["content"][0]["text"] for row in body["messages"]],
        lambda body: body["messages"][1]["content"][0]["name"],
    ),
    "bedrock-converse": Written(
        bedrock.target(),
        bedrock_judge.objections,
        lambda body: [row["content"][0]["text"] for row in body["messages"]],
        lambda body: body["messages"][1]["content"][0]["toolUse"]["name"],
        text=TEXTS.filter(lambda text: bool(text.strip())),
    ),
    "openai-chat": Written(
        chat.target(),
        chat_judge.objections,
        lambda body: [row["content"] for row in body["messages"]],
        lambda body: body["messages"][1]["tool_calls"][0]["function"]["name"],
        follows_up=False,
    ),
    "openai-responses": Written(
        responses.target(),
        responses_judge.objections,
        lambda body: [row["content"] for row in body["input"]],
        lambda body: body["input"][1]["name"],
        follows_up=False,
    ),
}


@pytest.mark.req("S0-30")
@pytest.mark.parametrize("dialect", WRITTEN)
@pytest.mark.parametrize(("name", "sent"), [("mcp.server tool", "mcp_server_tool"), ("", "unnamed"), ("x" * 70, "x" * 64), ("ü\ud800", "__")])
def test_a_name_that_the_format_refuses_is_fitted(dialect: str, name: str, sent: str):
    law = WRITTEN[dialect]
    call = message("assistant", ToolCall("c1", name, "{}"))
    found = FORMATS[dialect].write_request(request(message("user", "q"), call, message("tool", "r", tool_call_id="c1"), target=law.target), {})
    body = orjson.loads(found.body)
    assert law.name(body) == sent
    assert WireLoss("tool_name", "not_taken", 1, 0) in found.losses
    assert not FORMATS[dialect].validate(body, law.target.rules)
    assert not law.objections(found.body)


@pytest.mark.parametrize("dialect", WRITTEN)
@settings(max_examples=300, deadline=None)
@given(drawn=st.data())
def test_any_text_arrives_as_it_was(dialect: str, drawn: st.DataObject):
    law = WRITTEN[dialect]
    text = drawn.draw(law.text)
    asked = [message("user", text), message("assistant", text)] + [message("user", text)] * law.follows_up
    found = FORMATS[dialect].write_request(request(*asked, target=law.target), {})
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert law.texts(orjson.loads(found.body)) == [expected] * len(asked)
