"""Sessions whose bodies are kept as files: one scenario each, from sources to bytes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.context.sources import Ephemeral, Overrides, Sources
from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from tests.strategies import Ledger, agent, call, target

PNG = b"\x89PNG\r\n\x1a\n"
PICTURE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
BLOBS: Mapping[str, bytes] = MappingProxyType({PICTURE.digest: PNG})
LOOKUP = {
    "name": "lookup",
    "description": "Finds a record.",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
}
SYSTEM = {"renderer": "system", "text": "You are a triage nurse."}
BRIEF = {"renderer": "system", "id": "brief", "text": "Be brief."}


def plain(dialect: str) -> Sources:
    ledger = Ledger()
    ledger.user("Hello")
    ledger.answer("Hi, how can I help?")
    ledger.user("My knee hurts.")
    return ledger.sources(agent(context=[SYSTEM, BRIEF, {"renderer": "history"}]), target(dialect))


def tools(dialect: str) -> Sources:
    ledger = Ledger()
    ledger.user("Who is patient 7?")
    ledger.answer("I look.", call("call_1", arguments='{"id": "7",  "n": 1.0}'), call("call_2", arguments=""))
    ledger.result("call_1", "Ann")
    ledger.add("tool_result", ToolResult("call_2", (Text("no such record"),), "lookup", is_error=True))
    ledger.answer("It is Ann.")
    ledger.agent("The plan was updated.")
    declared = [LOOKUP, {"name": "escalate", "description": "Calls a doctor.", "parameters": {"type": "object"}}]
    masked = Overrides(None, "auto", ("escalate",))
    return ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}], tools=declared), target(dialect), overrides=masked)


def repairs(dialect: str) -> Sources:
    """Open, orphaned, repeated and ill-formed calls; failed, hidden and blank messages."""
    ledger = Ledger()
    ledger.user("go")
    ledger.answer(call("same"), call("id with blank"))
    ledger.result("same", "first")
    ledger.user("stop, what happened?")
    ledger.result("nobody", "orphan")
    ledger.answer(call("same"))
    ledger.result("same", "second")
    ledger.answer("half an ans", status=Status.INTERRUPTED)
    ledger.user("not for later", include_in_context=False, turn=1)
    ledger.user("hidden but sent", hidden=True)
    ledger.user("")
    return ledger.sources(agent(context=[{"renderer": "history"}], tools=[LOOKUP]), target(dialect), running_turn=2)


def parts(dialect: str) -> Sources:
    """Pictures, files, reasoning and opaque blocks, and text that no encoding likes."""
    ledger = Ledger()
    hostile = "nul \x00, sep \u2028, lone \ud83d, {{ braces }}, <|endoftext|>, \U0001f525"
    ledger.add("user_message", Message((Text("look"), Media("image", PICTURE), Media("file", PICTURE, filename="scan.pdf"), Text(hostile))))
    ledger.add("user_message", Message((Media("image", url="https://example.org/x.png"), Media("file", url="https://example.org/x.pdf"))))
    ledger.add("assistant_message", Answer((Reasoning("hm", '{"s":1}', "p"), Text("one"), Opaque("openai-chat", "p", "{}"), Text("two"))))
    ledger.answer(ToolCall("c1", "lookup", "{not json"))
    ledger.add("tool_result", ToolResult("c1", (Text("scan"), Media("image", PICTURE)), "lookup"))
    return ledger.sources(agent(context=[{"renderer": "history"}], tools=[LOOKUP]), target(dialect))


def old_server(dialect: str) -> Sources:
    """The same calls for a server with nine-letter ids, no tool choice, no usage, and reasoning to be passed back."""
    ledger = Ledger()
    ledger.user("q")
    ledger.add("assistant_message", Answer((Reasoning("think"), call("call_QWERT1aaaabbbb"), call("call_QWERT1ccccdddd"))))
    ledger.result("call_QWERT1aaaabbbb", "1")
    ledger.result("call_QWERT1ccccdddd", "2")
    ledger.answer("a")
    ledger.user("and now?")
    quirks: dict[str, Any] = {
        "call_id_pattern": "[a-zA-Z0-9]{9}",
        "call_id_chars_max": 9,
        "tool_choice": False,
        "stream_usage": False,
        "reasoning_key": "reasoning_content",
        "reasoning_always": True,
        "max_tokens_key": "max_tokens",
    }
    ephemeral = (Ephemeral("user_message", (Text("never stored"),)),)
    return ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}], tools=[LOOKUP]), target(dialect, **quirks), ephemeral=ephemeral)


SCENARIOS: Mapping[str, Callable[[str], Sources]] = MappingProxyType(
    {"plain": plain, "tools": tools, "repairs": repairs, "parts": parts, "old-server": old_server}
)
