"""Families of tokenizers that are not public: how many of their tokens stand for one that is counted, and how far that may be off.

Entries are counted once, in tokens of `o200k_base`, when they are appended (decision 3). For a model of another family that count
is scaled by the family's factor; the band says by what fraction the result may still be too low (wire-format notes 7.2, 7.5; decision 16).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from app.models.catalogue import lookup, plain_name


@dataclass(frozen=True, slots=True)
class Family:
    """`factor`: tokens of the family for one of `o200k_base`. `error_band`: a fraction. `evidence`: why these figures."""

    name: str
    factor: Fraction
    error_band: float
    evidence: str

    @property
    def estimator(self) -> str:
        """Its name as targets, manifests and reports give it."""
        return HEURISTIC + self.name


HEURISTIC = "heuristic:"

OTHER = "other"
"""The family of every model of which nothing is known."""

_ROWS = (
    Family("gpt-6", Fraction(1), 0.10, "no public encoding; o200k_base is the stand-in, with the margin of notes 7.5 for tiktoken"),
    Family("claude", Fraction("1.15"), 0.15, "models up to 4.6: 1.14 over 14 recorded answers of 2,900 tokens, 1.15 over 38 recorded requests"),
    Family("claude-4.7", Fraction("1.5"), 0.25, "models from 4.7 on: 30 % more than older ones for the same text (notes 7.2)"),
    Family("gemini", Fraction("1.1"), 0.15, "1.09 over 7 recorded answers of 1,300 tokens; 4 characters a token (notes 7.2)"),
    Family("deepseek", Fraction("1.05"), 0.20, "1.01 over 2 recorded answers of 700 tokens"),
    Family("mistral", Fraction("1.15"), 0.25, "1.08 and 1.21 in 2 recorded answers of 160 tokens"),
    Family(OTHER, Fraction(1), 0.25, "nothing is known; the margin of notes 7.5 for a ratio"),
)

FAMILIES: Mapping[str, Family] = MappingProxyType({family.name: family for family in _ROWS})

CLAUDE_UP_TO_4_6 = r"claude-(?:instant|[123](?!\d)|4(?:-[0-6])?-[a-z]|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?!\d|-\d))"
"""Plain names of the Claude models before 4.7, whichever way round they say family and version."""

_BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"gpt-6"), "gpt-6"),
    (re.compile(CLAUDE_UP_TO_4_6), "claude"),
    (re.compile(r"claude-"), "claude-4.7"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"deepseek-"), "deepseek"),
    (re.compile(r"(?:mistral|ministral|mixtral|magistral|codestral|devstral|pixtral)-"), "mistral"),
)
"""Beginnings of plain names → families, for models that the catalogue does not list; the first that fits."""


def family_of(model: str) -> Family:
    """The family of a model whose tokenizer is not public, by its row or by its name."""
    row = lookup(model)
    if row is not None:
        return FAMILIES.get(row.family, FAMILIES[OTHER])
    name = plain_name(model)
    return FAMILIES[next((family for pattern, family in _BY_NAME if pattern.match(name)), OTHER)]
