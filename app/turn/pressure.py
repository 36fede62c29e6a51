"""Whether a main call that is about to press on its window may be preceded by a compaction (X-48). Told from the turn's entries alone."""

from app.config.limits import COMPACTION_PIECES_MAX
from app.turn.life import Life
from app.turn.moves import Call

ATTEMPTS_MAX = 2
"""In one preflight. The second keeps the newest turn alone, and is made only where the request is still over the hard limit."""

PRESSED_STEPS_MAX = 2
"""So many pressed steps of an agent in a row, and no more is compacted for it until one falls below the mark or a new prompt starts."""


def next_attempt(life: Life, call: Call, *, fits: bool) -> int | None:
    """The number of the attempt that may be made now before that call, from 1; None where none may. `fits`: the request may be sent as it is.

    Steps are in a row where the same agent made them: what others send in between is another request. A piece that was applied is not the end of
    its attempt: the next piece goes on from there.
    """
    before = _steps_of(life, life.runs[call.run].policy.name)[-PRESSED_STEPS_MAX:]
    if len(before) == PRESSED_STEPS_MAX and pressed_steps(life).issuperset(before):
        return None
    asked = [one for one in life.compactions if one.step_index == call.step_index and one.trigger == "automatic"]
    ended = sum(not one.goes_on for one in asked)
    if asked and (fits or ended >= ATTEMPTS_MAX or len(asked) >= COMPACTION_PIECES_MAX):
        return None
    return ended + 1


def pressed_steps(life: Life) -> set[int]:
    """The steps before which a compaction was asked for, or whose call went out while one was due."""
    asked = {one.step_index for one in life.compactions if one.step_index is not None and one.trigger == "automatic"}
    return asked | {call.step_index for call in life.calls if call.pressed}


def _steps_of(life: Life, agent: str | None) -> list[int]:
    """The steps that an agent made in the turn, in all of its runs, oldest first."""
    return sorted(call.step_index for run in life.runs if run.policy.name == agent for call in run.calls if call.main)
