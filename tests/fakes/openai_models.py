"""What OpenAI's endpoints know of a model by its name (wire-format notes 1.1). Of a name that is not here nothing is assumed."""

import re
from collections.abc import Set

EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})

_DATED = r"(-\d{4}-\d\d-\d\d)?"
_FAMILIES: tuple[tuple[str, Set[str]], ...] = (
    (r"o\d.*", {"low", "medium", "high"}),
    (r".*-chat-latest", {"medium"}),
    (rf"gpt-5-pro{_DATED}", {"high"}),
    (rf"gpt-5\.[2-9]-pro{_DATED}", {"medium", "high", "xhigh"}),
    (rf"gpt-5(-mini|-nano)?{_DATED}", {"minimal", "low", "medium", "high"}),
    (r"gpt-5\.6.*", EFFORTS - {"minimal"}),
    (r"gpt-(6-astra|6\.1-sol|6\.2-astra).*", EFFORTS - {"none", "minimal"}),
)
_PLAIN = re.compile(r"(gpt-[34]|chatgpt-4).*")
_ALWAYS = re.compile(rf"o\d.*|gpt-6.*|gpt-5(-mini|-nano|-pro)?{_DATED}")
_UNLESS_NONE = re.compile(r"gpt-5\.[5-9].*")
_WHEN_ASKED = re.compile(r"gpt-5\.[1-4].*")
_UPDATES = re.compile(r"(o\d|gpt-[345]|chatgpt-).*")


def efforts(model: str) -> Set[str]:
    """The reasoning efforts that the model takes."""
    return next((taken for pattern, taken in _FAMILIES if re.fullmatch(pattern, model)), EFFORTS)


def never_reasons(model: str) -> bool:
    """Whether the model is one of those that knows no reasoning, and so no encrypted content."""
    return _PLAIN.fullmatch(model) is not None


def samples(model: str, effort: str | None) -> bool:
    """Whether the model takes sampling parameters at that effort: while it reasons it does not."""
    if _ALWAYS.fullmatch(model):
        return False
    if _UNLESS_NONE.fullmatch(model):
        return effort == "none"
    return not _WHEN_ASKED.fullmatch(model) or effort in (None, "none")


def takes_updates(model: str) -> bool:
    """Whether a `configuration_update` item may stand in the input: from gpt-6 on (3.1)."""
    return _UPDATES.fullmatch(model) is None
