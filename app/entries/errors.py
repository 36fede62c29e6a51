"""Typed failures of the service's own rules. The edge maps each `code` to a status in one table (`api/problems.py`).

LedgerError
├── Invalid              input that breaks the contract, with pointers; nothing was stored
├── NotFound             unknown, of another tenant, or an id that does not parse
├── SessionBusy          another turn runs; says which
├── PendingAction        a turn waits for results; says which
├── HeadMismatch         the writer expected another head
├── KeyReused            an idempotency key came with another body
├── FenceLost            this writer's claim was taken over
├── ClaimExpired         a claim ran out and has to be settled first
├── SessionErased        the session was erased; nothing of it is there
├── Conflict             any other clash with what is stored; `code` says which
└── Unavailable          the database or the service cannot take it now
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input. `pointer` is RFC 6901 into the body, without `#`; `detail` never repeats the input."""

    pointer: str
    code: str
    detail: str


class LedgerError(Exception):
    """Root of the tree. `code` is kebab-case and part of the contract; `detail` is a sentence that says what to do."""

    code = "internal"

    def __init__(self, detail: str, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if code is not None:
            self.code = code


class Invalid(LedgerError):
    code = "invalid-request"

    def __init__(
        self, faults: list[Fault], detail: str = "The request does not fit the contract; `errors` says where.", code: str | None = None
    ) -> None:
        super().__init__(detail, code)
        self.faults = faults


class NotFound(LedgerError):
    code = "not-found"


class SessionBusy(LedgerError):
    """`turn_id`: None where it is no turn that runs."""

    code = "session-busy"

    def __init__(self, turn_id: str | None = None) -> None:
        super().__init__("A turn or a compaction is running on this session; wait for it, stop it, or post with `on_busy: interrupt`.")
        self.turn_id = turn_id


class PendingAction(LedgerError):
    code = "pending-action"

    def __init__(self, turn_id: str | None = None) -> None:
        super().__init__("A turn waits for tool results; post them, cancel it, or use `on_pending: abandon`.")
        self.turn_id = turn_id


class HeadMismatch(LedgerError):
    code = "head-mismatch"

    def __init__(self, head_seq: int) -> None:
        super().__init__(f"The head is {head_seq}; read what was added and try again.")
        self.head_seq = head_seq


class KeyReused(LedgerError):
    code = "idempotency-key-reused"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key came with another body before; use a new key for a new request.")


class FenceLost(LedgerError):
    code = "lease-lost"

    def __init__(self) -> None:
        super().__init__("Another writer took the session over.")


class ClaimExpired(LedgerError):
    code = "claim-expired"

    def __init__(self) -> None:
        super().__init__("A turn whose holder is gone has to be settled first.")


class SessionErased(LedgerError):
    code = "session-erased"

    def __init__(self) -> None:
        super().__init__("This session was erased; nothing of it can be read or added to. Open a new one.")


class Conflict(LedgerError):
    code = "conflict"


class Unavailable(LedgerError):
    code = "unavailable"
