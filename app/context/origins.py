"""Origins are checked before any dispatch: a map that does not fit its messages or its history is refused, typed (S2-39)."""

from collections.abc import Sequence
from itertools import pairwise

from app.context.draft import EphemeralOrigin, History, Origin, ToolRepair
from app.context.snapshots import RuntimeContext
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
        indexes += [origin.message_index for origin in origins if isinstance(origin, ToolRepair | RuntimeContext)]
        if any(origin.after_seq < 0 for origin in origins if isinstance(origin, EphemeralOrigin)):
            raise InvalidOrigins("The origin of a message that is not stored names no position.")
    if indexes and not (set(map(type, indexes)) == {int} and min(indexes) >= 0 and max(indexes) < history_message_count):
        raise InvalidOrigins("The origin of a message lies outside the history.")


def check_anchors(user_turns: Sequence[int], user_messages: int) -> None:
    """Raises `InvalidOrigins` unless the user turns that snapshots are anchored to are turns of the history and strictly rise (X-71).

    `user_turns` count from 0 and stay below `user_messages`, the actual user messages; one for each snapshot, in their order.
    """
    if any(not 0 <= turn < user_messages for turn in user_turns):
        raise InvalidOrigins("A snapshot is anchored to a user turn that is not there.")
    if any(later <= earlier for earlier, later in pairwise(user_turns)):
        raise InvalidOrigins("The user turns that snapshots are anchored to do not rise.")
