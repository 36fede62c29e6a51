"""Who may stand beside whom."""

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Rendered
from app.context.passes.binding import bound_prefix
from app.context.report import source_map
from app.entries.messages import Answer, Message
from app.entries.parts import Blob, Media, Part, Reasoning, Text, ToolCall
from tests.strategies import SYSTEM, Ledger, agent, call, target, tokens

FILE = Media("file", Blob("sha256:" + "a" * 64, "application/pdf", 9))
IMAGE = Media("image", Blob("sha256:" + "b" * 64, "image/png", 9))


def told(found: Compiled) -> list[str]:
    return [
        " ".join([message.role, *(part.text for part in message.parts if isinstance(part, Text)), *filter(None, [message.tool_call_id])])
        for message in found.request.messages
    ]


@pytest.mark.req("T-19")
def test_results_stand_in_the_order_of_their_calls_and_the_map_points_at_their_rows():
    ledger = Ledger()
    ledger.user("both")
    ledger.answer(call("A"), call("B"))
    ledger.result("B", "two")
    ledger.result("A", "one")
    ledger.user("thanks")
    found = compile_context(ledger.sources(target=target(results_in_call_order=True)), tokens)
    assert told(found)[2:4] == ["tool one A", "tool two B"]
    assert [source["seq"] for source in source_map(found)["sources"]] == [1, 2, 4, 3, 5]
    moved = {row.source["seq"]: row.reason for row in found.decisions if row.by == "adjacency"}
    assert moved == {3: "result_order", 4: "result_order"}
    assert told(compile_context(ledger.sources(target=target()), tokens))[2:4] == ["tool two B", "tool one A"]


def test_results_of_two_answers_never_mix():
    ledger = Ledger()
    ledger.user("q")
    for number in range(2):
        ledger.answer(call("same"), call("other"))
        ledger.result("other", f"o{number}")
        ledger.result("same", f"s{number}")
    found = compile_context(ledger.sources(target=target(results_in_call_order=True)), tokens)
    lines = [line.split()[:2] for line in told(found)[1:]]
    assert lines == [["assistant"], ["tool", "s0"], ["tool", "o0"], ["assistant"], ["tool", "s1"], ["tool", "o1"]]


@pytest.mark.req("S0-28")
def test_a_list_that_has_to_begin_and_end_with_input_does():
    ledger = Ledger()
    ledger.answer(call("g1"))
    ledger.result("g1", "10:00")
    ledger.answer("It is ten.")
    strict = target(user_first=True, user_last=True)
    found = compile_context(ledger.sources(target=strict), tokens)
    assert told(found) == ["user (The conversation begins here.)", "assistant", "tool 10:00 g1", "assistant It is ten.", "user Continue."]
    assert [message.origin for message in found.request.messages][::4] == [Rendered("adjacency")] * 2
    assert sum(found.message_tokens) == found.measured.messages  # each its own, though two of them have the same origin
    rows = [(row.source, row.disposition, row.reason) for row in found.decisions if row.by == "adjacency"]
    assert rows == [({"kind": "rendered", "renderer": "adjacency"}, "included", reason) for reason in ("user_first", "user_last")]
    ledger.user("thanks")
    assert told(compile_context(ledger.sources(target=strict), tokens))[-1] == "user thanks"
    begun = Ledger()
    begun.agent("a plan")
    assert [message.role for message in compile_context(begun.sources(target=strict), tokens).request.messages] == ["agent"]


def test_an_answer_that_its_provider_paused_goes_back_as_it_is():
    ledger = Ledger()
    ledger.user("q")
    ledger.add("assistant_message", Answer((Text("So far"),), stop_reason="paused"))
    strict = target(user_last=True, provider_blocks=True)
    assert told(compile_context(ledger.sources(target=strict), tokens)) == ["user q", "assistant So far"]
    ledger.answer(Reasoning("Hm.", '{"signature":"s"}', str(strict.producer)), "and on.")
    ledger.user("thanks")
    found = told(compile_context(ledger.sources(target=strict), tokens))
    assert found == ["user q", "assistant So far", "assistant and on.", "user thanks"]


