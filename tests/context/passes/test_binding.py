"""Blocks that are valid only behind the prefix that they were made behind."""

from dataclasses import replace

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Loss, SystemSection
from app.context.passes.binding import NOTHING_SAID, bound_prefix
from app.context.sources import Tool
from app.entries.messages import Answer
from app.entries.parts import Reasoning, Text
from tests.strategies import SYSTEM, Ledger, agent, call, target, tokens

BOUND = target(provider_blocks=True, prefix_bound=True)
TOLD = agent(context=[SYSTEM, {"renderer": "history"}])
CHANGED = agent(context=[{"renderer": "system", "text": "You are another nurse."}, {"renderer": "history"}])


def compiled(ledger: Ledger, revision=TOLD, to=BOUND) -> Compiled:
    return compile_context(ledger.sources(revision, to), tokens)


def answered(ledger: Ledger, text: str, revision=TOLD, to=BOUND) -> None:
    """An answer whose thinking is bound to what the model was sent."""
    producer = str(to.producer._replace(prefix=bound_prefix(compiled(ledger, revision, to).request)))
    ledger.add("assistant_message", Answer((Reasoning("t " + text, '{"signature":"s"}', producer), Text(text)), model="scripted"))


def thoughts(found: Compiled) -> list[str]:
    return [part.text for message in found.request.messages for part in message.parts if isinstance(part, Reasoning)]


def conversation() -> Ledger:
    ledger = Ledger()
    for text in ("one", "two", "three"):
        ledger.user("q " + text)
        answered(ledger, text)
    ledger.user("last")
    return ledger


@pytest.mark.req("X-23")
def test_an_unchanged_prefix_keeps_every_block():
    found = compiled(conversation())
    assert thoughts(found) == ["t one", "t two", "t three"]
    assert found.losses == ()


@pytest.mark.req("X-20", "X-23")
def test_other_instructions_leave_out_all_of_them_and_keep_the_texts():
    ledger = conversation()
    found = compiled(ledger, CHANGED)
    assert thoughts(found) == []
    assert [(loss.why, loss.seq) for loss in found.losses] == [("prefix_changed", seq) for seq in (2, 4, 6)]
    assert found.losses[0] == Loss("reasoning", "prefix_changed", 2, 0)
    rows = [(row.disposition, row.reason) for row in found.decisions if row.by == "binding"]
    assert rows == [("transformed", "prefix_changed")] * 3
    assert [part.text for part in found.request.messages[1].parts if isinstance(part, Text)] == ["one"]


def test_what_is_made_after_a_change_is_bound_to_the_changed_prefix():
    ledger = conversation()
    answered(ledger, "four", CHANGED)
    ledger.user("more")
    assert thoughts(compiled(ledger, CHANGED)) == ["t four"]
    assert thoughts(compiled(ledger)) == ["t one", "t two", "t three"]


def test_a_target_that_binds_nothing_asks_for_no_prefix():
    free = target(provider_blocks=True)
    ledger = Ledger()
    ledger.user("q")
    answered(ledger, "one", to=free)
    assert bound_prefix(compiled(ledger, to=free).request) == ""
    assert thoughts(compiled(ledger, CHANGED, free)) == ["t one"]


def test_wire_rules_are_part_of_the_prefix():
    ledger = conversation()
    other = target(provider_blocks=True, prefix_bound=True, call_id_chars_max=9)
    assert thoughts(compiled(ledger, to=other)) == []


@pytest.mark.req("X-23")
def test_whatever_stands_before_an_answer_is_part_of_its_prefix_but_for_what_was_thought():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("c"))
    ledger.result("c")
    request = compiled(ledger).request
    *before, result = request.messages
    model = replace(BOUND.model, name="other")
    others = [
        replace(request, target=replace(BOUND, dialect="other")),
        replace(request, target=replace(BOUND, model=model)),
        replace(request, system=(*request.system, SystemSection("system", "s"))),
        replace(request, tools=(Tool("lookup", "", {}),)),
        replace(request, tools=(Tool("lookup", "", {"type": "object"}),)),
        *[
            replace(request, messages=(*before, result._replace(**changed)))
            for changed in ({"role": "user"}, {"tool_call_id": "d"}, {"is_error": True}, {"parts": (Text("other"),)})
        ],
        replace(request, messages=tuple(before)),
    ]
    digests = {bound_prefix(one) for one in (request, *others)}
    assert len(digests) == 1 + len(others)
    thought = result._replace(parts=(Reasoning("t"), *result.parts))
    assert bound_prefix(replace(request, messages=(*before, thought))) == bound_prefix(request)


