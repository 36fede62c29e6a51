"""Which pictures are named instead of sent because a request holds too many of them, or some that are too large beside so many.

Of too many, the oldest go, a quarter of the limit at a time, so that the prefix of later calls changes seldom. Where a provider's blocks
are bound to their prefix, nothing changes in the middle of a turn: what a round of calls has seen stands, and a picture for which there
is no room any more is the one that is not shown (wire-format notes 4.2 and 4.3).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.context.draft import Item
from app.entries.parts import Media
from app.models.wire_rules import WireRules

TOO_MANY = "too_many_images"
TOO_LARGE = "image_too_large"

Place = tuple[int, int]
"""A message's position in the list, and a part's position in the message."""


class _Picture(NamedTuple):
    place: Place
    large: bool
    settled: bool


def left_out(placed: Sequence[Item], rules: WireRules, sent: Callable[[Media], bool]) -> dict[Place, str]:
    """Place → why. `sent`: whether a picture by itself could be sent; O(parts)."""
    if not (rules.images_max or rules.many_images):
        return {}
    pictures = _pictures(placed, rules, sent)
    found: dict[Place, str] = {}
    settled = [one for one in pictures if one.settled]
    if rules.many_images and len(pictures) > rules.many_images and any(one.large for one in pictures):
        if len(settled) > rules.many_images:
            found |= {one.place: TOO_LARGE for one in pictures if one.large}
        else:
            found |= {one.place: TOO_MANY for one in pictures[rules.many_images :]}
    most = rules.images_max
    rest = [one for one in pictures if one.place not in found]
    if most and len(rest) > most:
        old = [one for one in rest if one.settled]
        step = max(1, most // 4)
        spare = -(-max(0, len(old) - most) // step) * step
        found |= {one.place: TOO_MANY for one in (*old[:spare], *rest[spare:][most:])}
    return found


def _pictures(placed: Sequence[Item], rules: WireRules, sent: Callable[[Media], bool]) -> list[_Picture]:
    """The pictures that would be sent, oldest first."""
    last_input = len(placed)
    if rules.prefix_bound:
        inputs = [at for at, item in enumerate(placed) if item.message is not None and item.message.role in ("user", "agent")]
        last_input = inputs[-1] if inputs else -1
    found: list[_Picture] = []
    for at, item in enumerate(placed):
        if item.message is None or item.message.role == "assistant":
            continue
        for position, part in enumerate(item.message.parts):
            if type(part) is Media and part.kind == "image" and sent(part):
                blob = part.blob
                side = max(blob.width or 0, blob.height or 0) if blob is not None else 0
                found.append(_Picture((at, position), side > rules.many_image_pixels_max, at <= last_input))
    return found
