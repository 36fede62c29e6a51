"""What a picture costs in tokens, from its size in pixels and a rule that is data (wire-format notes 7.4).

A rule is a few words, `WireRules.image_counting`:

    (empty)                          `image_tokens` for each picture, whatever its size
    patches SIDE EDGE CAP FACTOR     squares of SIDE pixels, after the longer edge was brought down to EDGE (0: it is not), at most CAP,
                                     times FACTOR
    tiles BASE TILE                  fitted into 2048 × 2048, the shorter edge brought down to 768: BASE, and TILE for each 512-pixel tile
    squares WHOLE SIDE TOKENS        TOKENS for a picture whose edges are at most WHOLE pixels, else for each square of SIDE pixels
"""

import re
from fractions import Fraction
from functools import lru_cache

_NUMBER = r"\d{1,9}(?:\.\d{1,4})?"
FORM = re.compile(rf"|patches [1-9]\d{{0,4}} \d{{1,6}} [1-9]\d{{0,8}} {_NUMBER}|tiles {_NUMBER} {_NUMBER}|squares \d{{1,6}} [1-9]\d{{0,4}} {_NUMBER}")
"""What a rule has to match, whole."""

_FIT, _SHORT, _TILE = 2048, 768, 512


def image_tokens(counting: str, unsized_tokens: int, width: int | None, height: int | None) -> int:
    """The estimate for one picture of that size in pixels; `unsized_tokens` where the size is not known, or the rule asks for none."""
    if not counting or not width or not height:
        return unsized_tokens
    kind, figures = _read(counting)
    if kind == "patches":
        side, edge, cap, factor = figures
        scale = min(Fraction(1), edge / max(width, height)) if edge else Fraction(1)
        return _up(min(cap, Fraction(_cells(width, height, scale, side))) * factor)
    if kind == "tiles":
        base, tile = figures
        scale = min(Fraction(1), Fraction(_FIT, max(width, height)))
        scale = min(scale, Fraction(_SHORT, min(width, height)))
        return _up(base + tile * _cells(width, height, scale, Fraction(_TILE)))
    whole, side, tokens = figures
    return _up(tokens if max(width, height) <= whole else tokens * _cells(width, height, Fraction(1), side))


def _cells(width: int, height: int, scale: Fraction, side: Fraction) -> int:
    """Squares of `side` pixels that cover the scaled picture."""
    return _up(width * scale / side) * _up(height * scale / side)


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


@lru_cache(maxsize=256)
def _read(counting: str) -> tuple[str, tuple[Fraction, ...]]:
    kind, *figures = counting.split()
    return kind, tuple(map(Fraction, figures))
