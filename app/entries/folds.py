"""Bodies of fold entries: what changes which entries are current or how they are sent, and their JSON text. A new line stands beside its entry."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Self, get_args

from app.entries import lossless
from app.entries.compactions import Checkpoint, CheckpointSelected, CompactionFailed, CompactionRequested
from app.entries.prunings import Pruned


@dataclass(frozen=True, slots=True)
class Rewound:
    """The line goes on after turn number `follows` (0: from before the first message); `through_seq` is the last entry kept (0: none)."""

    kind: ClassVar[str] = "rewound"

    follows: int
    through_seq: int

    def encode(self) -> str:
        return lossless.dumps({"follows": self.follows, "through_seq": self.through_seq})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        return cls(value["follows"], value["through_seq"])


@dataclass(frozen=True, slots=True)
class Cleared:
    """Nothing up to `through_seq` is current any more, without a summary."""

    kind: ClassVar[str] = "cleared"

    through_seq: int

    def encode(self) -> str:
        return lossless.dumps({"through_seq": self.through_seq})

    @classmethod
    def decode(cls, payload: str) -> Self:
        return cls(lossless.read(payload)["through_seq"])


@dataclass(frozen=True, slots=True)
class SkillLoaded:
    """A skill as it was read once (X-71): `text`, and its `revision`, `sha256:<hex>` of the text in UTF-8.

    `placement` "user": it is part of the user message at `anchor_seq`. None: a snapshot of an older form, which is a message of its own
    behind the user message number `user_turn`, counted from 0 (T-20). `selected_by` is None where nobody knows.
    """

    kind: ClassVar[str] = "skill_loaded"

    name: str
    revision: str
    text: str
    placement: Literal["user"] | None = "user"
    anchor_seq: int | None = None
    user_turn: int | None = None
    selected_by: Literal["request", "mention"] | None = None

    def encode(self) -> str:
        placed = self.placement == "user"
        anchor = {"anchor": {"seq": self.anchor_seq}} if placed else {"user_turn": self.user_turn}
        said = {"name": self.name, "revision": self.revision, "text": self.text, "placement": self.placement}
        return lossless.dumps({**said, **anchor, "selected_by": self.selected_by})

    @classmethod
    def decode(cls, payload: str) -> Self:
        """Raises `ValueError`, `KeyError` or `TypeError` for a body of another form: an import may bring one."""
        value = lossless.read(payload)
        placement, selected_by = value["placement"], value.get("selected_by")
        seq, turn = (value["anchor"]["seq"], None) if placement == "user" else (None, value["user_turn"])
        texts = (value["name"], value["revision"], value["text"])
        known = placement in ("user", None) and selected_by in ("request", "mention", None)
        if not known or set(map(type, texts)) != {str} or type(turn if seq is None else seq) is not int:
            raise ValueError("this is no snapshot of a skill")
        return cls(*texts, placement, seq, turn, selected_by)


FoldBody = Rewound | Cleared | SkillLoaded | CompactionRequested | Checkpoint | CompactionFailed | CheckpointSelected | Pruned

FOLD_BODIES: Mapping[str, type[FoldBody]] = MappingProxyType({body.kind: body for body in get_args(FoldBody)})


def decode_fold(kind: str, payload: str) -> FoldBody:
    """The body of a fold entry. Raises `KeyError` for a kind that this build does not read."""
    return FOLD_BODIES[kind].decode(payload)
