"""Renderers of other packages: whatever one does, the draft is sound, or as it was with a failure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.context.account import decisions
from app.context.agents.read import normalised
from app.context.compile import compile_context
from app.context.draft import Draft, NeutralMessage, Reason, Rendered
from app.context.passes import pairing
from app.context.renderers import run
from app.context.renderers.guarded import guarded
from app.context.renderers.kinds import RendererKind
from app.context.sources import RendererSpec
from app.context.templates.render import RenderFailedError
from app.context.window import open_draft
from app.entries.parts import Text, ToolCall
from tests.strategies import MODEL, Ledger, agent, call, tokens

SPEC = RendererSpec("foreign", "foreign-1")


def opened() -> Draft:
    ledger = Ledger()
    ledger.user("q")
    ledger.answer("I look.", call("c"))
    ledger.result("c")
    draft = open_draft(ledger.sources(), tokens)
    run(draft, RendererSpec("history", "history-0"), tokens)
    return draft


def raises_late(draft: Draft) -> None:
    draft.drop(draft.placed[0], Reason.NOT_RECENT, "foreign")
    draft.placed[1].places = (0,)
    draft.directives.masked.add("lookup")
    draft.system.clear()
    raise KeyError("secret words")


def refuses_late(draft: Draft) -> None:
    draft.insert(0, NeutralMessage("user", (Text("x"),), Rendered("foreign-1")), Reason.RENDERED, "foreign", 1)
    raise RenderFailedError("template-failed", "It does not fit.")


def forges(draft: Draft) -> None:
    draft.insert(0, NeutralMessage("user", (Text("x"),), draft.placed[0].origin), Reason.RENDERED, "foreign", 1)


def says_no_text(draft: Draft) -> None:
    text: Any = None  # a package need not be typed
    draft.insert(0, NeutralMessage("user", (Text(text),), Rendered("foreign-1")), Reason.RENDERED, "foreign", 1)


def says_no_part(draft: Draft) -> None:
    parts: Any = ["words"]
    draft.insert(0, NeutralMessage("user", parts, Rendered("foreign-1")), Reason.RENDERED, "foreign", 1)


def counts_no_number(draft: Draft) -> None:
    weight: Any = None
    draft.insert(0, NeutralMessage("user", (Text("x"),), Rendered("foreign-1")), Reason.RENDERED, "foreign", weight)


def places_twice(draft: Draft) -> None:
    draft.placed.append(draft.placed[0])


def hides(draft: Draft) -> None:
    draft.placed[0].message = None
    draft.placed[0].steps = ()


def forgets_a_row(draft: Draft) -> None:
    del draft.items[0]


def speaks_as_nobody(draft: Draft) -> None:
    role: Any = "developer"
    draft.insert(0, NeutralMessage(role, (Text("x"),), Rendered("foreign-1")), Reason.RENDERED, "foreign", 1)


def adds_no_section(draft: Draft) -> None:
    section: Any = "words"
    draft.system.append((section, 1))


def places_what_is_no_row(draft: Draft) -> None:
    draft.placed.append(replace(draft.placed[0]))


def weighs_less_than_nothing(draft: Draft) -> None:
    draft.placed[0].tokens = -1


def tells_of_another_source(draft: Draft) -> None:
    first, second = draft.placed[0].message, draft.placed[1]
    assert first is not None
    draft.placed[0].message = first._replace(origin=second.origin)


def tells_of_fewer_parts(draft: Draft) -> None:
    draft.placed[1].places = (0,)


def adds_no_section_at_the_end(draft: Draft) -> None:
    section: Any = "words"
    draft.tail.append((section, 1))


def chooses_no_name(draft: Draft) -> None:
    choice: Any = 7
    draft.directives.choice = choice


def kind(work: Callable[[Draft], None]) -> RendererKind:
    return RendererKind(lambda draft, spec, count: work(draft), (), lambda *given: None)


@pytest.mark.req("S4-09", "S4-48")
@pytest.mark.parametrize(
    "work",
    [
        raises_late,
        refuses_late,
        forges,
        says_no_text,
        says_no_part,
        counts_no_number,
        places_twice,
        hides,
        forgets_a_row,
        speaks_as_nobody,
        adds_no_section,
        places_what_is_no_row,
        weighs_less_than_nothing,
        tells_of_another_source,
        tells_of_fewer_parts,
        adds_no_section_at_the_end,
        chooses_no_name,
    ],
    ids=lambda work: work.__name__,
)
def test_what_fails_leaves_the_draft_as_it_was(work: Callable[[Draft], None]):
    draft, plain = opened(), opened()
    with pytest.raises(RenderFailedError) as failed:
        guarded(kind(work), draft, SPEC, tokens)
    assert "secret words" not in failed.value.detail
    assert repr(draft) == repr(plain)


def test_what_is_sound_stays():
    def adds(draft: Draft) -> None:
        draft.insert(3, NeutralMessage("assistant", (ToolCall("d", "lookup", "{}"),), Rendered("foreign-1")), Reason.RENDERED, "foreign", 1)
        draft.drop(draft.placed[0], Reason.NOT_RECENT, "foreign")

    draft = opened()
    guarded(kind(adds), draft, SPEC, tokens)
    pairing.run(draft, tokens)
    assert [message.role for message in draft.sent()] == ["assistant", "tool", "assistant", "tool"], "its call has a stand-in for a result"
    assert len(decisions(draft.sources, (*draft.items, *draft.inserted), (), (), (), draft.directives)) == 5 + 4


def test_an_agent_whose_package_is_gone_is_read_and_its_input_has_a_failure():
    gone = {"renderer": "gone", "mark": "?"}
    assert normalised({"model": MODEL, "context": [gone]})["context"] == [{**gone, "id": "gone-0"}]
    found = compile_context(Ledger().sources(agent(context=[{"renderer": "history"}, gone])), tokens)
    assert [(failure.renderer, failure.code) for failure in found.failures] == [("gone-1", "renderer-missing")]
