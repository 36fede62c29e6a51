"""The neutral list: messages with their origins, the system sections, and the request that a wire format writes."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from app.context.snapshots import RuntimeContext
from app.context.sources import Tool
from app.entries.parts import Part
from app.models.resolve import Target

Role = Literal["user", "assistant", "tool", "agent"]


class History(NamedTuple):
    """A message entry of the ledger. A named tuple for the reason that `NeutralMessage` is one."""

    seq: int
    message_index: int

    def to_json(self) -> dict[str, Any]:
        return {"type": "history", "message_index": self.message_index, "seq": self.seq}


@dataclass(frozen=True, slots=True)
class ToolRepair:
    """A request-only stand-in for a missing result; `message_index` is the answer's that made the call, the id the ledger's."""

    message_index: int
    tool_call_id: str

    def to_json(self) -> dict[str, Any]:
        return {"type": "tool-repair", "message_index": self.message_index, "tool_call_id": self.tool_call_id}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message that a renderer or a pass made; it is no entry. `seq` is the entry that its content is of, if it is of one."""

    renderer: str
    seq: int | None = None

    def to_json(self) -> dict[str, Any]:
        found = {"type": "rendered", "renderer": self.renderer}
        return found if self.seq is None else found | {"seq": self.seq}


@dataclass(frozen=True, slots=True)
class EphemeralOrigin:
    """A message that is not stored: its position only. `index` counts the ephemeral messages of the call and stays inside."""

    after_seq: int
    index: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"type": "ephemeral", "after_seq": self.after_seq}


@dataclass(frozen=True, slots=True)
class ContinuationOrigin:
    """The message that tells why the call is made; `receipt_seq` is the entry that caused it."""

    reason: str
    receipt_seq: int | None

    def to_json(self) -> dict[str, Any]:
        return {"type": "continuation", "reason": self.reason, "receipt_seq": self.receipt_seq}


@dataclass(frozen=True, slots=True)
class CompactionOrigin:
    """The summary that stands for everything before the message number `summarized_before` (T-15)."""

    checkpoint_id: str
    summarized_before: int

    def to_json(self) -> dict[str, Any]:
        boundary = self.summarized_before
        return {"type": "compaction", "checkpoint_id": self.checkpoint_id, "message_index": boundary, "summarized_before": boundary}


Places = tuple[int | None, ...]
"""Of each part of a message, where the part stands that it is of; None for a part that nobody said."""

Origin = History | CompactionOrigin | ToolRepair | Rendered | ContinuationOrigin | EphemeralOrigin | RuntimeContext


class NeutralMessage(NamedTuple):
    """One message of the neutral list. An `agent` message is presented as user input by every wire format.

    A named tuple: one is made for each message of each call, and a frozen dataclass takes more than twice as long to make.
    """

    role: Role
    parts: tuple[Part, ...]
    origin: Origin
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SystemSection:
    """System text of one renderer; a wire format folds the sections in order, joined by a blank line."""

    renderer: str
    text: str


@dataclass(frozen=True, slots=True)
class NeutralRequest:
    """What a wire format writes, whole and in order: it drops and reorders nothing, and folds only what its wire asks to be folded.

    What the passes warrant of the list, by the target's `WireRules`: calls and results in pairs, each result behind its answer; ids of
    the target's form; user input first and last where that is asked for; no message without a part and no blank text where none
    may be sent; every `opaque` (of a text, reasoning or call) and every `Opaque` is the target's own and goes back as received; reasoning
    without one is there only where plain reasoning is taken; media are of kinds, types and sizes that are taken, where they stand.
    `cache_key` is the same for all calls of a session, for providers that route by one; None where the target takes none.
    `allowed_tools` None: not narrowed. `tool_choice` as in `Overrides`; None where no tool is declared. `thoughts_cut`: the positions of
    answers out of which renderers took thinking, where answers are bound to what came before them.
    """

    system: tuple[SystemSection, ...]
    messages: tuple[NeutralMessage, ...]
    tools: tuple[Tool, ...]
    allowed_tools: tuple[str, ...] | None
    tool_choice: str | None
    target: Target
    cache_key: str | None = None
    thoughts_cut: frozenset[int] = frozenset()
