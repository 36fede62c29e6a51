"""A summary as a model wrote it, read: its form first, its cites and bounds afterwards (X-54, http-api 7).

Between the two the service measures the request again, so that the outcome of a summary that fails both ways is `not_smaller`.
"""

from collections.abc import Mapping
from typing import Any, Literal

from app.entries import lossless
from app.entries.errors import LedgerError
from app.entries.summaries import CITES_PER_FACT_MAX, FACT_CHARS_MAX, FACTS_PER_FIELD_MAX, FIELDS, SUMMARY_BYTES_MAX, Fact, Summary

Refusal = Literal["blank", "cites", "too_long"]

_FENCE = "```"
_PROSE = "summary"


class SummaryRefused(LedgerError):
    """A summary that no checkpoint is made of; `reason` is a word of `compaction_failed`."""

    code = "summary-refused"

    def __init__(self, reason: Refusal) -> None:
        super().__init__(f"The summary was refused: {reason}.")
        self.reason: Refusal = reason


def parse_summary(text: str, from_seq: int, through_seq: int) -> Summary:
    """The facts of the JSON object that was asked for; words of another form are one fact without cites. Raises `SummaryRefused` (`blank`)."""
    facts = _structured(text.strip())
    if facts is None:
        facts = {_PROSE: (Fact(text.strip()),)}
    told = {name: kept for name in FIELDS if (kept := tuple([fact for fact in facts.get(name, ()) if fact.text.strip()]))}
    if not told:
        raise SummaryRefused("blank")
    return Summary(told, from_seq, through_seq)


def check_summary(summary: Summary) -> Summary:
    """The same summary, within its bounds. Raises `SummaryRefused`: `cites` for a fact that cites nothing, too much, or what is not covered."""
    if not _is_prose(summary):
        for facts in summary.facts.values():
            for fact in facts:
                within = all(summary.from_seq <= seq <= summary.through_seq for seq in fact.cites)
                if not within or not 1 <= len(fact.cites) <= CITES_PER_FACT_MAX:
                    raise SummaryRefused("cites")
        if any(len(facts) > FACTS_PER_FIELD_MAX or any(len(fact.text) > FACT_CHARS_MAX for fact in facts) for facts in summary.facts.values()):
            raise SummaryRefused("too_long")
    if len(summary.canonical) > SUMMARY_BYTES_MAX:
        raise SummaryRefused("too_long")
    return summary


def _is_prose(summary: Summary) -> bool:
    """Whether it is one fact that stands for the whole range."""
    return list(summary.facts) == [_PROSE] and [fact.cites for fact in summary.facts[_PROSE]] == [()]


def _structured(text: str) -> Mapping[str, tuple[Fact, ...]] | None:
    """The facts by field; None for anything but one object of lists of `{"text", "cites"}`, bare or in one code fence."""
    try:
        value = lossless.read(_unfenced(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not set(value) <= set(FIELDS):
        return None
    found = {name: _facts(ones) for name, ones in value.items()}
    read = {name: facts for name, facts in found.items() if facts is not None}
    return read if len(read) == len(found) else None


def _unfenced(text: str) -> str:
    """What one code fence around all of the text holds; the text where there is none."""
    first, _, rest = text.partition("\n")
    language = first.removeprefix(_FENCE).strip()
    return rest.removesuffix(_FENCE) if first.startswith(_FENCE) and rest.endswith(_FENCE) and (not language or language.isalpha()) else text


def _facts(value: Any) -> tuple[Fact, ...] | None:
    if not isinstance(value, list):
        return None
    facts = [Fact(one["text"], tuple(one["cites"])) for one in value if _is_fact(one)]
    return tuple(facts) if len(facts) == len(value) else None


def _is_fact(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"text", "cites"}
        and isinstance(value["text"], str)
        and isinstance(value["cites"], list)
        and all(type(seq) is int for seq in value["cites"])
    )
