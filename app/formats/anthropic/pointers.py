"""Where neutral messages and their parts stand in folded messages."""

from collections.abc import Callable, Sequence
from functools import partial

from app.formats.protocols import Pointer

Shape = Sequence[tuple[str, int]]
"""A pointer below the wire message's own, and the part's position in the neutral message."""

Place = tuple[int, int, Shape | None]
"""The wire message, the first block there, and the parts; None for one text that is a block itself. Wire message -1: nothing was sent."""

TEXT_RESULT: Shape = (("/content", 0),)
"""Stands for the shape of a result of one text, which is its string content."""

_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Makes a `Pointer` from its three fields at once: a third of the time of a named constructor, several hundred times a body."""


def pointers(places: Sequence[Place]) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order.

    A message that shares its wire message with others is named by its first block, one that has it for itself by the message.
    """
    shared: dict[int, int] = {}
    for at, _, _ in places:
        shared[at] = shared.get(at, 0) + 1
    found: list[Pointer] = []
    for source, (at, first, shape) in enumerate(places):
        if at < 0:
            continue
        base = f"/messages/{at}"
        block = f"{base}/content/{first}"
        found.append(_point((block if shared[at] > 1 else base, source, None)))
        if shape is None:
            found.append(_point((block, source, 0)))
        elif shape is TEXT_RESULT:
            found.append(_point((block + "/content", source, 0)))
        else:
            for below, part in shape:
                found.append(_point((base + below, source, part)))
    return tuple(found)
