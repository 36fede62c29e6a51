"""What a compile puts in, leaves out and counts, on ledgers small enough to check by eye."""

from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import History
from app.context.report import prefix_digest, source_map
from app.context.sources import Ephemeral, Invocation, Overrides, Sources
from app.entries.messages import Message, Status
from app.entries.parts import Media, Reasoning, Text, ToolCall
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, target, tokens

NURSE = agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS)


def compiled(sources: Sources) -> Compiled:
    return compile_context(sources, tokens)


def indexes(found: Compiled) -> list[int]:
    return [message.origin.message_index for message in found.request.messages if isinstance(message.origin, History)]


def fate(found: Compiled, seq: int) -> tuple[str, str]:
    return next((str(row.disposition), str(row.reason)) for row in found.decisions if row.source.get("seq") == seq and row.source["kind"] == "entry")


@pytest.mark.req("S2-18", "S2-17")
def test_the_answer_that_is_about_to_come_is_not_counted():
    ledger = Ledger()
    ledger.user("first")
    assert source_map(compiled(ledger.sources(running_turn=1)))["history_message_count"] == 1


@pytest.mark.req("S0-02", "S0-11", "S1-03", "S1-09", "S3-38", "T-12")
def test_system_text_and_tools_are_the_revisions_own():
    ledger = Ledger()
    ledger.user("q")
    first = compiled(ledger.sources(NURSE))
    ledger.answer("a")
    second = compiled(ledger.sources(NURSE))
    other = compiled(ledger.sources(agent(context=[{**SYSTEM, "text": "You are a clerk."}, {"renderer": "history"}])))
    assert prefix_digest(first.request) == prefix_digest(second.request) != prefix_digest(other.request)
    assert [section.text for section in other.request.system] == ["You are a clerk."]
    assert other.request.tools == ()


@pytest.mark.req("S4-07", "S1-10", "S4-08")
def test_without_history_there_is_no_dialogue_and_no_error():
    ledger = Ledger()
    ledger.user("q")
    found = compiled(ledger.sources(agent(context=[SYSTEM]), ephemeral=(Ephemeral("user_message", (Text("what if"),)),)))
    assert found.request.messages == ()
    assert found.message_count == 1
    assert fate(found, 1) == ("excluded", "not_rendered")


@pytest.mark.req("S4-11", "S4-13", "S4-14", "S4-15", "S4-17", "S4-18", "T-02", "S0-23", "S0-04")
def test_render_counts_of_one_tool_use():
    """Vector 5: a thought, a call and its result → 2 prompt events, then 5."""
    ledger = Ledger()
    ledger.user("Can I take it?", turn=1)
    assert compiled(ledger.sources(NURSE, running_turn=1)).message_count == 2
    ledger.answer(Reasoning("Check the record."), call("c1", arguments='{"offset": 1, "limit": 2}'), turn=1, gap=2)
    ledger.result("c1", "penicillin", turn=1)
    found = compiled(ledger.sources(NURSE, running_turn=1))
    assert found.message_count == 5
    asked = found.request.messages[1].parts[1]
    assert isinstance(asked, ToolCall)
    assert (asked.name, asked.arguments) == ("lookup", '{"offset": 1, "limit": 2}')
    assert found.request.messages[2].parts == (Text("penicillin"),)
    assert [tool.name for tool in found.request.tools] == ["lookup", "gone"]


@pytest.mark.req("S1-04", "S1-05", "S1-06", "S1-07", "T-21", "S1-22", "S0-13", "S0-14", "S0-19", "S0-20", "S0-21", "S1-23")
def test_roles_parts_and_hidden_messages_come_through_in_order():
    ledger = Ledger()
    image = Media("image", url="https://example.test/a.png")
    ledger.add("user_message", Message((Text("see"), image, Text("this"))))
    ledger.agent("go on", hidden=True)
    ledger.answer("Looking.", call("c1"), "Wait.")
    ledger.result("c1", is_hidden_by_ui := "found")
    found = compiled(ledger.sources())
    assert [message.role for message in found.request.messages] == ["user", "agent", "assistant", "tool"]
    assert found.request.messages[0].parts == (Text("see"), image, Text("this"))
    assert found.request.messages[2].parts == (Text("Looking."), call("c1"), Text("Wait."))
    assert (found.request.messages[3].tool_call_id, found.request.messages[3].parts) == ("c1", (Text(is_hidden_by_ui),))


