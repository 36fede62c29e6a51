"""Bodies of fold entries: what changes which entries are current, and their JSON text. The new line itself stands beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.entries import lossless


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


FoldBody = Rewound | Cleared

FOLD_BODIES: Mapping[str, type[FoldBody]] = MappingProxyType({body.kind: body for body in (Rewound, Cleared)})


def decode_fold(kind: str, payload: str) -> FoldBody:
    """The body of a fold entry. Raises `KeyError` for a kind that this build does not read."""
    return FOLD_BODIES[kind].decode(payload)
