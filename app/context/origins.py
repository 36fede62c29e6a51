"""Origins are checked before any dispatch: a map that does not fit its messages or its history is refused, typed (S2-39)."""

from collections.abc import Sequence

from app.context.draft import EphemeralOrigin, History, Origin, ToolRepair
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
    seen: set[int] = set()
    for position, origin in enumerate(origins):
        if isinstance(origin, (History, ToolRepair)):
            index = origin.message_index
            if type(index) is not int or not 0 <= index < history_message_count:
                raise InvalidOrigins(f"The origin of message {position} lies outside the history.")
            if isinstance(origin, History):
                if index in seen:
                    raise InvalidOrigins(f"The origin of message {position} is another message's too.")
                seen.add(index)
        elif isinstance(origin, EphemeralOrigin) and (type(origin.after_seq) is not int or origin.after_seq < 0):
            raise InvalidOrigins(f"The origin of message {position} names no position.")