@pytest.mark.req("S1-20", "S1-21", "X-09")
def test_attributes_never_reach_the_request():
    ledger = Ledger()
    ledger.user("q", attributes='{"route":"SECRET-ROUTE"}')
    found = compiled(ledger.sources())
    assert "SECRET-ROUTE" not in repr(found.request)
    assert "SECRET-ROUTE" not in repr(found.decisions)


@pytest.mark.req("S0-17", "S0-15", "T-05")
def test_disabled_and_masked_tools_are_not_declared():
    ledger = Ledger()
    ledger.user("q")
    found = compiled(ledger.sources(NURSE, overrides=Overrides(masked_tools=("lookup",))))
    assert [tool.name for tool in found.request.tools] == ["gone"]
    rows = {row.source["name"]: (str(row.disposition), str(row.reason)) for row in found.decisions if row.source["kind"] == "tool"}
    assert rows == {"lookup": ("excluded", "masked"), "escalate": ("excluded", "disabled"), "gone": ("included", "declared")}
    assert found.measured.tools < compiled(ledger.sources(NURSE)).measured.tools, "and they weigh nothing"


@pytest.mark.parametrize(
    ("wanted", "sent", "lost"),
    [
        (None, None, []),
        ("auto", "auto", []),
        ("required", "required", []),
        ("lookup", "lookup", []),
        ("escalate", None, ["tool_not_declared"]),
        ("nobody", None, ["tool_not_declared"]),
    ],
)
def test_a_tool_choice_names_a_declared_tool(wanted: str | None, sent: str | None, lost: list[str]):
    ledger = Ledger()
    ledger.user("q")
    found = compiled(ledger.sources(NURSE, overrides=Overrides(tool_choice=wanted)))
    assert found.request.tool_choice == sent
    assert [loss.why for loss in found.losses] == lost


def test_without_tools_there_is_no_choice():
    ledger = Ledger()
    ledger.user("q")
    assert compiled(ledger.sources(overrides=Overrides(tool_choice="auto"))).request.tool_choice is None
    assert [loss.why for loss in compiled(ledger.sources(overrides=Overrides(tool_choice="required"))).losses] == ["no_tools_declared"]


def test_what_a_session_waits_for():
    ledger = Ledger()
    assert compiled(ledger.sources()).awaiting == "input"
    ledger.user("q", turn=1)
    assert compiled(ledger.sources(running_turn=1)).awaiting is None
    ledger.answer(call("c1"), call("c2"), turn=1)
    ledger.result("c2", turn=1)
    assert compiled(ledger.sources(running_turn=1)).awaiting == "tool_results"
    assert compiled(ledger.sources()).awaiting == "tool_results"
    assert compiled(ledger.sources(agent(context=[SYSTEM]))).awaiting == "tool_results", "whether or not the history is rendered"
    assert compiled(ledger.sources(ephemeral=(Ephemeral("user_message", (Text("what if"),)),))).awaiting is None
    ledger.result("c1", turn=1)
    assert compiled(ledger.sources(running_turn=1)).awaiting is None
    ledger.answer("done", turn=1)
    assert compiled(ledger.sources()).awaiting == "input"
    ledger.answer(call("c3"), status=Status.INTERRUPTED)
    assert compiled(ledger.sources()).awaiting == "input", "the calls of an unfinished answer are not waited for"


