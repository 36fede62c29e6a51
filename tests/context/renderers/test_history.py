"""History scopes: two agents, a transfer and a call, and exactly the messages that each scope holds."""

from typing import Any

import pytest

from app.context.agents.read import read_agent
from app.context.compile import Compiled, compile_context
from app.context.draft import EphemeralOrigin, History
from app.context.sources import Ephemeral, Invocation
from app.entries.parts import Reasoning, Text, ToolCall
from tests.strategies import LIMITS, MODEL, Ledger, call, tokens


@pytest.fixture
def ledger() -> Ledger:
    """Turn 1: the nurse (run 0) calls the clerk (run 1) and answers. Turn 2: she transfers to the doctor (run 1), who calls the clerk (run 2)
    and, in one answer with that call, a lookup that has its result."""
    found = Ledger()
    found.user("first", turn=1)  # 1
    found.answer("Asking.", call("n1", "clerk"), turn=1, agent="nurse")  # 2
    found.agent("find the record", turn=1, agent="clerk", invocation=1, hidden=True)  # 3
    found.answer(Reasoning("hm"), "Found it.", turn=1, agent="clerk", invocation=1, hidden=True)  # 4
    found.result("n1", "Found it.", turn=1, agent="nurse")  # 5
    found.answer("Here it is.", turn=1, agent="nurse")  # 6
    found.user("posted between", turn=None)  # 7
    found.user("second", turn=2)  # 8
    found.answer(call("t1", "to_doctor"), turn=2, agent="nurse")  # 9
    found.result("t1", "transferred", turn=2, agent="nurse")  # 10
    found.answer("Hm.", call("l1"), call("d1", "clerk"), turn=2, agent="doctor", invocation=1)  # 11
    found.result("l1", "penicillin", turn=2, agent="doctor", invocation=1)  # 12
    found.agent("which ward", turn=2, agent="clerk", invocation=2, hidden=True)  # 13
    found.answer(call("w1", "wards"), turn=2, agent="clerk", invocation=2, hidden=True)  # 14
    found.result("w1", "three", turn=2, agent="clerk", invocation=2, hidden=True)  # 15
    return found


NURSE, DOCTOR = Invocation(), Invocation(1, (0,))
CLERK = Invocation(2, (0, 1), called=True, tool_call_id="d1")


def compiled(ledger: Ledger, name: str, run: Invocation, running_turn: int | None = 2, **history: Any) -> Compiled:
    document = {"model": MODEL, "context": [{"renderer": "history", **history}]}
    agent = read_agent(name, 1, document, LIMITS, "sha256:" + "0" * 64)
    return compile_context(ledger.sources(agent, running_turn=running_turn, invocation=run, ephemeral=EPHEMERAL), tokens)


EPHEMERAL = (Ephemeral("user_message", (Text("whispered"),)),)


def held(found: Compiled) -> list[int]:
    """The seqs that the history holds; 0 for the ephemeral message, repairs left out."""
    origins = [message.origin for message in found.request.messages]
    return [0 if isinstance(origin, EphemeralOrigin) else origin.seq for origin in origins if isinstance(origin, (EphemeralOrigin, History))]


VISIBLE = [1, 2, 5, 6, 7]


@pytest.mark.req("S4-16", "S4-24", "X-29")
@pytest.mark.parametrize(
    ("name", "run", "options", "seqs"),
    [
        ("doctor", DOCTOR, {"scope": "session"}, [*VISIBLE, 0, 8, 9, 10, 11, 12]),
        ("doctor", DOCTOR, {"scope": "direct"}, [*VISIBLE, 0, 8, 9, 10, 11, 12]),
        ("doctor", DOCTOR, {"scope": "invocation"}, [0, 8, 11, 12]),
        ("doctor", DOCTOR, {"scope": "ancestors"}, [0, 8, 9, 10, 11, 12]),
        ("doctor", DOCTOR, {"scope": "agent"}, [1, 7, 0, 8, 11, 12]),
        ("doctor", DOCTOR, {"scope": "agent", "agents": ["nurse"]}, [1, 2, 6, 7, 0, 8, 11, 12]),
        ("nurse", NURSE, {"scope": "session"}, [*VISIBLE, 0, 8, 9, 10, 11, 12]),
        ("nurse", NURSE, {"scope": "invocation"}, [0, 8, 9, 10]),
        ("nurse", NURSE, {"scope": "agent"}, [1, 2, 5, 6, 7, 0, 8, 9, 10]),
        ("clerk", CLERK, {"scope": "session"}, [*VISIBLE, 0, 8, 9, 10, 11, 12, 13, 14, 15]),
        ("clerk", CLERK, {"scope": "direct"}, [13, 14, 15]),
        ("clerk", CLERK, {"scope": "invocation"}, [13, 14, 15]),
        ("clerk", CLERK, {"scope": "ancestors"}, [0, 8, 9, 10, 11, 12, 13, 14, 15]),
        ("clerk", CLERK, {"scope": "agent"}, [1, 3, 4, 7, 0, 8, 13, 14, 15]),
        ("clerk", CLERK, {"scope": "agent", "agents": ["doctor"]}, [1, 3, 4, 7, 0, 8, 11, 13, 14, 15]),
    ],
)
def test_each_scope_holds_exactly_its_messages(ledger: Ledger, name: str, run: Invocation, options: dict[str, Any], seqs: list[int]):
    found = compiled(ledger, name, run, **options)
    assert held(found) == seqs
    rows = {row.source["seq"]: str(row.reason) for row in found.decisions if row.source["kind"] == "entry"}
    assert {seq for seq, reason in rows.items() if reason == "out_of_scope"} == set(range(1, 16)) - set(seqs)


