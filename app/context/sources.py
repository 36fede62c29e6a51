"""What a compile reads: immutable, decoded, and complete. Nothing else reaches a model input.

What-ifs, older heads and replays are no special cases: they are other `Sources`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from app.context.snapshots import SkillSnapshot
from app.entries.compactions import Checkpoint, DriverKind
from app.entries.messages import Answer, Body, Entry, Message, ToolResult, decode
from app.entries.parts import Part
from app.entries.plans import CallReason, Exposure, Plan
from app.entries.prunings import PrunedResult
from app.entries.settings import PlanChanged
from app.models.resolve import Limits, ModelChoice, Target

EMPTY: Mapping[str, Any] = MappingProxyType({})
CLIENT: Mapping[str, Any] = MappingProxyType({"kind": "client"})
NOTHING_PRUNED: Mapping[int, PrunedResult] = MappingProxyType({})


class SourceMessage(NamedTuple):
    """A message entry of the window and its decoded body, long texts loaded (`Text.text` filled in)."""

    entry: Entry
    body: Body


_source: Callable[[tuple[Entry, Body]], SourceMessage] = partial(tuple.__new__, SourceMessage)


def decoded(entries: Iterable[Entry]) -> list[SourceMessage]:
    """The message entries with their bodies, long texts not loaded; an erased one has no part. Raises as `decode` does."""
    return [_source((entry, _erased(entry.kind) if entry.payload is None else decode(entry.kind, entry.payload))) for entry in entries]


def _erased(kind: str) -> Body:
    if kind == "assistant_message":
        return Answer(())
    return ToolResult("", ()) if kind == "tool_result" else Message(())


@dataclass(frozen=True, slots=True)
class Ephemeral:
    """A message of the running turn that is never stored (`persist: false`), or the input of a what-if.

    `after_seq`: the seq of the last entry that stood before it when it was accepted (the head, or an extra message of the
    same append). None puts it before everything that the running turn stored, or last where no turn runs.
    `digest` is of its parts, where these are not the words that were sent, since nobody keeps them (a replay).
    `tokens` is counted like an entry's, over its text. `include_in_context` changes nothing: it is in every call that has it.
    """

    kind: Literal["user_message", "agent_message"]
    parts: tuple[Part, ...]
    include_in_context: bool = True
    tokens: int = 0
    after_seq: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class RendererSpec:
    """One renderer of an agent's list: which, under which id, and its other keys as the document gives them."""

    renderer: str
    id: str
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as declared to a model (`name`, `description`, `parameters`: a JSON Schema) and as the service treats it.

    `results` says what its results are of, each key only where the document has it: `target` names the argument that says what a call reads
    or writes, `effect` is `read` or `write`, `keep` is `disposable` or `protected`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    enabled: bool = True
    executor: Mapping[str, Any] = field(default_factory=lambda: CLIENT)
    approval: str | Mapping[str, Any] = "never"
    repeatable: bool = False
    results: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Skill:
    """An instruction document of the agent; `description` is what its catalogue says of it."""

    name: str
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class Driver:
    """Who writes summaries. `model`: a call of `model` (None: the one that the call is for); with `fallback`, excerpts where that call fails.
    `excerpt`: the newest words of each message, without a call."""

    kind: DriverKind = "model"
    model: ModelChoice | None = None
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When and how far to compact. `max_tokens` and `keep_recent_tokens` are tokens or None; `trigger_fraction` is of the input limit."""

    max_tokens: int | None = None
    keep_recent_tokens: int | None = None
    trigger_fraction: float = 0.9
    driver: Driver = Driver()


@dataclass(frozen=True, slots=True)
class PruningPolicy:
    """From where on stale tool results are shortened (a fraction of the input limit), and how many tokens of the newest ones never are."""

    trigger_fraction: float = 0.65
    protect_recent_tokens: int = 6_000


@dataclass(frozen=True, slots=True)
class InForce:
    """The checkpoint that stands for the oldest messages of the line, and its entry; `seq` 0 and no digest for one that is only a candidate."""

    seq: int
    body: Checkpoint
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class AgentRevision:
    """One immutable revision of an agent. `document` is the normalised document, `digest` names it (`sha256:<hex>`)."""

    name: str
    revision: int
    model: ModelChoice
    limits: Limits
    renderers: tuple[RendererSpec, ...]
    tools: tuple[Tool, ...]
    state_schema: Mapping[str, Any] | None
    compaction: CompactionPolicy
    turn_max_steps: int
    partial_answers: Literal["omit", "text"]
    document: Mapping[str, Any]
    digest: str
    output_schema: Mapping[str, Any] | None = None
    skills: tuple[Skill, ...] = ()
    plan_enabled: bool = False
    pruning: PruningPolicy = PruningPolicy()


@dataclass(frozen=True, slots=True)
class Overrides:
    """What one turn changes. `model` is already part of the `Target`; it stands here for the record.

    `tool_choice`: `auto`, `none`, `required`, the name of one tool, or None for no word on it.
    """

    model: Mapping[str, Any] | None = None
    tool_choice: str | None = None
    masked_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Invocation:
    """One agent's run inside the running turn. `index` numbers it in the turn, 0 for the run that the turn began with; an entry bears that
    number. `lineage`: the runs that led to it, outermost first, without itself. `tool_call_id`: the call that began it, None for run 0.

    `called`: it, or a run that led to it, was called as a tool. Whatever a called run says is stored as `hidden`, so that an entry of an
    `invocation` above 0 that is hidden is the inside of a call, in every turn.
    """

    index: int = 0
    lineage: tuple[int, ...] = ()
    called: bool = False
    tool_call_id: str | None = None


FIRST_RUN = Invocation()
"""The run that a turn begins with."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Why the call is made and which entry caused it. It grants nothing; it is told to a model only where a plan is enabled.

    `exposure` says which controls the call shows then; `repairs_left` and `recoveries_left` what the turn may still spend (S3-21).
    """

    reason: CallReason
    receipt_seq: int | None = None
    exposure: Exposure = "ordinary"
    repairs_left: int = 0
    recoveries_left: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that one compile depends on, pinned at `head_seq`.

    `messages`: the message entries of the current line behind what `checkpoint` covers, oldest first. `pruned`: by seq, the tool results of
    them that are told in fewer words. `history_message_count`: all message entries of the
    session's ledger at the head, failed answers and left lines included (S2-17); every `message_index` is below it.
    `window_from_seq`: where the window begins, `line_from_seq` the line, covered or not. `state_seq`: the entry that set the state, or None.
    `plan_change`: what the last plan control came to, in the entry `plan_seq`.
    `running_turn`: the number of the turn that runs or waits for results, None for an idle session. `states`: every state up to the
    head with the seq that set it, oldest first; empty where no renderer of the agent asks for older ones. `skill_snapshots`: those of the
    current line, oldest first. `prefix_key`: under which the digests of prefixes are made.
    """

    session_id: str
    head_seq: int
    history_message_count: int
    window_from_seq: int
    agent: AgentRevision
    target: Target
    messages: tuple[SourceMessage, ...]
    state: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    state_seq: int | None = None
    running_turn: int | None = None
    ephemeral: tuple[Ephemeral, ...] = ()
    overrides: Overrides = Overrides()
    continuation: Continuation | None = None
    invocation: Invocation = FIRST_RUN
    plan_change: PlanChanged | None = None
    plan_seq: int | None = None
    skill_snapshots: tuple[SkillSnapshot, ...] = ()
    states: tuple[tuple[int, Mapping[str, Any]], ...] = ()
    checkpoint: InForce | None = None
    pruned: Mapping[int, PrunedResult] = field(default_factory=lambda: NOTHING_PRUNED)
    line_from_seq: int = 1
    prefix_key: str = field(default="", repr=False)

    @property
    def plan(self) -> Plan | None:
        """The plan that holds: the last valid one, active or not."""
        return None if self.plan_change is None else self.plan_change.plan