def test_an_open_call_is_waited_for_whatever_was_said_inside_of_it():
    ledger = Ledger()
    ledger.user("q", turn=1)
    ledger.answer(call("c1"), turn=1)
    inside: dict[str, Any] = {"turn": 1, "invocation": 1, "hidden": True, "agent": "expert"}
    ledger.agent("asked", **inside)
    assert compiled(ledger.sources()).awaiting == "tool_results"
    ledger.answer("inner", **inside)
    assert compiled(ledger.sources()).awaiting == "tool_results"
    ledger.answer(call("c2"), **inside)
    called = Invocation(1, (0,), True, "c1")
    assert compiled(ledger.sources(running_turn=1, invocation=called)).awaiting == "tool_results"
    ledger.result("c2", **inside)
    assert compiled(ledger.sources(running_turn=1, invocation=called)).awaiting is None
    ledger.result("c1", turn=1)
    assert compiled(ledger.sources(running_turn=1)).awaiting is None


@pytest.mark.req("S2-25")
def test_another_target_changes_no_origin():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(Reasoning("hm", "{}", "m"), call("functions.Bash:0"))
    ledger.result("functions.Bash:0")
    narrow = compiled(ledger.sources(target=target(call_id_pattern="[a-z0-9]+")))
    assert source_map(narrow)["sources"] == source_map(compiled(ledger.sources()))["sources"]


def test_settings_without_a_source_are_listed_as_absent():
    ledger = Ledger()
    rows = {row.source["kind"]: (str(row.reason), row.digest) for row in compiled(ledger.sources()).decisions}
    assert rows == dict.fromkeys(("checkpoint", "plan", "skills", "state"), ("absent", None))
    assert ({"kind": "state", "seq": 7}, "not_rendered") in [(row.source, row.reason) for row in compiled(ledger.sources(state_seq=7)).decisions]


@pytest.mark.req("X-31")
def test_text_behind_the_head_is_the_last_input_and_never_stands_between_a_call_and_its_result():
    late = {"renderer": "system", "id": "now", "text": "Answer in French.", "placement": "tail"}
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("c"))
    found = compiled(ledger.sources(agent(context=[SYSTEM, late, {"renderer": "history"}])))
    assert [message.role for message in found.request.messages] == ["user", "assistant", "tool", "user"]
    assert found.request.messages[-1].parts == (Text("Answer in French."),)
    assert source_map(found)["sources"][-1] == {"type": "rendered", "renderer": "now"}
    assert [section.renderer for section in found.request.system] == ["system-0"]
    assert found.message_count == 4
    (row,) = [row for row in found.decisions if row.source == {"kind": "rendered", "renderer": "now"}]
    assert (row.disposition, row.reason, row.tokens_after) == ("included", "rendered", len("Answer in French."))
    assert found.measured.system == len("You are a triage nurse.")


@pytest.mark.req("S3-24", "S3-26", "X-32")
@pytest.mark.parametrize(
    ("context", "choice", "sent", "lost"),
    [
        ([], "required", "required", []),
        ([{"renderer": "mask_tools", "names": ["lookup", "gone"]}], "required", None, ["no_tools_declared"]),
        ([{"renderer": "limit_tools", "names": ["escalate"]}], "required", None, ["no_tool_allowed"]),
        ([{"renderer": "mask_tools", "names": ["lookup", "gone"]}], "none", "none", []),
        ([{"renderer": "mask_tools", "names": ["lookup", "gone"]}], "auto", None, []),
        ([{"renderer": "limit_tools", "names": ["lookup"]}], "lookup", "lookup", []),
    ],
)
def test_no_control_is_forced_and_none_holds_for_controls(context: list[Any], choice: str, sent: str | None, lost: list[str]):
    revision = agent(context=[{"renderer": "history"}, *context], tools=TOOL_DOCUMENTS, plan={"enabled": True})
    found = compiled(Ledger().sources(revision, overrides=Overrides(tool_choice=choice)))
    assert (found.request.tool_choice, [loss.why for loss in found.losses]) == (sent, lost)
    assert [tool.name for tool in found.request.tools][-2:] == ["update_plan", "report_progress"]
    assert found.request.allowed_tools is None or set(found.request.allowed_tools) >= {"update_plan", "report_progress"}
