"""The body of `redaction`: that the content of an entry was erased, and what stays of it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from app.entries import lossless


@dataclass(frozen=True, slots=True)
class Redaction:
    """The content of the entry `seq`, of kind `redacted_kind`, was erased for a `reason` that somebody gave. What stays of it: ids and names
    of its calls, in order (`tool_calls`), or of the call that it was the result of."""

    kind: ClassVar[str] = "redaction"

    seq: int
    reason: str
    redacted_kind: str
    tool_calls: tuple[tuple[str, str], ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    def encode(self) -> str:
        value: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kind"}
        return lossless.dumps({**value, "tool_calls": [list(one) for one in self.tool_calls]})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        return cls(**{**value, "tool_calls": tuple([(one[0], one[1]) for one in value["tool_calls"]])})
