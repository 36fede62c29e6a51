"""THE table of entry kinds: what each is, who sees it, and what may be appended beside a claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Family(StrEnum):
    """The only thing SQL knows of a kind: one letter."""

    MESSAGE = "m"
    SETTINGS = "s"
    FOLD = "f"
    TRACE = "t"


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table.

    `sent`: its messages are eligible for a model. `shown`: a person saw it in the transcript.
    `beside`: it may be appended while another writer holds the session's claim.
    `posted`: a client may append it by `POST /sessions/{id}/entries`.
    """

    name: str
    family: Family
    version: int = 1
    sent: bool = False
    shown: bool = False
    beside: bool = False
    posted: bool = False


def _rows() -> list[Kind]:
    m, s, f, t = Family.MESSAGE, Family.SETTINGS, Family.FOLD, Family.TRACE
    return [
        Kind("user_message", m, sent=True, shown=True, posted=True),
        Kind("assistant_message", m, sent=True, shown=True, posted=True),
        Kind("tool_result", m, sent=True, shown=True, posted=True),
        Kind("agent_message", m, sent=True, shown=True, posted=True),
        Kind("system_message", m, shown=True),  # from imports only, never sent (T-22)
        Kind("session_opened", s),
        Kind("session_forked", s),
        Kind("agent_adopted", s, beside=True),
        Kind("model_switched", s, beside=True),
        Kind("state_changed", s, beside=True),
        Kind("plan_changed", s),
        Kind("sections_recorded", s),
        # Beside the folds because it belongs to a line: a compile reads all of them that are current, and of a settings kind the latest alone.
        Kind("skill_loaded", f),
        Kind("compaction_requested", f),
        Kind("checkpoint", f),
        Kind("compaction_failed", f),
        Kind("checkpoint_selected", f),
        Kind("pruned", f),
        Kind("cleared", f),
        Kind("rewound", f),
        Kind("model_call_started", t),
        Kind("model_call_finished", t),
        Kind("tool_started", t),
        Kind("tool_rejected", t),
        Kind("approval_requested", t),
        Kind("approval_decided", t),
        Kind("stop_requested", t, beside=True),
        Kind("interruption", t, shown=True),  # visible to users, never in the model's context
        Kind("turn_settled", t),
        Kind("redaction", t),
    ]


KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _rows()})

SETTINGS_KINDS: tuple[str, ...] = tuple(k.name for k in KINDS.values() if k.family is Family.SETTINGS)
MESSAGE_KINDS: tuple[str, ...] = tuple(k.name for k in KINDS.values() if k.family is Family.MESSAGE)


def kind_of(name: str, version: int = 1) -> Kind:
    """The row of a kind. Raises `KeyError` for a kind or a version that this build does not know: readers fail closed."""
    kind = KINDS[name]
    if version > kind.version:
        raise KeyError(f"{name} version {version}")
    return kind