def test_an_idle_session_has_no_run(ledger: Ledger):
    assert held(compiled(ledger, "nurse", NURSE, None, scope="session")) == [*VISIBLE, 8, 9, 10, 11, 12, 0]
    assert held(compiled(ledger, "nurse", NURSE, None, scope="invocation")) == [0]
    assert held(compiled(ledger, "nurse", NURSE, None, scope="ancestors")) == [0]


@pytest.mark.req("X-29", "X-22")
def test_a_called_run_is_told_no_open_call(ledger: Ledger):
    """The doctor's answer keeps its text and the call that has a result; the call that the clerk is answering is out, without a repair."""
    found = compiled(ledger, "clerk", CLERK, scope="ancestors")
    answer = next(message for message in found.request.messages if getattr(message.origin, "seq", 0) == 11)
    assert [part.tool_call_id for part in answer.parts if isinstance(part, ToolCall)] == ["l1"]
    assert answer.parts[0] == Text("Hm.")
    assert {row.source["seq"]: str(row.reason) for row in found.decisions if row.source["kind"] == "entry"}[11] == "open_call_left_out"
    assert not [row for row in found.decisions if row.source["kind"] == "tool_repair"]


def test_an_answer_of_open_calls_alone_goes_whole():
    ledger = Ledger()
    ledger.user("q", turn=1)
    ledger.answer(Reasoning("hm"), call("d1", "clerk"), turn=1, agent="doctor")
    ledger.agent("which", turn=1, agent="clerk", invocation=1, hidden=True)
    found = compiled(ledger, "clerk", Invocation(1, (0,), called=True, tool_call_id="d1"), 1, scope="session")
    assert held(found) == [0, 1, 3]


def test_of_another_agents_answers_the_text_alone_is_told(ledger: Ledger):
    found = compiled(ledger, "clerk", CLERK, scope="agent", agents=["doctor", "nurse"])
    told = {getattr(message.origin, "seq", 0): message.parts for message in found.request.messages}
    assert told[11] == (Text("Hm."),)
    assert told[6] == (Text("Here it is."),)
    assert 9 not in told, "nothing but a call"
    own = compiled(ledger, "clerk", CLERK, scope="agent")
    assert any(isinstance(part, ToolCall) for message in own.request.messages for part in message.parts)


def test_what_comes_into_a_running_turn_is_not_what_it_was_begun_with():
    ledger = Ledger()
    ledger.user("q", turn=1)  # 1
    ledger.answer(call("t1", "to_doctor"), turn=1, agent="nurse")  # 2
    ledger.result("t1", "transferred", turn=1, agent="nurse")  # 3
    ledger.agent("the ward called", turn=1, agent="nurse")  # 4
    ledger.answer("Hm.", turn=1, agent="doctor", invocation=1)  # 5
    assert held(compiled(ledger, "doctor", DOCTOR, 1, scope="invocation")) == [0, 1, 5]


def test_an_agents_own_results_are_those_of_its_calls_whoever_gave_them():
    ledger = Ledger()
    ledger.user("q", turn=1)  # 1
    ledger.answer(call("n1"), turn=1, agent="nurse")  # 2
    ledger.result("n1", turn=1)  # 3
    ledger.answer(Text(""), call("d1"), turn=1, agent="doctor")  # 4
    ledger.result("d1", turn=1)  # 5
    assert held(compiled(ledger, "nurse", NURSE, 1, scope="agent", agents=["doctor"])) == [0, 1, 2, 3]


def test_an_open_call_is_known_though_a_later_one_of_the_same_id_has_its_result():
    """Providers number calls anew in each answer."""
    ledger = Ledger()
    ledger.answer("Asking.", call("0", "doctor"), turn=1, agent="nurse")  # 1
    ledger.answer("Looking.", call("0"), turn=1, agent="doctor", invocation=1, hidden=True)  # 2
    ledger.result("0", turn=1, agent="doctor", invocation=1, hidden=True)  # 3
    ledger.answer("Hm.", call("1", "clerk"), turn=1, agent="doctor", invocation=1, hidden=True)  # 4
    run = Invocation(2, (0, 1), called=True, tool_call_id="1")
    found = compiled(ledger, "clerk", run, 1, scope="ancestors")
    assert [(message.origin.seq, len(message.parts)) for message in found.request.messages if isinstance(message.origin, History)] == [
        (1, 1),
        (2, 2),
        (3, 1),
        (4, 1),
    ]


def test_a_call_of_an_older_turn_without_a_result_is_mended_for_a_called_run_like_for_any():
    ledger = Ledger()
    ledger.answer("Looking.", call("old"), turn=1, agent="nurse")  # 1
    ledger.user("q", turn=2)  # 2
    ledger.answer(call("d1", "clerk"), turn=2, agent="nurse")  # 3
    found = compiled(ledger, "clerk", Invocation(1, (0,), called=True, tool_call_id="d1"), scope="session")
    assert held(found) == [1, 0, 2]
    assert [part.tool_call_id for part in found.request.messages[0].parts if isinstance(part, ToolCall)] == ["old"]
