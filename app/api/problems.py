"""The one table from an error's code to its status, and RFC 9457 problem documents.

A problem never holds a secret, prompt text, the input or anything of the inside: every sentence in it is written here or
by the rule that was broken, and pointers name fields, not values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from app.entries import errors
from app.entries.errors import Fault, LedgerError


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: what a code answers with and what it means."""

    status: int
    title: str
    meaning: str
    retry_after_seconds: int | None = None


PROBLEMS: Mapping[str, Row] = MappingProxyType(
    {
        "invalid-request": Row(422, "The request does not fit the contract", "`errors` lists every fault with a pointer. Nothing was stored."),
        "invalid-json": Row(422, "The body is no JSON that is taken", "Not JSON, not UTF-8, a key twice, NaN, or nested too deep."),
        "not-yet-supported": Row(422, "Not built yet", "The contract names this, but this version does not have it. Nothing was stored."),
        "unknown-capacity": Row(422, "The model's capacity is not known", "Neither catalogue nor operator knows the model: give both `limits`."),
        "unreadable-import": Row(422, "The file cannot be read as that format", "`errors` says where; sessions before it stay imported."),
        "unknown-agent": Row(422, "No such agent", "The agent or the revision that the body names does not exist."),
        "unknown-upstream": Row(422, "No such upstream", "The operator has not configured the upstream that the body names."),
        "idempotency-key-reused": Row(422, "The idempotency key came with another body", "Use a new key for a new request."),
        "invalid-idempotency-key": Row(422, "The idempotency key has the wrong form", "A key is 1 to 255 visible ASCII characters."),
        "unsupported-media-type": Row(415, "The body has the wrong media type", "JSON bodies need `Content-Type: application/json`."),
        "payload-too-large": Row(413, "The body is too large", "The limit is in the README's table. Nothing was stored."),
        "not-acceptable": Row(406, "No such representation", "The route cannot answer in a form that `Accept` allows."),
        "unauthorized": Row(401, "A key is needed", "Send `Authorization: Bearer <key>` with a valid key."),
        "scope-missing": Row(403, "The key lacks the scope", "Use a key that has the scope that `detail` names."),
        "foreign-host": Row(403, "Not a local request", "Without keys only requests to a loopback `Host` are served."),
        "foreign-origin": Row(403, "Not a local page", "Without keys no page of another origin is served."),
        "not-found": Row(404, "Not found", "Unknown, of another tenant, or an id that does not parse."),
        "no-dispatched-call": Row(404, "No call was dispatched", "None before the first call, after an accepted prompt or a model switch."),
        "method-not-allowed": Row(405, "The route has no such method", "`Allow` lists those that it has."),
        "session-busy": Row(
            409, "The session is busy", "A turn (`turn_id`) or a compaction runs: wait, stop it, or post with `on_busy: interrupt`.", 1
        ),
        "pending-action": Row(409, "A turn waits for results", "`turn_id` names it: post its results, cancel it, or use `on_pending: abandon`."),
        "import-conflict": Row(409, "The session holds another story", "The file and the stored session differ before the file's end."),
        "agent-differs": Row(409, "An agent of the file is another one here", "Import under a name that is free, or name an agent yourself."),
        "exists": Row(409, "It exists already", "A session with this `external_id` exists: use `if_exists: return`."),
        "conflict": Row(409, "It clashes with what is stored", "Read what is stored and try again."),
        "invalid-origins": Row(409, "The history contradicts itself", "An import left snapshots out of step; rewind, or import it anew."),
        "tool-result-conflict": Row(409, "The call has another result", "A result is final; the same content again would have been ignored."),
        "turn-settled": Row(409, "The turn is settled", "A settled turn takes no results; post a new turn."),
        "not-retryable": Row(409, "The turn cannot be retried", "`retry` is for a last turn that failed; `regenerate` for a settled one."),
        "approval-needed": Row(409, "The call needs an approval", "Post a decision on it first; the turn's `pending` lists what is needed."),
        "decision-conflict": Row(409, "The call was decided on", "A decision is final; the same decision again would have been ignored."),
        "input-not-stored": Row(409, "The input was not stored", "A turn with `persist: false` cannot be run again: post it anew."),
        "lease-lost": Row(409, "Another writer took over", "Read the session and try again.", 1),
        "claim-expired": Row(503, "A turn is being settled", "Its holder is gone; try again.", 1),
        "head-mismatch": Row(412, "The head has moved", "`head_seq` is the head now: read what was added and try again."),
        "has-forks": Row(409, "A fork of it is not erased", "`detail` names a session that shares its entries: erase that one first."),
        "session-erased": Row(410, "The session was erased", "Nothing of it can be read or added to; its digest chain stays."),
        "resume-gap": Row(410, "The stream's events are gone", "Read the turn and the transcript instead: they are whole."),
        "unavailable": Row(503, "The service cannot take it now", "Try again.", 1),
        "shutting-down": Row(503, "The service is shutting down", "Try again: another replica will answer.", 1),
        "internal": Row(500, "An unexpected failure", "It was logged under `request_id`; nothing of it is shown here."),
    }
)

