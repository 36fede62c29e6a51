"""The continuity summary: what a checkpoint says in the place of the messages that it covers (X-54).

Facts by field, each with the seqs of the entries that it is told from. The same bounded body stands in the checkpoint's entry and in the
artifact that the entry names by digest (X-55).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from app.entries import lossless

FIELDS: tuple[str, ...] = (
    "summary",
    "objective",
    "acceptance_criteria",
    "scope",
    "constraints",
    "permissions",
    "plan",
    "state",
    "pending_work",
    "waits",
    "questions",
    "decisions",
    "rejected_alternatives",
    "failures",
    "do_not_retry",
    "files",
    "validation",
    "blockers",
    "next_action",
)
"""In the order in which a model is told of them. `permissions` are references to recorded decisions alone; `summary` is prose."""

SUMMARY_MEDIA_TYPE = "application/vnd.context-ledger.summary+json"
"""Of the blob that is the artifact of a checkpoint."""

FACTS_PER_FIELD_MAX = 64
FACT_CHARS_MAX = 1_000
CITES_PER_FACT_MAX = 16
SUMMARY_BYTES_MAX = 64 * 1024
"""Of the canonical bytes."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence and the seqs of the entries that it is told from, 1 to `CITES_PER_FACT_MAX`; none where it is told from all that is covered."""

    text: str
    cites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Facts by field of `FIELDS`; `from_seq` … `through_seq` is the range that they cite.

    `salt` is chance, in hex: it keeps a short summary that was erased from being confirmed by the digest that is left of it.
    """

    facts: Mapping[str, tuple[Fact, ...]]
    from_seq: int
    through_seq: int
    salt: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "facts": {name: [{"text": fact.text, "cites": list(fact.cites)} for fact in self.facts[name]] for name in FIELDS if self.facts.get(name)},
            "from_seq": self.from_seq,
            "through_seq": self.through_seq,
            "salt": self.salt,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The summary that `to_json` spelled. Raises `KeyError` or `TypeError` for another form."""
        facts = {name: tuple([Fact(one["text"], tuple(one["cites"])) for one in ones]) for name, ones in value["facts"].items()}
        return cls(facts, value["from_seq"], value["through_seq"], value["salt"])

    def cites(self, fact: Fact) -> tuple[int, ...]:
        """What one of the facts cites; one that stands for the whole range where that begins and ends."""
        return fact.cites or tuple(dict.fromkeys((self.from_seq, self.through_seq)))

    @property
    def canonical(self) -> bytes:
        """The bytes of the artifact: the JSON text of the summary, in UTF-8; lone surrogates as they are."""
        return lossless.dumps(self.to_json()).encode("utf-8", "surrogatepass")
