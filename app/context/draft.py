"""The draft: every message of the window, what became of it, and the neutral list in the making.

A renderer or a pass changes it through four verbs alone, `keep`, `drop`, `replace`, `insert`; each records what it did and
why, so that manifest and source map are read off the finished draft and nobody maintains them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from app.context.directives import Directives
from app.context.neutral import CompactionOrigin as CompactionOrigin
from app.context.neutral import ContinuationOrigin as ContinuationOrigin
from app.context.neutral import EphemeralOrigin as EphemeralOrigin
from app.context.neutral import History as History
from app.context.neutral import NeutralMessage as NeutralMessage
from app.context.neutral import NeutralRequest as NeutralRequest
from app.context.neutral import Origin as Origin
from app.context.neutral import Places as Places
from app.context.neutral import Rendered as Rendered
from app.context.neutral import Role as Role
from app.context.neutral import SystemSection as SystemSection
from app.context.neutral import ToolRepair as ToolRepair
from app.context.sources import SourceMessage, Sources

Count = Callable[[str], int]
"""The target's pure token count of a text."""


class Disposition(StrEnum):
    INCLUDED = "included"
    TRANSFORMED = "transformed"
    EXCLUDED = "excluded"


class Reason(StrEnum):
    """Why a source is in, changed or out. Closed: the OpenAPI document lists these words."""

    IN_WINDOW = "in_window"
    RENDERED = "rendered"
    DECLARED = "declared"
    EPHEMERAL = "ephemeral"
    PARTIAL_ANSWER = "partial_answer"  # a stopped answer of which the text alone is kept
    TOOL_CALL_ID_FITTED = "tool_call_id_fitted"  # the target does not take the id as it is
    TOOL_CALL_ID_REPEATED = "tool_call_id_repeated"  # another call of the window bears the same id
    REASONING_AS_TEXT = "reasoning_as_text"  # what another model thought in plain words
    REASONING_LEFT_OUT = "reasoning_left_out"  # the target may not get it, or takes none
    BLOCK_LEFT_OUT = "block_left_out"  # a provider's own block, or what stood beside a part: of another provider, model or account
    PREFIX_CHANGED = "prefix_changed"  # reasoning that is bound to what came before it, and that is not what it was
    MEDIA_NOT_TAKEN = "media_not_taken"  # named instead: of a kind, type or size that the target does not take
    MEDIA_MOVED = "media_moved"  # behind the results, as user input
    BLANK_TEXT = "blank_text"  # the target takes no blank text
    ARGUMENTS_FITTED = "arguments_fitted"  # none, or no object where one is asked for
    CALL_AS_TEXT = "call_as_text"  # the model has no native calling
    RESULT_AS_TEXT = "result_as_text"
    RESULT_ORDER = "result_order"  # results stand in the order of their calls
    USER_FIRST = "user_first"  # words that open a list which has to begin with user input
    USER_LAST = "user_last"  # words that close a list which has to end with it
    REPLY_AFTER_RESULTS = "reply_after_results"  # an answer between results and the next input
    ROUND_CLOSED = "round_closed"  # a reply behind results whose calls cannot go back with what was thought before them
    MISSING_TOOL_RESULT = "missing_tool_result"  # a repair stands in for it
    FAILED_RESPONSE = "failed_response"  # failed, cancelled or interrupted
    NOT_IN_CONTEXT = "not_in_context"
    SYSTEM_MESSAGE = "system_message"  # from an import; system text is rebuilt for each call
    EMPTY_MESSAGE = "empty_message"  # no part at all: no wire format takes it
    BLANK_MESSAGE = "blank_message"  # blank texts alone, where the target takes none
    REDACTED = "redacted"
    NOT_RENDERED = "not_rendered"
    ORPHAN_TOOL_RESULT = "orphan_tool_result"  # its call is nowhere before it
    DUPLICATE_TOOL_RESULT = "duplicate_tool_result"
    LATE_TOOL_RESULT = "late_tool_result"  # the conversation had gone on; a repair stands at the call
    OUT_OF_SCOPE = "out_of_scope"  # the history's scope does not hold it
    TEXT_OF_OTHER_AGENT = "text_of_other_agent"  # of another agent's answer the text alone
    OPEN_CALL_LEFT_OUT = "open_call_left_out"  # a call that is being answered by the run that is told
    REASONING_PRUNED = "reasoning_pruned"
    NOT_RECENT = "not_recent"  # beyond the newest that `select_recent` keeps
    CALL_KEPT_FOR_RESULT = "call_kept_for_result"  # the rest of its answer is beyond them
    RESULT_SHORTENED = "result_shortened"  # words that name the tool and the size stand for it
    FOR_OTHER_AGENT = "for_other_agent"  # input that is aimed at an agent by name
    TEXT_TRANSFORMED = "text_transformed"  # user input as a template spells it
    CONDITION_NOT_MET = "condition_not_met"
    RENDERED_BLANK = "rendered_blank"
    RENDER_FAILED = "render_failed"
    NARROWED = "narrowed"  # declared, and outside the allowed list
    MASKED = "masked"
    DISABLED = "disabled"
    NOT_ENFORCED = "not_enforced"
    CONTROL_HIDDEN = "control_hidden"  # the call is for something else than the plan
    CONTINUATION = "continuation"  # why the call is made, told to the model
    ABSENT = "absent"
    SUMMARIZED = "summarized"  # the summary stands for what a checkpoint covers
    PRUNED_STALE_TOOL_RESULT = "pruned_stale_tool_result"  # a later call tells more, or its tool says that results are of no further use
    PRUNED_OLD_TOOL_RESULT = "pruned_old_tool_result"  # old and large: its middle, or all of it, is left out
    SKILL_EXPANDED = "skill_expanded"  # its text stands before the words of the user message that it was selected for
    SKILL_REPLAYED = "skill_replayed"  # a snapshot of an older form, as a message of its own
    ANCHOR_ABSENT = "anchor_absent"  # the message that it was selected for is not in the window


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a source: what, why, and which pass did it."""

    disposition: Disposition
    reason: Reason
    by: str


class Decision(NamedTuple):
    """The account of one source, a row of the manifest. `source` names it; `reason` is the strongest, `also` holds the rest.

    A named tuple for the reason that `NeutralMessage` is one.
    """

    source: Mapping[str, Any]
    disposition: Disposition
    reason: Reason
    also: tuple[Reason, ...]
    by: str
    tokens_before: int
    tokens_after: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that the target cannot be told. `part` is the position in the message."""

    what: str
    why: str
    seq: int | None = None
    part: int | None = None


