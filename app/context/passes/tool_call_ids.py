"""Ids of calls that the target takes: of its form, within its length, each borne by one call of the request alone.

An id that fits stays. Another one is derived from the answer's place in the ledger, so that it is the same in every later
request; results are renamed with their calls. Ids are given in the order of the list, first come, first served: a message that
is appended later never renames an earlier one.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason
from app.entries.parts import ToolCall

NAME = "tool_call_ids"

_ALPHABETS = ("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "0123456789abcdefghijklmnopqrstuvwxyz", "0123456789")
_LENGTHS = (24, 9)
"""Characters of a derived id: long enough never to meet another, and the nine that Mistral's servers ask for."""

_TRIES_MAX = 1_000

Rename = tuple[str, Reason] | None
"""The new id of a call and why it has one; None: it keeps its own."""

Renamed = dict[str, list[Rename]]
"""An id → what became of the calls of the newest answer that bear it, in order."""


def run(draft: Draft, count: Count) -> None:
    """Renames what the target's `call_id_pattern` and `call_id_chars_max` refuse, and repeated ids.

    An id stays as it is where none can be derived, because a quirk asks for something unusual: the wire format's rules tell of it.
    Relies on `pairing`: the results of an answer follow it directly, one for each of its calls.
    """
    rules = draft.sources.target.rules
    fits = re.compile(rules.call_id_pattern).fullmatch
    taken: set[str] = set()
    renamed: Renamed = {}
    for item in draft.placed:
        message = item.message
        if message is None:
            continue
        if message.role == "tool":
            if renamed:
                _result(draft, item, message, renamed)
        elif message.role == "assistant":
            renamed = {}
            for part in message.parts:
                if isinstance(part, ToolCall):
                    renamed = _answer(draft, item, message, taken, fits, rules.call_id_chars_max)
                    break


def _answer(draft: Draft, item: Item, message: NeutralMessage, taken: set[str], fits: Callable[[str], object], chars_max: int) -> Renamed:
    given: list[tuple[int, str, Rename]] = []
    reasons: list[Reason] = []
    for position, part in enumerate(message.parts):
        if not isinstance(part, ToolCall):
            continue
        old = part.tool_call_id
        if old not in taken and len(old) <= chars_max and fits(old):
            taken.add(old)
            given.append((position, old, None))
            continue
        new = next((found for found in _derived(item, position, old, fits, chars_max) if found not in taken), None)
        if new is None:
            given.append((position, old, None))
            continue
        reason = Reason.TOOL_CALL_ID_REPEATED if old in taken else Reason.TOOL_CALL_ID_FITTED
        if reason not in reasons:
            reasons.append(reason)
        taken.add(new)
        given.append((position, old, (new, reason)))
    if not reasons:
        return {}
    parts = list(message.parts)
    renamed: Renamed = {}
    for position, old, rename in given:
        part = parts[position]
        renamed.setdefault(old, []).append(rename)
        if rename is not None and isinstance(part, ToolCall):
            parts[position] = replace(part, tool_call_id=rename[0])
    draft.replace(item, tuple(reasons), NAME, message._replace(parts=tuple(parts)))
    return renamed


def _result(draft: Draft, item: Item, message: NeutralMessage, renamed: Renamed) -> None:
    names = renamed.get(message.tool_call_id or "")
    rename = names.pop(0) if names else None
    if rename is not None:
        name, reason = rename
        draft.replace(item, (reason,), NAME, message._replace(tool_call_id=name))


def _derived(item: Item, position: int, old: str, fits: Callable[[str], object], chars_max: int) -> Iterator[str]:
    """Candidates in an order that depends on the call's place in the ledger and its id alone."""
    source = item.source
    seq = 0 if source is None else source.entry.seq
    for attempt in range(_TRIES_MAX):
        seed = f"{seq}\n{position}\n{attempt}\n{old}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(seed).digest(), "big")
        for alphabet in _ALPHABETS:
            letters = "".join(alphabet[number // len(alphabet) ** place % len(alphabet)] for place in range(max(_LENGTHS)))
            for length in _LENGTHS:
                if length <= chars_max and fits(letters[:length]):
                    yield letters[:length]
