"""Snapshots of skills: the text as it was read once, and where it stands. Both placements of T-20."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.entries.folds import SkillLoaded
from app.entries.messages import Entry


@dataclass(frozen=True, slots=True)
class SkillSnapshot:
    """A stored snapshot. `body.revision` is `sha256:<hex>` of its text, `digest` that of the entry at `seq`."""

    seq: int
    body: SkillLoaded
    digest: str

    @property
    def placed(self) -> bool:
        """Whether it is part of its user message, not a message of its own."""
        return self.body.placement == "user"

    @property
    def source(self) -> dict[str, Any]:
        """What a row of the manifest names it by."""
        return {"kind": "skill", "name": self.body.name, "revision": self.body.revision, "seq": self.seq}


def skill_snapshots(entries: Iterable[Entry]) -> tuple[SkillSnapshot, ...]:
    """The snapshots among entries, in their order. One whose content was erased is none any more."""
    return tuple(
        [
            SkillSnapshot(entry.seq, SkillLoaded.decode(entry.payload), "sha256:" + entry.digest.hex())
            for entry in entries
            if entry.kind == SkillLoaded.kind and entry.payload is not None
        ]
    )


def skills_json(snapshots: Iterable[SkillSnapshot]) -> list[dict[str, str]]:
    """Ids and revisions, as the source map lists them: never the text (S2-19)."""
    return [{"id": one.body.name, "revision": one.body.revision} for one in snapshots]


@dataclass(frozen=True, slots=True)
class RuntimeContext:
    """The origin of a snapshot that is a message of its own. `user_turn` counts actual user messages from 0, agent messages never do (T-21);
    `message_index` is the anchoring user message's."""

    snapshot: SkillSnapshot
    snapshot_index: int
    user_turn: int
    message_index: int

    @property
    def seq(self) -> int:
        return self.snapshot.seq

    def to_json(self) -> dict[str, Any]:
        return {
            "type": "runtime-context",
            "snapshot_index": self.snapshot_index,
            "user_turn": self.user_turn,
            "message_index": self.message_index,
            "skills": skills_json([self.snapshot]),
        }
