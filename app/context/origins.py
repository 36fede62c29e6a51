"""Origins are checked before any dispatch: a map that does not fit its messages or its history is refused, typed (S2-39)."""

from collections.abc import Sequence
from itertools import pairwise

from app.context.draft import CompactionOrigin, EphemeralOrigin, History, Origin, ToolRepair
from app.context.snapshots import RuntimeContext
from app.context.sources import SourceMessage
from app.entries.compactions import Checkpoint
from app.entries.errors import LedgerError


class InvalidOrigins(LedgerError):
    """The sources of a request contradict themselves; nothing is sent."""

    code = "invalid-origins"


def check_origins(origins: Sequence[Origin], messages: int, history_message_count: int) -> None:
    """Raises `InvalidOrigins` for a wrong length, a count that is no natural number, or an index outside the history.

    `messages` is the length of the neutral list; indexes count from 0 and stay below `history_message_count`.
    """
    if type(history_message_count) is not int or history_message_count < 0:
        raise InvalidOrigins("The count of history messages is no natural number.")
    if len(origins) != messages:
        raise InvalidOrigins(f"There are {len(origins)} origins for {messages} messages.")
    indexes = [origin[1] for origin in origins if isinstance(origin, History)]
    if len(set(indexes)) != len(indexes):
        raise InvalidOrigins("One message of the history is the origin of two.")
    if len(indexes) < len(origins):
        _check_boundaries(origins, indexes)
        indexes += [origin.message_index for origin in origins if isinstance(origin, ToolRepair | RuntimeContext)]
        indexes += [origin.summarized_before for origin in origins if isinstance(origin, CompactionOrigin)]
        if any(origin.after_seq < 0 for origin in origins if isinstance(origin, EphemeralOrigin)):
            raise InvalidOrigins("The origin of a message that is not stored names no position.")
    if indexes and not (set(map(type, indexes)) == {int} and min(indexes) >= 0 and max(indexes) < history_message_count):
        raise InvalidOrigins("The origin of a message lies outside the history.")


def _check_boundaries(origins: Sequence[Origin], indexes: Sequence[int]) -> None:
    """One summary at most, and nothing of what it stands for beside it (S1-14, S1-26)."""
    boundaries = [origin.summarized_before for origin in origins if isinstance(origin, CompactionOrigin)]
    if len(boundaries) > 1:
        raise InvalidOrigins("Two summaries stand for the same messages.")
    if boundaries and any(index < boundaries[0] for index in indexes):
        raise InvalidOrigins("A message is sent that a summary stands for.")


def check_checkpoint(body: Checkpoint, history_message_count: int, messages: Sequence[SourceMessage]) -> None:
    """Raises `InvalidOrigins` for a checkpoint that the history contradicts (vector 10).

    `history_message_count` is of the ledger now, `messages` the window, oldest first: where it holds the boundary, that is a user message's.
    """
    boundary, counted = body.first_kept_index, body.history_message_count
    if not 0 < boundary < counted <= history_message_count or body.covers_through_seq >= body.first_kept_seq:
        raise InvalidOrigins("The boundary of a checkpoint lies outside the history.")
    if not any(fact.text.strip() for facts in body.summary.facts.values() for fact in facts):
        raise InvalidOrigins("The summary of a checkpoint is blank.")
    first = next((entry for entry, _ in messages if entry.seq == body.first_kept_seq), None)
    if first is not None and (first.kind != "user_message" or first.message_index != boundary):
        raise InvalidOrigins("The boundary of a checkpoint is no user message.")


def check_replaced(body: Checkpoint, earlier: Checkpoint) -> None:
    """Raises `InvalidOrigins` for a checkpoint that cannot take the place of the one in force: boundaries move forward (X-45)."""
    if body.checkpoint_id == earlier.checkpoint_id:
        raise InvalidOrigins("Two checkpoints have the same id.")
    if body.first_kept_index <= earlier.first_kept_index or body.covers_through_seq <= earlier.covers_through_seq:
        raise InvalidOrigins("The boundary of a checkpoint does not lie behind that of the one before it.")


def check_anchors(user_turns: Sequence[int], user_messages: int) -> None:
    """Raises `InvalidOrigins` unless the user turns that snapshots are anchored to are turns of the history and strictly rise (X-71).

    `user_turns` count from 0 and stay below `user_messages`, the actual user messages; one for each snapshot, in their order.
    """
    if any(not 0 <= turn < user_messages for turn in user_turns):
        raise InvalidOrigins("A snapshot is anchored to a user turn that is not there.")
    if any(later <= earlier for earlier, later in pairwise(user_turns)):
        raise InvalidOrigins("The user turns that snapshots are anchored to do not rise.")
