"""Filters and tool gates: what each takes out, that the order of the list is its meaning, and that no order breaks a pair."""

from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import History, ToolRepair
from app.context.sources import Overrides
from app.entries.messages import ToolResult
from app.entries.parts import Media, Reasoning, Text, ToolCall
from tests.strategies import SYSTEM, TOOL_DOCUMENTS, Ledger, agent, call, target, tokens

HISTORY = {"renderer": "history"}


PLACED = "[The result of lookup was left out:  tokens.]"


def recent(n: int, unit: str = "parts") -> dict[str, Any]:
    return {"renderer": "select_recent", "n": n, "unit": unit}


def compiled(ledger: Ledger, *context: dict[str, Any], target: Any = None, **changes: Any) -> Compiled:
    return compile_context(ledger.sources(agent(context=list(context), tools=TOOL_DOCUMENTS), target, running_turn=1, **changes), tokens)


def shape(found: Compiled) -> list[tuple[str, ...]]:
    """Role and kinds of parts of each message."""
    names = {"Text": "text", "Reasoning": "thought", "ToolCall": "call"}
    return [(message.role, *[names.get(type(part).__name__, "media") for part in message.parts]) for message in found.request.messages]


def reasons(found: Compiled) -> dict[int, str]:
    return {row.source["seq"]: str(row.reason) for row in found.decisions if row.source["kind"] == "entry"}


@pytest.fixture
def triage() -> Ledger:
    """Question, thought and call, result: the worked example of the renderers document."""
    ledger = Ledger()
    ledger.user("Can I take it?", turn=1)
    ledger.answer(Reasoning("Check the record."), call("c1"), turn=1)
    ledger.result("c1", "penicillin", turn=1)
    return ledger


@pytest.fixture
def parallel() -> Ledger:
    """An answer with two calls and a text, and both results."""
    ledger = Ledger()
    ledger.user("both", turn=1)
    ledger.answer("Looking.", call("c1"), call("c2"), turn=1)
    ledger.result("c1", "one", turn=1)
    ledger.result("c2", "two", turn=1)
    return ledger


@pytest.mark.req("S4-01", "S4-02", "S4-05", "S4-25", "S4-26")
def test_prune_reasoning_acts_on_what_is_placed_before_it(triage: Ledger):
    after = compiled(triage, HISTORY, {"renderer": "prune_reasoning"})
    assert shape(after) == [("user", "text"), ("assistant", "call"), ("tool", "text")]
    assert (after.message_count, reasons(after)[2]) == (3, "reasoning_pruned")
    before = compiled(triage, {"renderer": "prune_reasoning"}, HISTORY)
    assert before.message_count == 4
    assert reasons(before)[2] != "reasoning_pruned"


def test_an_answer_of_thoughts_alone_goes_with_them():
    ledger = Ledger()
    ledger.user("q", turn=1)
    ledger.answer(Reasoning("hm"), turn=1)
    found = compiled(ledger, HISTORY, {"renderer": "prune_reasoning"})
    assert shape(found) == [("user", "text")]


@pytest.mark.req("S4-27", "S4-28", "S4-29", "S4-30", "S4-31", "S4-32", "T-02", "T-08")
def test_vectors_six_and_seven(triage: Ledger):
    """Two newest prompt events: call and result, the question is out; one: the result, and its call beyond the quota."""
    for n in (2, 1):
        found = compiled(triage, HISTORY, SYSTEM, {"renderer": "prune_reasoning"}, recent(n))
        assert shape(found) == [("assistant", "call"), ("tool", "text")]
        assert [section.renderer for section in found.request.system] == ["system-1"]
        assert reasons(found)[1] == "not_recent"
        assert found.message_count == 3
    first = Ledger()
    first.user("Can I take it?", turn=1)
    assert compiled(first, SYSTEM, HISTORY, {"renderer": "prune_reasoning"}, recent(2)).message_count == 2


@pytest.mark.req("S4-29", "T-09", "T-02")
@pytest.mark.parametrize(
    ("n", "kept"),
    [
        (1, [("assistant", "call"), ("tool", "text")]),
        (2, [("assistant", "call", "call"), ("tool", "text"), ("tool", "text")]),
        (3, [("assistant", "call", "call"), ("tool", "text"), ("tool", "text")]),
        (5, [("assistant", "text", "call", "call"), ("tool", "text"), ("tool", "text")]),
        (6, [("user", "text"), ("assistant", "text", "call", "call"), ("tool", "text"), ("tool", "text")]),
    ],
)
def test_a_kept_result_keeps_its_own_call_and_no_other(parallel: Ledger, n: int, kept: list[tuple[str, ...]]):
    found = compiled(parallel, HISTORY, recent(n))
    assert shape(found) == kept
    calls = [part.tool_call_id for message in found.request.messages for part in message.parts if isinstance(part, ToolCall)]
    assert calls == [message.tool_call_id for message in found.request.messages if message.role == "tool"]
    assert not any(isinstance(message.origin, ToolRepair) for message in found.request.messages)
    if n == 1:
        assert calls == ["c2"]
        assert reasons(found) == {1: "not_recent", 2: "call_kept_for_result", 3: "not_recent", 4: "in_window"}


