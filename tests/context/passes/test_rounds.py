"""Rounds of tool calls that cannot go back with what was thought before them, and how they are closed."""

from dataclasses import replace
from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.passes.adjacency import CLOSING_TEXT, REPLY_TEXT
from app.context.passes.binding import bound_prefix
from app.context.sources import AgentRevision
from app.entries.parts import Reasoning, Text
from app.models.resolve import Target
from tests.judges.targets import target_of
from tests.strategies import SYSTEM, Ledger, agent, call, tokens

HISTORY = {"renderer": "history"}
PLAIN = agent(context=[SYSTEM, HISTORY])
MOVED = agent(context=[{"renderer": "system", "text": "Now it is late."}, HISTORY])
PRUNED = agent(context=[SYSTEM, HISTORY, {"renderer": "prune_reasoning"}])
BOUND, FREE, BUDGET = (target_of("anthropic-messages", name) for name in ("claude-opus-5-5", "claude-opus-5", "claude-sonnet-4-5"))


def compiled(ledger: Ledger, revision: AgentRevision, target: Target) -> Compiled:
    return compile_context(ledger.sources(revision, target, running_turn=1), tokens)


def answers(ledger: Ledger, revision: AgentRevision, target: Target, *parts: Any) -> None:
    """An answer of the target, with thinking that is bound as the target binds it."""
    producer = str(target.producer._replace(prefix=bound_prefix(compiled(ledger, revision, target).request)))
    ledger.answer(Reasoning("Hm.", opaque=f'{{"signature":"{ledger.seq}"}}', producer=producer), *parts, turn=1)


def asked(target: Target, revision: AgentRevision = PLAIN) -> Ledger:
    """A round that is open: a question, an answer with a call, its result."""
    ledger = Ledger()
    ledger.user("Q", turn=1)
    answers(ledger, revision, target, call("c1"))
    ledger.result("c1", turn=1)
    return ledger


def roles(found: Compiled) -> list[str]:
    return [message.role for message in found.request.messages]


def thoughts(found: Compiled) -> int:
    return sum(isinstance(part, Reasoning) for message in found.request.messages for part in message.parts)


@pytest.mark.req("S4-26", "S4-36", "X-23")
@pytest.mark.parametrize(("target", "revision"), [(BOUND, MOVED), (BOUND, PRUNED), (FREE, PRUNED)], ids=["moved", "pruned", "pruned, not bound"])
def test_a_round_without_its_thinking_is_closed_in_words_of_ours(target: Target, revision: AgentRevision):
    found = compiled(asked(target), revision, target)
    assert (roles(found), thoughts(found)) == (["user", "assistant", "tool", "assistant", "user"], 0)
    assert [message.parts for message in found.request.messages[-2:]] == [(Text(REPLY_TEXT),), (Text(CLOSING_TEXT),)]
    assert [row.reason for row in found.decisions if row.reason == "round_closed"] == ["round_closed"] * 2
    assert found.message_count == len(found.request.system) + 3 + (0 if revision is PRUNED else 1), "words of ours are not counted"


@pytest.mark.parametrize(("target", "revision"), [(BOUND, PLAIN), (FREE, PLAIN), (FREE, MOVED), (BUDGET, PRUNED)])
def test_a_round_that_goes_back_whole_or_needs_nothing_stays_open(target: Target, revision: AgentRevision):
    found = compiled(asked(target), revision, target)
    assert roles(found) == ["user", "assistant", "tool"]


def test_input_behind_the_results_is_answered_by_one_word_and_nothing_else():
    ledger = asked(BOUND)
    ledger.user("And?", turn=1)
    found = compiled(ledger, MOVED, BOUND)
    assert roles(found) == ["user", "assistant", "tool", "assistant", "user"]
    assert found.request.messages[-1].parts == (Text("And?"),)


def test_every_round_that_the_end_is_in_counts_and_no_closed_one_does():
    ledger = asked(FREE)
    answers(ledger, PLAIN, FREE, call("c2"))
    ledger.result("c2", turn=1)
    cut = agent(context=[SYSTEM, HISTORY, {"renderer": "select_recent", "n": 4}])  # the first call stays for its result, its thinking does not
    assert [message.role for message in compiled(ledger, cut, FREE).request.messages][-2:] == ["assistant", "user"]
    ledger.answer("So it is.", turn=1)
    ledger.user("Thanks", turn=1)
    assert REPLY_TEXT not in str(compiled(ledger, cut, FREE).request.messages)


@pytest.mark.req("S4-26", "X-23")
def test_thinking_that_was_made_behind_a_cut_answer_is_not_sent_behind_a_whole_one():
    """Cut for one call and not for the next, by a condition: the provider would see thoughts that were not there."""
    ledger = Ledger()
    ledger.user("Q", turn=1)
    answers(ledger, PLAIN, BOUND, "One.")
    ledger.user("And?", turn=1)
    assert compiled(ledger, PRUNED, BOUND).request.thoughts_cut == {1}
    answers(ledger, PRUNED, BOUND, "Two.")
    ledger.user("And now?", turn=1)
    found = compiled(ledger, PLAIN, BOUND)
    assert (thoughts(found), [loss.why for loss in found.losses]) == (1, ["prefix_changed"])
    still = compiled(ledger, agent(context=[SYSTEM, HISTORY, {"renderer": "tap"}]), BOUND)
    assert still.request.messages == found.request.messages
    free = replace(FREE, account=BOUND.account)
    assert compiled(ledger, PRUNED, free).request.thoughts_cut == frozenset()
