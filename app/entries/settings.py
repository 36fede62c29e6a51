"""Bodies of settings entries: what holds from then on, and their JSON text.

A user's own numbers and strings (state, model parameters) come back as they were written, so these bodies are read by the
strict reader and not by the fast one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

from app.entries import lossless

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


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The whole state after the change, by scope (`{"session": {…}}`), so that a reader needs the latest entry alone."""

    kind: ClassVar[str] = "state_changed"

    state: Mapping[str, Any]

    def encode(self) -> str:
        return lossless.dumps({"state": dict(self.state)})

    @classmethod
    def decode(cls, payload: str) -> Self:
        return cls(_read(payload)["state"])


@dataclass(frozen=True, slots=True)
class SectionsRecorded:
    """The system sections of a dispatched call, where they are not what the record before says (X-28). Never a text: what a section said
    follows from the revision and the state.

    `sections`: the digest of each by its renderer's id, so that a reader needs the latest entry alone; `changed` and `removed` are what
    is new against the record before of the same agent, all of them in its first.
    """

    kind: ClassVar[str] = "sections_recorded"

    agent: str
    revision: int
    sections: Mapping[str, str]
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def encode(self) -> str:
        found = {"agent": self.agent, "revision": self.revision, "sections": dict(self.sections)}
        return lossless.dumps({**found, "changed": list(self.changed), "removed": list(self.removed)})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = _read(payload)
        return cls(value["agent"], value["revision"], value["sections"], tuple(value["changed"]), tuple(value["removed"]))


SettingsBody = SessionOpened | AgentAdopted | ModelSwitched | StateChanged | SectionsRecorded

SETTINGS_BODIES: Mapping[str, type[SettingsBody]] = MappingProxyType(
    {body.kind: body for body in (SessionOpened, AgentAdopted, ModelSwitched, StateChanged, SectionsRecorded)}
)


def decode_settings(kind: str, payload: str) -> SettingsBody:
    """The body of a settings entry. Raises `KeyError` for a kind that this build does not read."""
    return SETTINGS_BODIES[kind].decode(payload)