@pytest.mark.req("S4-29", "T-09")
def test_a_kept_result_finds_its_call_behind_an_older_round_and_beside_one_of_the_same_id():
    ledger = Ledger()
    for name in ("c1", "c2"):
        ledger.answer("Looking.", call(name), turn=1)
        ledger.result(name, turn=1)
    assert shape(compiled(ledger, HISTORY, recent(1))) == [("assistant", "call"), ("tool", "text")]
    twins = Ledger()
    twins.answer(call("c"), "Again.", call("c"), turn=1)
    twins.result("c", "one", turn=1)
    twins.result("c", "two", turn=1)
    assert shape(compiled(twins, HISTORY, recent(2)))[0] == ("assistant", "call", "call")


def test_a_shortened_answer_weighs_less_by_what_is_gone(parallel: Ledger):
    found = compiled(parallel, HISTORY, recent(1))
    row = next(row for row in found.decisions if row.source.get("seq") == 2)
    gone = tokens("Looking.") + tokens("lookup") + tokens("{}")
    assert row.tokens_before is not None
    assert row.tokens_after == row.tokens_before - gone


@pytest.mark.req("T-02", "T-21")
def test_units_count_entries_and_turns():
    ledger = Ledger()
    for turn in (1, 2, 3):
        ledger.user(f"q{turn}", turn=turn)
        ledger.agent("go on", turn=turn)
        ledger.answer("a", "b", turn=turn)
    newest = compiled(ledger, HISTORY, recent(2, "entries")).request.messages
    assert [message.origin.seq for message in newest if isinstance(message.origin, History)] == [8, 9]
    assert len(compiled(ledger, HISTORY, recent(2, "turns")).request.messages) == 6
    assert len(compiled(ledger, HISTORY, recent(9, "turns")).request.messages) == 9
    behind = compiled(ledger, HISTORY, {"renderer": "user", "text": "Be brief."}, recent(1, "turns"))
    assert len(behind.request.messages) == 4, "what a renderer says begins no turn"
    assert shape(compiled(ledger, HISTORY, {"renderer": "user", "text": "Be brief."}, recent(1))) == [("user", "text")]


@pytest.mark.req("S0-32", "T-08")
@pytest.mark.parametrize("options", [{"keep": 1}, {"protect_recent_tokens": 1}, {"keep": 1, "protect_recent_tokens": 1}])
def test_old_results_become_words_that_name_the_tool_and_the_size(options: dict[str, int]):
    ledger = Ledger()
    ledger.user("q", turn=1)
    for name in ("c1", "c2"):
        ledger.answer(call(name), turn=1)
        ledger.result(name, "x" * 500, turn=1)
    found = compiled(ledger, HISTORY, {"renderer": "prune_tool_results", **options})
    first, last = [message for message in found.request.messages if message.role == "tool"]
    size = ledger.messages[2].entry.tokens
    assert first.parts == (Text(f"[The result of lookup was left out: {size} tokens.]"),)
    assert (first.tool_call_id, first.name) == ("c1", "lookup")
    assert last.parts == (Text("x" * 500),)
    assert reasons(found)[3] == "result_shortened"
    row = next(row for row in found.decisions if row.source.get("seq") == 3)
    assert (row.disposition, row.tokens_before, row.tokens_after) == ("transformed", size, len(PLACED) + len(str(size)))
    own = compiled(ledger, HISTORY, {"renderer": "prune_tool_results", "keep": 0, "placeholder": "({tool})"})
    assert [message.parts for message in own.request.messages if message.role == "tool"] == [(Text("(lookup)"),)] * 2


def test_short_and_protected_results_stay():
    ledger = Ledger()
    ledger.answer(call("c1"), turn=1)
    ledger.result("c1", "ok", turn=1)
    for options in ({"keep": 0, "placeholder": "x" * 900}, {"protect_recent_tokens": 10**6}):
        assert "result_shortened" not in reasons(compiled(ledger, HISTORY, {"renderer": "prune_tool_results", **options})).values()


def test_a_result_is_old_from_the_token_on_at_which_the_protected_ones_end():
    ledger = Ledger()
    ledger.answer(call("c1"), turn=1)
    ledger.result("c1", "x" * 500, turn=1)
    ledger.answer("done", turn=1)
    for protect, reason in ((ledger.messages[2].entry.tokens, "result_shortened"), (ledger.messages[2].entry.tokens + 1, "in_window")):
        spec = {"renderer": "prune_tool_results", "protect_recent_tokens": protect}
        assert reasons(compiled(ledger, HISTORY, spec))[2] == reason


def test_words_stand_for_a_picture_too_and_for_no_text_of_their_own_length():
    ledger = Ledger()
    ledger.answer(call("c1"), call("c2"), turn=1)
    ledger.add("tool_result", ToolResult("c1", (Media("image", url="https://example.test/a.png"),), "lookup"), turn=1)
    ledger.result("c2", "four", turn=1)
    weight = ledger.messages[2].entry.tokens
    words = next("w" * length for length in range(1, 400) if tokens("w" * length) == weight)
    found = compiled(ledger, HISTORY, {"renderer": "prune_tool_results", "keep": 0, "placeholder": words})
    assert (reasons(found)[2], reasons(found)[3]) == ("result_shortened", "in_window")
    assert [message.parts for message in found.request.messages if message.role == "tool"] == [(Text(words),), (Text("four"),)]