@dataclass(slots=True)
class Item:
    """One message of the draft. `source` is None for one that is no entry; `message` None: it is not sent.

    `places`: where its parts stand in the entry, None while they stand as they were said.
    `steps` is empty until something was decided. Changed by the verbs of `Draft` and by nobody else.
    """

    origin: Origin
    message: NeutralMessage | None
    tokens_before: int
    tokens: int
    source: SourceMessage | None = None
    steps: tuple[Step, ...] = ()
    places: Places | None = None

    def place(self, part: int) -> int | None:
        """Where part `part` of the message stands in its entry; None for one that a pass put there."""
        return part if self.places is None else self.places[part]

    @property
    def inside_call(self) -> bool:
        """Whether a called run said it: such are the entries of a run above 0 that are hidden."""
        return self.source is not None and self.source.entry.invocation > 0 and self.source.entry.hidden


@dataclass(slots=True)
class Draft:
    """`items`: a row for a checkpoint's summary, each message of the window and each ephemeral one, in order. `placed`: the list in the making.

    `inserted`: rows that passes made. `system`, `tail`: the sections so far, at the head and behind everything, with their tokens.
    `losses`: what no step of a row can tell. `directives`: what renderers said beside messages and sections.
    `several_runs`: whether any message is of another run than the one that its turn began with.
    """

    sources: Sources
    items: list[Item] = field(default_factory=list)
    placed: list[Item] = field(default_factory=list)
    inserted: list[Item] = field(default_factory=list)
    system: list[tuple[SystemSection, int]] = field(default_factory=list)
    tail: list[tuple[SystemSection, int]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    directives: Directives = field(default_factory=Directives)
    several_runs: bool = False

    @property
    def summary(self) -> Item | None:
        """The row of the summary that stands for what a checkpoint covers; None without a checkpoint."""
        return self.items[0] if self.items and isinstance(self.items[0].origin, CompactionOrigin) else None

    @property
    def masked(self) -> set[str]:
        """Tools that are not declared: what renderers masked, and the turn."""
        return self.directives.masked.union(self.sources.overrides.masked_tools)

    @property
    def choice(self) -> str | None:
        """The choice of tools: the turn's own word goes before any renderer's."""
        return self.sources.overrides.tool_choice or self.directives.choice

    def keep(self, items: Iterable[Item], step: Step) -> None:
        """Places messages at the end of the list. Raises `ValueError` for one that was decided to be out."""
        steps, place = (step,), self.placed.append
        for item in items:
            if item.message is None:
                raise ValueError("a message that was dropped is not kept")
            item.steps = (*item.steps, step) if item.steps else steps
            place(item)

    def drop(self, item: Item, reason: Reason, by: str) -> None:
        """Takes a message out of the request; it stays in the account. Raises `ValueError` when it is out already."""
        if item.message is None:
            raise ValueError("a message is dropped once")
        item.message = None
        item.tokens = 0
        item.steps = (*item.steps, Step(Disposition.EXCLUDED, reason, by))

    def replace(
        self, item: Item, reasons: tuple[Reason, ...], by: str, message: NeutralMessage, tokens: int | None = None, places: Places | None = None
    ) -> None:
        """Sends another message of the same origin in its place. `tokens` None: unchanged.

        `places`: for each of its parts the position, in the message so far, of the part that it is of; None where the parts stand where
        they stood. Raises `ValueError` for another origin.
        """
        if message.origin != item.origin:
            raise ValueError("a replaced message keeps its origin")
        if places is not None:
            item.places = tuple([None if place is None else item.place(place) for place in places])
        item.message = message
        item.tokens = item.tokens if tokens is None else tokens
        item.steps = (*item.steps, *[Step(Disposition.TRANSFORMED, reason, by) for reason in reasons])

    def insert(self, at: int, message: NeutralMessage, reason: Reason, by: str, tokens: int, places: Places | None = None) -> None:
        """Puts a message that is no entry before position `at` of the list. `places`: of its parts in the entry that they are of."""
        item = Item(message.origin, message, tokens, tokens, None, (Step(Disposition.INCLUDED, reason, by),), places)
        self.placed.insert(at, item)
        self.inserted.append(item)

    def lose(self, item: Item, what: str, why: str, part: int) -> None:
        """Notes what of a message's part the target is not told; the verb that changes the message follows. Words, never content."""
        self.losses.append(Loss(what, why, None if item.source is None else item.source.entry.seq, item.place(part)))

    def prompt_parts(self) -> int:
        """The prompt events as they stand (T-02, S4-18)."""
        found = len(self.system) + len(self.tail)
        for item in self.placed:
            message = item.message
            if message is not None:
                found += len(message.parts) if message.role == "assistant" else 1
        return found

    def sent(self) -> list[NeutralMessage]:
        """The neutral list as it stands; the list is rid of what was dropped since it was last asked for."""
        messages = [item.message for item in self.placed if item.message is not None]
        if len(messages) != len(self.placed):
            self.placed = [item for item in self.placed if item.message is not None]
        return messages
