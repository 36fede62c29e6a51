"""Snapshots of skills become part of what the model reads: before the words of their user message, or as messages of their own (T-20).

The stored message is unchanged, and its origin stays (S2-46, S2-47). Runs before everything that adapts or measures, so that a skill
is adapted and weighed like the rest (S2-02). Anchors that contradict the history are refused (S2-39).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.context.draft import Count, Disposition, Draft, History, Item, NeutralMessage, Reason
from app.context.origins import InvalidOrigins, check_anchors
from app.context.skills import expansion, framed
from app.context.snapshots import RuntimeContext, SkillSnapshot, skills_json
from app.entries.parts import Text

NAME = "skills"


@dataclass(frozen=True, slots=True)
class SkillFate:
    """What became of a snapshot that is no message of its own: `item` is the user message that it is part of, None where it is out.

    `index` numbers the snapshots of the line, where those that were selected for one message are one. `tokens` are those of its text.
    """

    snapshot: SkillSnapshot
    index: int
    reason: Reason
    tokens: int
    item: Item | None = None

    @property
    def message(self) -> NeutralMessage | None:
        """The message that holds its text as it is sent; None where nothing of it is."""
        return None if self.item is None else self.item.message


@dataclass(frozen=True, slots=True)
class _Group:
    """The skills that were selected for one message. `anchor`: its row and its ordinal among user messages; None where it is not in the window."""

    snapshots: list[SkillSnapshot]
    anchor: tuple[int, Item] | None


def run(draft: Draft, count: Count) -> tuple[SkillFate, ...]:
    """Expands and inserts; O(messages) where there are snapshots. Raises `InvalidOrigins`."""
    if not draft.sources.skill_snapshots:
        return ()
    fates: list[SkillFate] = []
    places = {id(item): place for place, item in enumerate(draft.placed)}
    inserted = 0
    for index, group in enumerate(_groups(draft)):
        turn, item = group.anchor or (0, None)
        message = None if item is None else item.message
        if item is None or message is None:
            fates += _left_out(group.snapshots, index, item, count)
        elif group.snapshots[0].placed:
            fates += _expanded(draft, group.snapshots, index, item, message, count)
        else:
            inserted += 1
            _replay(draft, group.snapshots[0], index, turn, item, places[id(item)] + inserted, count)
    return tuple(fates)


def expansions(fates: Sequence[SkillFate]) -> list[dict[str, Any]]:
    """`skill_expansions` of a source map: for each message that holds skills the snapshot, with names and revisions alone (S2-47)."""
    found: dict[int, tuple[int, list[SkillSnapshot]]] = {}
    for fate in fates:
        origin = None if fate.message is None else fate.message.origin
        if isinstance(origin, History):
            found.setdefault(fate.index, (origin.message_index, []))[1].append(fate.snapshot)
    return [{"message_index": message, "snapshot_index": index, "skills": skills_json(snapshots)} for index, (message, snapshots) in found.items()]


def _groups(draft: Draft) -> list[_Group]:
    """The snapshots by their messages, in their order, each anchored to an actual user message; agent messages count for nothing (T-21).

    Turns count from the beginning of the line; one that a checkpoint covers has no message in the window.
    """
    checkpoint = draft.sources.checkpoint
    before = 0 if checkpoint is None else checkpoint.body.user_messages
    users = [item for item in draft.items if item.source is not None and item.source.entry.kind == "user_message"]
    by_seq = {item.source.entry.seq: (turn, item) for turn, item in enumerate(users, before) if item.source is not None}
    others = {source.entry.seq for source in draft.sources.messages} - by_seq.keys()
    groups: list[_Group] = []
    turns: list[int] = []
    last: int | None = None
    for snapshot in draft.sources.skill_snapshots:
        seq, turn = snapshot.body.anchor_seq, snapshot.body.user_turn
        if snapshot.placed and seq == last:
            groups[-1].snapshots.append(snapshot)
            continue
        last = seq
        if seq in others:
            raise InvalidOrigins("A snapshot is anchored to a message that is no user message.")
        if turn is None:
            anchor = by_seq.get(seq or 0)
        else:
            check_anchors([turn], before + len(users))
            anchor = (turn, users[turn - before]) if turn >= before else None
        turns += [] if anchor is None else [anchor[0]]
        groups.append(_Group([snapshot], anchor))
    check_anchors(turns, before + len(users))
    return groups


def _left_out(snapshots: list[SkillSnapshot], index: int, anchor: Item | None, count: Count) -> list[SkillFate]:
    """A snapshot shares the fate of its message: a skill without the words that it was selected for says nothing."""
    steps = () if anchor is None else anchor.steps
    reason = next((step.reason for step in steps if step.disposition is Disposition.EXCLUDED), Reason.ANCHOR_ABSENT)
    return [SkillFate(snapshot, index, reason, count(framed(snapshot.body.name, snapshot.body.text))) for snapshot in snapshots]


def _expanded(draft: Draft, snapshots: list[SkillSnapshot], index: int, item: Item, message: NeutralMessage, count: Count) -> list[SkillFate]:
    text = expansion([(snapshot.body.name, snapshot.body.text) for snapshot in snapshots])
    places = (None, *range(len(message.parts)))
    changed = message._replace(parts=(Text(text), *message.parts))
    draft.replace(item, (Reason.SKILL_EXPANDED,), NAME, changed, item.tokens + count(text), places)
    return [SkillFate(snapshot, index, Reason.SKILL_EXPANDED, count(framed(snapshot.body.name, snapshot.body.text)), item) for snapshot in snapshots]


def _replay(draft: Draft, snapshot: SkillSnapshot, index: int, turn: int, anchor: Item, at: int, count: Count) -> None:
    message_index = anchor.origin.message_index if isinstance(anchor.origin, History) else 0
    text = expansion([(snapshot.body.name, snapshot.body.text)])
    message = NeutralMessage("user", (Text(text),), RuntimeContext(snapshot, index, turn, message_index))
    draft.insert(at, message, Reason.SKILL_REPLAYED, NAME, count(text), (None,))