_BASES: tuple[tuple[type[LedgerError], str], ...] = (
    (errors.Invalid, "invalid-request"),
    (errors.NotFound, "not-found"),
    (errors.Conflict, "conflict"),
    (errors.Unavailable, "unavailable"),
)


class Problem(Exception):
    """A refusal that the edge itself decides. `code` is a row of the table; `detail` a sentence without input."""

    def __init__(self, code: str, detail: str | None = None, faults: list[Fault] | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.faults = faults
        self.headers = dict(headers or {})


def row_of(error: LedgerError) -> tuple[str, Row]:
    """The code that is shown and its row. A code without a row falls back to that of its class: the table stays closed."""
    code = error.code
    if isinstance(error, errors.Invalid) and code == "invalid-request" and error.faults and {f.code for f in error.faults} == {"not-yet-supported"}:
        code = "not-yet-supported"
    if code not in PROBLEMS:
        code = next((base for kind, base in _BASES if isinstance(error, kind)), "internal")
    return code, PROBLEMS[code]


def document(code: str, detail: str | None, instance: str, request_id: str, faults: list[Fault] | None = None, **more: Any) -> dict[str, Any]:
    """The problem document of a code. `more` are its extension members; None leaves one out."""
    row = PROBLEMS[code]
    found: dict[str, Any] = {
        "type": f"/problems/{code}",
        "title": row.title,
        "status": row.status,
        "detail": detail or row.meaning,
        "instance": instance,
        "code": code,
        "request_id": request_id,
    }
    if faults:
        found["errors"] = [{"pointer": fault.pointer, "code": fault.code, "detail": fault.detail} for fault in faults]
    return found | {key: value for key, value in more.items() if value is not None}


def of_error(error: LedgerError, instance: str, request_id: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, document and headers for an error of the service's rules."""
    code, row = row_of(error)
    faults = error.faults if isinstance(error, errors.Invalid) else None
    more: dict[str, Any] = {}
    if isinstance(error, errors.SessionBusy | errors.PendingAction):
        more["turn_id"] = error.turn_id
    if isinstance(error, errors.HeadMismatch):
        more["head_seq"] = error.head_seq
    headers = {} if row.retry_after_seconds is None else {"retry-after": str(row.retry_after_seconds)}
    detail = row.meaning if code == "internal" else error.detail
    return row.status, document(code, detail, instance, request_id, faults, **more), headers


def of_problem(problem: Problem, instance: str, request_id: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, document and headers for a refusal of the edge."""
    row = PROBLEMS[problem.code]
    headers = dict(problem.headers)
    if row.retry_after_seconds is not None:
        headers.setdefault("retry-after", str(row.retry_after_seconds))
    return row.status, document(problem.code, problem.detail, instance, request_id, problem.faults), headers