def test_what_is_left_out_is_not_counted():
    ledger = conversation()
    whole, told = (compiled(ledger, revision).message_tokens for revision in (TOLD, CHANGED))
    less = 0, len("t one"), 0, len("t two"), 0, len("t three"), 0
    assert told == tuple([before - gone for before, gone in zip(whole, less, strict=True)])


def test_a_call_whose_id_had_to_be_changed_is_not_the_one_that_was_thought_behind():
    to = target(provider_blocks=True, prefix_bound=True, call_id_chars_max=9)
    for tool_call_id, kept in (("c", ["t", "u"]), ("c" * 10, ["t"])):
        ledger = Ledger()
        ledger.user("q")
        producer = str(to.producer._replace(prefix=bound_prefix(compiled(ledger, to=to).request)))
        first, second = (Reasoning(text, '{"signature":"s"}', producer) for text in "tu")
        ledger.add("assistant_message", Answer((first, call(tool_call_id), second, Text("a")), model="scripted"))
        ledger.result(tool_call_id)
        assert thoughts(compiled(ledger, to=to)) == kept


def test_thinking_behind_a_call_that_had_to_be_changed_is_left_out():
    """What stands before a block binds it: the calls of its own answer too, where the model thought again between them."""
    to = target(provider_blocks=True, prefix_bound=True, arguments="object")
    for arguments, kept in (("{}", ["t", "u"]), ("", ["t", "u"]), ('{"cut', ["t"])):
        ledger = Ledger()
        ledger.user("q")
        producer = str(to.producer._replace(prefix=bound_prefix(compiled(ledger, to=to).request)))
        first, second = Reasoning("t", '{"signature":"s"}', producer), Reasoning("u", '{"signature":"v"}', producer)
        ledger.add("assistant_message", Answer((first, call("c", arguments=arguments), second, call("d")), model="scripted"))
        ledger.result("c")
        ledger.result("d")
        assert thoughts(compiled(ledger, to=to)) == kept


def test_an_answer_of_thinking_alone_keeps_its_place():
    ledger = Ledger()
    ledger.user("q")
    producer = str(BOUND.producer._replace(prefix=bound_prefix(compiled(ledger).request)))
    ledger.add("assistant_message", Answer((Reasoning("t", '{"signature":"s"}', producer),), model="scripted"))
    ledger.user("and?")
    assert thoughts(compiled(ledger)) == ["t"]
    found = compiled(ledger, CHANGED)
    assert [message.role for message in found.request.messages] == ["user", "assistant", "user"]
    assert found.request.messages[1].parts == (Text(NOTHING_SAID),)
    assert [(loss.why, loss.seq, loss.part) for loss in found.losses] == [("prefix_changed", 2, 0)]
    assert found.places == {1: (None,)}
    whole = compiled(ledger).message_tokens[1]
    assert found.message_tokens[1] == whole - len("t") + len(NOTHING_SAID)
    answered(ledger, "behind it", CHANGED)
    assert thoughts(compiled(ledger, CHANGED)) == ["t behind it"], "what stands for it is what the next answer is bound to"


def test_thinking_that_says_not_who_made_it_is_bound_to_nothing():
    plain = target(provider_blocks=True, prefix_bound=True, reasoning_key="reasoning_content", reasoning_always=True)
    ledger = Ledger()
    ledger.user("q")
    ledger.add("assistant_message", Answer((Reasoning("t"), Text("a"))))
    ledger.user("and?")
    assert thoughts(compiled(ledger, to=plain)) == ["t"]
