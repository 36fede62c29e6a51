"""Bodies of the folds by which older messages are stood for by a summary, and their JSON text. The new line stands beside its entry.

`compaction_requested` is durable before anything is asked of anybody (S3-31); a `checkpoint` or a `compaction_failed` follows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from app.entries import lossless
from app.entries.deltas import Usage
from app.entries.summaries import Summary
from app.entries.trace import usage_from_json, usage_to_json

Trigger = Literal["automatic", "manual", "overflow"]
DriverKind = Literal["model", "excerpt"]
Outcome = Literal["compacted", "nothing_to_compact", "not_smaller", "declined_floor", "failed"]


@dataclass(frozen=True, slots=True)
class CompactionRequested:
    """Somebody is about to summarise what lies before `first_kept_seq`, the first user message that stays; `covers_through_seq` is the seq before.

    `attempt` counts in one preflight from 1. `piece`: it covers a part of what its attempt is to cover, because the summarizer can be told of no
    more at once. `step_index` is of the main call that waits for it, None for a manual one. `tokens_before` is
    what the whole request weighs. `call_id` names the summary's call, None for a driver that calls nobody.
    """

    kind: ClassVar[str] = "compaction_requested"

    trigger: Trigger
    driver: DriverKind
    covers_through_seq: int
    first_kept_seq: int
    keep_recent_tokens: int
    tokens_before: int
    attempt: int = 1
    step_index: int | None = None
    call_id: str | None = None
    piece: bool = False

    def encode(self) -> str:
        return lossless.dumps({name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kind"})

    @classmethod
    def decode(cls, payload: str) -> Self:
        return cls(**lossless.read(payload))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A summary that was accepted (X-52). `covers_through_seq` is the last entry that it stands for, `first_kept_seq` and `first_kept_index` the
    seq and the `message_index` of the first user message behind it: the boundary that the source map calls `summarized_before` (T-15).

    `history_message_count`: message entries of the ledger when it was made. `summary` is the body of the artifact whose digest is `artifact`.
    `replaces` is the checkpoint whose summary was part of the input. `agents`: who said what is covered, by name (`""` without one);
    `user_messages`: how many of the line are covered, so that user turns go on from there (S2-15). `usage` is the summary call's
    alone, with `usage_source`. `tokens_before` and `tokens_after` are of the whole request.
    """

    kind: ClassVar[str] = "checkpoint"

    checkpoint_id: str
    requested_seq: int
    covers_through_seq: int
    first_kept_seq: int
    first_kept_index: int
    history_message_count: int
    summary: Summary
    artifact: str
    driver: DriverKind
    trigger: Trigger
    tokens_before: int
    tokens_after: int
    upstream: str | None = None
    model: str | None = None
    call_id: str | None = None
    usage: Usage | None = None
    usage_source: Literal["reported", "estimated"] | None = None
    replaces: str | None = None
    agents: tuple[str, ...] = ()
    user_messages: int = 0

    def encode(self) -> str:
        value: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("kind", "usage_source")}
        summary, usage = self.summary.to_json(), usage_to_json(self.usage, self.usage_source)
        return lossless.dumps({**value, "summary": summary, "usage": usage, "agents": list(self.agents)})

    @classmethod
    def decode(cls, payload: str) -> Self:
        """Raises `KeyError` or `TypeError` for a body of another form."""
        value: Mapping[str, Any] = lossless.read(payload)
        usage = value["usage"]
        read = {"summary": Summary.from_json(value["summary"]), "usage": usage_from_json(usage), "agents": tuple(value["agents"])}
        return cls(**{**value, **read, "usage_source": None if usage is None else usage["source"]})


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """What was requested by `requested_seq` changed nothing. `reason` is a word for why, never what a model said.

    The words: `upstream`, `truncated`, `tool_call`, `blank`, `not_smaller`, `cites`, `too_long`, `cancelled`, `interrupted`, `over_budget`,
    `timeout`, `not_sendable`.
    """

    kind: ClassVar[str] = "compaction_failed"

    requested_seq: int
    outcome: Literal["not_smaller", "failed"]
    reason: str
    usage: Usage | None = None
    usage_source: Literal["reported", "estimated"] | None = None

    def encode(self) -> str:
        usage = usage_to_json(self.usage, self.usage_source)
        return lossless.dumps({"requested_seq": self.requested_seq, "outcome": self.outcome, "reason": self.reason, "usage": usage})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        usage = value["usage"]
        source = None if usage is None else usage["source"]
        return cls(value["requested_seq"], value["outcome"], value["reason"], usage_from_json(usage), source)


@dataclass(frozen=True, slots=True)
class CheckpointSelected:
    """Somebody chose what stands for the older messages: a checkpoint, or none (None). `redacted`: because an entry was that it covered."""

    kind: ClassVar[str] = "checkpoint_selected"

    checkpoint_id: str | None
    redacted: bool = False

    def encode(self) -> str:
        return lossless.dumps({"checkpoint_id": self.checkpoint_id, "redacted": self.redacted})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        return cls(value["checkpoint_id"], value["redacted"])
