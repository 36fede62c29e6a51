"""Words of effort, and the one that a model takes when it is asked for another."""

EFFORTS: tuple[str, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The neutral words, from least to most."""


def nearest_effort(wanted: str, taken: str) -> str | None:
    """The word of `taken` (separated by blanks) that is nearest to the wanted one, the lesser of two as near; None where none is taken."""
    words = [word for word in EFFORTS if word in taken.split()]
    place = EFFORTS.index(wanted)
    return min(words, key=lambda word: abs(EFFORTS.index(word) - place), default=None)
