"""What should hold of a session, told by what was done to it alone: sets of seqs, and entries as they were first seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MESSAGES = frozenset({"user_message", "assistant_message", "tool_result", "agent_message"})


@dataclass(frozen=True, slots=True)
class State:
    """A session at one seq. `line`: the seqs of the entries that are current; `checkpoint`, `turn`: ids, of what is in force and of the last turn."""

    line: frozenset[int] = frozenset()
    checkpoint: str | None = None
    turn: str | None = None
    dialect: str = ""
    note: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A checkpoint: its entry, the last seq that it covers, and the entries up to there that it stands for."""

    seq: int
    through: int
    covers: frozenset[int]


@dataclass(slots=True)
class Turn:
    """`first`: its first entry; `settled`: that of its end, None while it waits."""

    id: str
    number: int
    first: int
    input_seq: int | None
    status: str
    settled: int | None = None
    retried: str | None = None


Expected = tuple[str, str | None]
"""The kind of a new message, and its text where that is known."""


@dataclass
class Told:
    """A session. `entries`, `states` by seq, those of its ancestors included."""

    id: str
    states: dict[int, State]
    entries: dict[int, Any] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    checkpoints: dict[str, Known] = field(default_factory=dict)
    redacted: set[int] = field(default_factory=set)
    at_seq: int = 0
    """The last seq that is an ancestor's."""
    digest: str = ""
    calls: set[str] = field(default_factory=set)

    @property
    def head(self) -> int:
        return max(self.states)

    @property
    def now(self) -> State:
        return self.states[self.head]

    @property
    def pending(self) -> Turn | None:
        return next((turn for turn in self.turns.values() if turn.settled is None), None)

    @property
    def messages_ever(self) -> int:
        return sum(entry["kind"] in MESSAGES for entry in self.entries.values())

    def messages(self, state: State, *, shown: bool = False) -> list[int]:
        """The seqs of the messages of a line, in order; `shown`: of what a person saw."""
        return [seq for seq in sorted(state.line) if self.entries[seq]["kind"] in MESSAGES and not (shown and self.entries[seq]["hidden"])]

    def fits(self, known: Known, line: frozenset[int]) -> bool:
        """Whether the line holds what a checkpoint stands for, and nothing else up to there."""
        return frozenset([seq for seq in line if seq <= known.through]) == known.covers

    def latest(self, state: State) -> str | None:
        fitting = [(known.seq, id) for id, known in self.checkpoints.items() if self.fits(known, state.line)]
        return max(fitting)[1] if fitting else None

    def covered(self, state: State) -> set[int]:
        """The messages of the line that its checkpoint stands for."""
        if state.checkpoint is None:
            return set()
        return {seq for seq in self.messages(state) if seq <= self.checkpoints[state.checkpoint].through}

    def inside(self, seq: int) -> Turn | None:
        """The turn that is under way behind that entry."""
        return next((turn for turn in self.turns.values() if turn.first <= seq and (turn.settled is None or seq < turn.settled)), None)

    def learn(self, new: Sequence[Any], expected: Sequence[Expected], base: State | None = None, turn: Turn | None = None) -> None:
        """Takes the new entries of the ledger. `base`: the state that the first of them goes on from, where that is not the head's.

        Fails where they are not numbered on, where messages are others than `expected`, and where a fold says what was not asked for.
        """
        state = self.now if base is None else base
        said = [entry for entry in new if entry["kind"] in MESSAGES]
        assert [entry["kind"] for entry in said] == [kind for kind, _ in expected], ([entry["kind"] for entry in said], expected)
        for entry, (_, text) in zip(said, expected, strict=True):
            assert text is None or words(entry) == text, (entry["seq"], words(entry)[:80], text[:80])
        for number, entry in enumerate(new):
            seq = entry["seq"]
            assert seq == self.head + 1, "gapless"
            assert entry["message_index"] == (self.messages_ever if entry["kind"] in MESSAGES else None)
            state = replace(self._folded(state, entry), line=state.line | {seq})
            if turn is not None:
                turn.first = turn.first or seq
                state = replace(state, turn=turn.id)
                if entry["kind"] == "turn_settled":
                    turn.settled = seq
            self.entries[seq] = entry
            self.states[seq] = state
            assert number or base is None or entry["kind"] in ("rewound", "cleared"), entry["kind"]

    def _folded(self, state: State, entry: Any) -> State:
        body = entry["body"]
        match entry["kind"]:
            case "checkpoint":
                return self._checkpoint(state, entry)
            case "checkpoint_selected":
                return replace(state, checkpoint=body["checkpoint_id"])
            case "model_switched":
                return replace(state, dialect=body["upstream"])
            case "state_changed":
                return replace(state, note=body["state"]["session"].get("note"))
        return state

    def _checkpoint(self, state: State, entry: Any) -> State:
        """A new checkpoint begins behind the one before, ends right before a user message, and leaves the newest turn whole."""
        body = entry["body"]
        through, kept = body["covers_through_seq"], body["first_kept_seq"]
        before = self.covered(state)
        messages = self.messages(state)
        assert kept == through + 1
        assert kept in messages, "the boundary is a message of the line"
        assert self.entries[kept]["kind"] == "user_message"
        covers = [seq for seq in messages if seq <= through]
        assert set(covers) > before, "a boundary moves forward"
        split = {self.entries[seq]["turn"] for seq in covers} & {self.entries[seq]["turn"] for seq in messages if seq > through}
        assert split <= {None}, "no turn is split"
        assert body["tokens_after"] < body["tokens_before"]
        assert body["history_message_count"] == self.messages_ever
        assert body["replaces"] == state.checkpoint
        known = Known(entry["seq"], through, frozenset([seq for seq in state.line if seq <= through]))
        self.checkpoints[body["checkpoint_id"]] = known
        return replace(state, checkpoint=body["checkpoint_id"])

    def fork(self, id: str, at_seq: int) -> "Told":
        """What holds of a fork before its own first entry."""
        states = {seq: one for seq, one in self.states.items() if seq <= at_seq}
        entries = {seq: one for seq, one in self.entries.items() if seq <= at_seq}
        turns = {key: replace(one) for key, one in self.turns.items() if one.settled is not None and one.settled <= at_seq}
        known = {key: one for key, one in self.checkpoints.items() if one.seq <= at_seq}
        return Told(id, states, entries, turns, known, {seq for seq in self.redacted if seq <= at_seq}, at_seq)


def words(entry: Any) -> str:
    """The texts of an entry, joined; none of one that was redacted."""
    return "".join([part["text"] for part in (entry["body"] or {}).get("parts", ()) if part["type"] == "text"])
