"""The body of `pruned`: which tool results are told in fewer words from here on (X-58). The results themselves stay as they are."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

from app.entries import lossless

Form = Literal["shortened", "cleared"]
Staleness = Literal["superseded", "disposable", "old"]


class PrunedResult(NamedTuple):
    """The result at `seq`: `shortened` keeps its beginning and its end, `cleared` names it alone. `why`: a later call tells more of the same
    target, its tool says that results are of no further use, or it is old and large."""

    seq: int
    form: Form
    why: Staleness


@dataclass(frozen=True, slots=True)
class Pruned:
    """Adds to what the current line's earlier ones say; of two words on one result the later counts. Tokens are of the whole request."""

    kind: ClassVar[str] = "pruned"

    results: tuple[PrunedResult, ...]
    tokens_before: int
    tokens_after: int

    def encode(self) -> str:
        results = [[one.seq, one.form, one.why] for one in self.results]
        return lossless.dumps({"results": results, "tokens_before": self.tokens_before, "tokens_after": self.tokens_after})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        return cls(tuple([PrunedResult(*one) for one in value["results"]]), value["tokens_before"], value["tokens_after"])
