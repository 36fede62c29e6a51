"""What Gemini's endpoint knows of a model by its name (wire-format notes 5.1, 5.2 and 8). Of a name that is not here nothing is assumed."""

import re
from collections.abc import Set

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?-.*")
_LEVELS: tuple[tuple[str, Set[str]], ...] = (
    (r"gemini-4-neon.*", {"LOW", "MEDIUM", "HIGH", "XHIGH"}),
    (r"gemini-4-.*|gemini-3\.[78]-flash.*|gemini-3(\.\d+)?-pro.*", {"LOW", "MEDIUM", "HIGH"}),
)
_ALWAYS_THINKS = re.compile(r"gemini-2\.5-pro.*|gemini-3(\.\d+)?-pro.*")


def version(model: str) -> tuple[int, int] | None:
    """Such as (2, 5); None for a name that tells none."""
    found = _VERSION.fullmatch(model)
    return None if found is None else (int(found[1]), int(found[2] or 0))


def since(model: str, major: int) -> bool:
    """Whether the model is of that generation or a later one; false where its name does not tell."""
    known = version(model)
    return known is not None and known[0] >= major


def thinks(model: str) -> bool:
    """False for the generations before thinking (2.5)."""
    known = version(model)
    return known is None or known >= (2, 5)


def levels(model: str) -> Set[str]:
    """The thinking levels that the model takes; none before 3."""
    known = version(model)
    if known is not None and known < (3, 0):
        return set()
    return next((taken for pattern, taken in _LEVELS if re.fullmatch(pattern, model)), {"MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"})


def cannot_stop_thinking(model: str) -> bool:
    """Whether a budget of 0 is refused."""
    return _ALWAYS_THINKS.fullmatch(model) is not None


def wants_signatures(model: str) -> bool:
    """Whether a call of the current turn without its signature is refused: from 3 on, but not by the models that draw."""
    return since(model, 3) and "-image" not in model
