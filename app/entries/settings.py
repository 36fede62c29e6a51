"""Bodies of settings entries: what holds from then on, and their JSON text.

A user's own numbers and strings (state, model parameters) come back as they were written, so these bodies are read by the
strict reader and not by the fast one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from app.entries import lossless
from app.entries.line import Line
from app.entries.messages import Entry
from app.entries.plans import Plan

# Wider than the limit on a request's body, which stands one or two levels inside what we store.
_DEPTH_MAX = 80


def _read(payload: str) -> Any:
    return lossless.loads(payload, _DEPTH_MAX)


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The first entry of a session. `follows`: newer revisions of the agent are adopted as they come."""

    kind: ClassVar[str] = "session_opened"

    agent: str
    revision: int
    follows: bool = True

    def encode(self) -> str:
        return lossless.dumps({"agent": self.agent, "revision": self.revision, "follows": self.follows})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        return cls(value["agent"], value["revision"], value["follows"])


@dataclass(frozen=True, slots=True)
class SessionForked:
    """The first entry of a fork: it goes on where `parent` (TypeID) was at `at_seq`, and shares everything up to there."""

    kind: ClassVar[str] = "session_forked"

    parent: str
    at_seq: int

    def encode(self) -> str:
        return lossless.dumps({"parent": self.parent, "at_seq": self.at_seq})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        return cls(value["parent"], value["at_seq"])


@dataclass(frozen=True, slots=True)
class AgentAdopted:
    """Another agent or revision from here on: by a PATCH, or because a newer revision was there when a turn was accepted.

    `keeps_model`: a model that was switched to before stays in force, since the adopted revision names no other than the last.
    """

    kind: ClassVar[str] = "agent_adopted"

    agent: str
    revision: int
    follows: bool = True
    keeps_model: bool = False

    def encode(self) -> str:
        return lossless.dumps({"agent": self.agent, "revision": self.revision, "follows": self.follows, "keeps_model": self.keeps_model})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        return cls(value["agent"], value["revision"], value["follows"], value.get("keeps_model", False))


@dataclass(frozen=True, slots=True)
class ModelSwitched:
    """Another model until the next adopted revision that names another one.

    Limits were resolved before it was written, in tokens; `limits_source` says from where, `max_input_tokens` is None where no smaller
    limit for the input is known.
    """

    kind: ClassVar[str] = "model_switched"

    upstream: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    context_window: int | None = None
    max_output_tokens: int | None = None
    target_digest: str | None = None
    limits_source: str | None = None
    max_input_tokens: int | None = None

    def encode(self) -> str:
        limits: dict[str, Any] = {"context_window": self.context_window, "max_output_tokens": self.max_output_tokens}
        given = {"source": self.limits_source, "max_input_tokens": self.max_input_tokens}
        return lossless.dumps(
            {
                "upstream": self.upstream,
                "name": self.name,
                "params": dict(self.params),
                "limits": limits | {key: value for key, value in given.items() if value is not None},
                "target_digest": self.target_digest,
            }
        )

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        limits = value["limits"]
        return cls(
            value["upstream"],
            value["name"],
            value["params"],
            limits["context_window"],
            limits["max_output_tokens"],
            value["target_digest"],
            limits.get("source"),
            limits.get("max_input_tokens"),
        )


StateSource = Literal["mutation", "observation", "direct"]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The whole state after the change, by scope (`{"session": {…}}`), so that a reader needs the latest entry alone.

    `source`: a patch of this session, what its user's other sessions had done meanwhile, or the state that it was opened with.
    `changed`: RFC 6901 pointers into the state, without values. Entries of earlier releases have neither and read as patches.
    """

    kind: ClassVar[str] = "state_changed"

    state: Mapping[str, Any]
    source: StateSource = "mutation"
    changed: tuple[str, ...] = ()

    def encode(self) -> str:
        return lossless.dumps({"state": dict(self.state), "source": self.source, "changed": list(self.changed)})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        return cls(value["state"], value.get("source", "mutation"), tuple(value.get("changed", ())))


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """What a plan control of a model asked for, and the plan that holds from then on: the last valid one where the change was rejected (X-67).

    `operation` is empty where none could be read; `feedback` is what the model is told of a rejection. `arguments` is the model's exact text.
    """

    kind: ClassVar[str] = "plan_changed"

    plan: Plan | None
    operation: str
    accepted: bool
    feedback: str | None
    call_id: str
    arguments: str

    def encode(self) -> str:
        return lossless.dumps(
            {
                "plan": None if self.plan is None else self.plan.to_json(),
                "operation": self.operation,
                "accepted": self.accepted,
                "feedback": self.feedback,
                "call_id": self.call_id,
                "arguments": self.arguments,
            }
        )

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        plan = None if value["plan"] is None else Plan.from_json(value["plan"])
        return cls(plan, value["operation"], value["accepted"], value["feedback"], value["call_id"], value["arguments"])


class Section(NamedTuple):
    """A system section as it is recorded: the digest of its text (`sha256:<hex>`) and its tokens, never the text."""

    digest: str
    tokens: int


@dataclass(frozen=True, slots=True)
class SectionsRecorded:
    """The section record of a dispatched call: which system sections differ from those of the dispatched call before it (S2-49).

    `sections`: all that the call had, by renderer id, so that the next call is compared with the latest entry alone. `changed` names
    those that are new or have another text, `removed` those that are gone.
    """

    kind: ClassVar[str] = "sections_recorded"

    call_id: str
    sections: Mapping[str, Section]
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def encode(self) -> str:
        sections = {renderer: section._asdict() for renderer, section in self.sections.items()}
        return lossless.dumps({"call_id": self.call_id, "sections": sections, "changed": list(self.changed), "removed": list(self.removed)})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        sections = {renderer: Section(one["digest"], one["tokens"]) for renderer, one in value["sections"].items()}
        return cls(value["call_id"], sections, tuple(value["changed"]), tuple(value["removed"]))


SettingsBody = SessionOpened | SessionForked | AgentAdopted | ModelSwitched | StateChanged | PlanChanged | SectionsRecorded

SETTINGS_BODIES: Mapping[str, type[SettingsBody]] = MappingProxyType({body.kind: body for body in get_args(SettingsBody)})


def decode_settings(kind: str, payload: str) -> SettingsBody:
    """The body of a settings entry. Raises `KeyError` for a kind that this build does not read."""
    return SETTINGS_BODIES[kind].decode(payload)


def plan_in_force(changed: Entry | None, line: Line) -> tuple[PlanChanged | None, int | None]:
    """What the newest plan control came to, with the plan that holds, and its entry; None where there was none.

    A plan from before the line's first entry does not hold: the line was begun anew since.
    """
    if changed is None or changed.payload is None or changed.seq < line.first_seq:
        return None, None
    return PlanChanged.decode(changed.payload), changed.seq