def test_instructions_alone_are_opened_and_nothing_stays_nothing():
    strict = target(user_first=True, user_last=True)
    alone = compile_context(Ledger().sources(agent(context=[SYSTEM, {"renderer": "history"}]), strict), tokens)
    assert told(alone) == ["user (The conversation begins here.)"]
    assert told(compile_context(Ledger().sources(target=strict), tokens)) == []
    lenient, ledger = target(input_needed=True), Ledger()
    alone = compile_context(ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}]), lenient), tokens)
    assert told(alone) == ["user (The conversation begins here.)"]
    ledger.answer("first")
    assert told(compile_context(ledger.sources(agent(context=[SYSTEM, {"renderer": "history"}]), lenient), tokens)) == ["assistant first"]


@pytest.mark.req("X-20", "X-23")
def test_the_closing_words_stay_before_an_answer_that_was_given_to_them_with_thinking():
    strict = target(user_last=True, provider_blocks=True, prefix_bound=True)
    ledger = Ledger()
    ledger.user("q")
    ledger.answer("One.")
    asked = compile_context(ledger.sources(target=strict), tokens).request
    assert asked.messages[-1].parts == (Text("Continue."),)
    by = str(strict.producer._replace(prefix=bound_prefix(asked)))
    ledger.answer(Reasoning("Hm.", '{"signature":"s"}', by), call("c"))
    ledger.result("c")
    found = compile_context(ledger.sources(target=strict), tokens)
    assert told(found) == ["user q", "assistant One.", "user Continue.", "assistant", "tool ok c"]
    assert [type(part) for part in found.request.messages[3].parts] == [Reasoning, ToolCall]
    assert found.losses == ()
    foreign = compile_context(ledger.sources(target=target(user_last=True, provider_blocks=False)), tokens)
    assert told(foreign) == ["user q", "assistant One.", "assistant", "tool ok c"]


def test_thinking_without_a_block_needs_no_words_before_it():
    plain = target(user_last=True, reasoning_key="reasoning_content", reasoning_always=True)
    ledger = Ledger()
    ledger.user("q")
    ledger.answer("One.")
    ledger.answer(Reasoning("Hm."), "Two.")
    ledger.user("thanks")
    found = compile_context(ledger.sources(target=plain), tokens)
    assert told(found) == ["user q", "assistant One.", "assistant Two.", "user thanks"]
    assert [type(part) for part in found.request.messages[2].parts] == [Reasoning, Text]


def test_the_closing_words_stay_wherever_they_were_answered():
    strict = target(user_last=True, provider_blocks=True)
    ledger = Ledger()
    ledger.user("q")
    for text in ("One.", "Two.", "Three."):
        ledger.answer(Reasoning("Hm.", '{"signature":"s"}', str(strict.producer)), text)
    found = told(compile_context(ledger.sources(target=strict), tokens))
    assert found == ["user q", "assistant One.", "user Continue.", "assistant Two.", "user Continue.", "assistant Three.", "user Continue."]


def test_an_answer_stands_between_results_and_input_where_a_server_asks_for_it():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("c"))
    ledger.result("c")
    ledger.user("next")
    found = compile_context(ledger.sources(target=target(reply_after_results=True)), tokens)
    assert told(found)[2:] == ["tool ok c", "assistant OK.", "user next"]
    assert len(compile_context(ledger.sources(target=target()), tokens).request.messages) == 4


@pytest.mark.req("S0-28")
def test_a_file_does_not_stand_beside_results_where_it_may_not():
    ledger = Ledger()
    ledger.user("q")
    groups: list[list[Part]] = [[Text("look"), FILE, FILE], [Text("look"), IMAGE], [IMAGE, FILE]]
    for inputs in groups:
        ledger.answer(call("g1"))
        ledger.result("g1", "r")
        for part in inputs:
            ledger.add("user_message", Message((part,)))
    ledger.answer(call("g1"))
    ledger.result("g1", "r")
    ledger.user("look")
    ledger.answer("a")
    ledger.add("user_message", Message((FILE,)))
    roles = [message.role for message in compile_context(ledger.sources(target=target(files_beside_results=False)), tokens).request.messages]
    group, last = ["assistant", "tool"], ["assistant", "tool", "user", "assistant", "user"]
    assert roles == ["user", *group, "assistant", *["user"] * 3, *group, *["user"] * 2, *group, "assistant", *["user"] * 2, *last]
    plain = [message.role for message in compile_context(ledger.sources(target=target()), tokens).request.messages]
    assert plain == ["user", *group, *["user"] * 3, *group, *["user"] * 2, *group, *["user"] * 2, *last]