@pytest.mark.req("S4-33", "S4-34", "S4-35", "S4-37", "S4-40", "T-05", "X-32")
def test_narrowed_tools_stay_declared_and_masked_ones_do_not(triage: Ledger):
    narrowed = compiled(triage, HISTORY, {"renderer": "limit_tools", "names": ["lookup"]}, {"renderer": "tool_choice", "choice": "required"})
    assert (narrowed.declared, narrowed.allowed) == (("lookup", "gone"), ("lookup",))
    assert (narrowed.request.allowed_tools, narrowed.request.tool_choice) == (("lookup",), "required")
    assert tool_rows(narrowed) == {"lookup": ("included", "declared", []), "gone": ("included", "declared", ["narrowed"]), **DISABLED}
    masked = compiled(triage, HISTORY, {"renderer": "mask_tools", "names": ["lookup"]})
    assert (masked.declared, masked.allowed, masked.request.allowed_tools) == (("gone",), None, None)
    assert tool_rows(masked)["lookup"] == ("excluded", "masked", [])
    assert masked.measured.tools < narrowed.measured.tools
    assert compiled(triage, HISTORY, {"renderer": "limit_tools", "names": []}).allowed is None
    later = compiled(triage, {"renderer": "limit_tools", "names": ["gone"]}, {"renderer": "limit_tools", "names": ["lookup"]})
    assert later.allowed == ("lookup",), "a later list replaces an earlier one"
    none = compiled(triage, {"renderer": "limit_tools", "names": ["lookup"]}, {"renderer": "mask_tools", "names": ["lookup"]})
    assert (none.declared, none.allowed) == (("gone",), ())


DISABLED: dict[str, tuple[str, str, list[str]]] = {"escalate": ("excluded", "disabled", [])}


def tool_rows(found: Compiled) -> dict[str, tuple[str, str, list[str]]]:
    rows = [row for row in found.decisions if row.source["kind"] == "tool"]
    return {row.source["name"]: (str(row.disposition), str(row.reason), [str(one) for one in row.also]) for row in rows}


@pytest.mark.req("T-05", "X-32")
def test_a_list_that_the_wire_cannot_enforce_is_said_in_the_manifest(triage: Ledger):
    for given_target in (target("anthropic-messages"), target(tools="text"), target(tool_choice=False)):
        found = compiled(triage, HISTORY, {"renderer": "limit_tools", "names": ["lookup"]}, target=given_target)
        assert tool_rows(found)["gone"] == ("included", "declared", ["narrowed", "not_enforced"])
        assert found.declared == ("lookup", "gone")
        assert found.allowed == ("lookup",)


@pytest.mark.req("S4-35", "S4-36")
def test_the_callers_choice_goes_before_a_renderers(triage: Ledger):
    forced = {"renderer": "tool_choice", "choice": "required"}
    assert compiled(triage, HISTORY, forced).request.tool_choice == "required"
    assert compiled(triage, HISTORY, forced, overrides=Overrides(tool_choice="none")).request.tool_choice == "none"
    outside = compiled(triage, HISTORY, {"renderer": "limit_tools", "names": ["lookup"]}, {"renderer": "tool_choice", "choice": "gone"})
    assert outside.request.tool_choice is None
    assert [(loss.what, loss.why) for loss in outside.losses if loss.what == "tool_choice"] == [("tool_choice", "tool_not_allowed")]


@pytest.mark.req("S4-06")
def test_a_tap_sees_its_place_and_alters_nothing(triage: Ledger):
    context: list[dict[str, Any]] = [
        {**SYSTEM, "id": "first"},
        HISTORY,
        {"renderer": "prune_reasoning"},
        {"renderer": "limit_tools", "names": ["lookup"]},
    ]
    plain = compiled(triage, *context)
    taps: list[dict[str, Any]] = [{"renderer": "tap", "id": name} for name in "abc"]
    tapped = compiled(triage, taps[0], *context[:2], taps[1], *context[2:], taps[2])
    assert tapped.request == plain.request
    assert [(tap.renderer, tap.message_count, len(tap.messages), len(tap.system), tap.allowed) for tap in tapped.directives.taps] == [
        ("a", 0, 0, 0, None),
        ("b", 5, 3, 1, None),
        ("c", 4, 3, 1, ("lookup",)),
    ]
    assert tapped.directives.taps[2].declared == ("lookup", "gone")
    assert tapped.directives.taps[2].messages == plain.request.messages
    late = {**SYSTEM, "id": "late", "placement": "tail"}
    asked = compiled(triage, {**SYSTEM, "id": "first"}, late, taps[0], overrides=Overrides(tool_choice="none", masked_tools=("gone",)))
    (tap,) = asked.directives.taps
    assert ([section.renderer for section in tap.system], tap.declared, tap.choice) == (["first", "late"], ("lookup",), "none")
