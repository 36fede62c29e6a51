"""The sources of a finished compile, one after the other: the row of the account, its stable id, and what of it is sent, and where.

Manifest, diff and explanation read this one list, so that they cannot say different things.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

from app.context.compile import Compiled
from app.context.controls import shown_controls
from app.context.draft import Decision, EphemeralOrigin, History, Item, NeutralMessage, Reason
from app.context.passes.measure import declaration
from app.entries import lossless
from app.entries.ids import text_digest
from app.entries.parts import part_to_json

Place = Literal["system", "tools", "messages"]
"""The three lists that a request is made of (S0-02)."""


class Listed(NamedTuple):
    """One source. `item` is the draft's row of a message and None for others; the last three are None for what is not sent.

    `position` counts from 0 in the list that `place` names. `content` is `sha256:<hex>` of what is sent, in neutral form, and None for
    a message that is not stored, since a replay does not have its words.
    """

    id: str
    decision: Decision
    item: Item | None = None
    place: Place | None = None
    position: int | None = None
    content: str | None = None

    @property
    def message_index(self) -> int | None:
        """Which message entry of the session it is, None for what is none."""
        return self.item.origin.message_index if self.item is not None and isinstance(self.item.origin, History) else None


_listed: Callable[[tuple[str, Decision, Item | None, Place | None, int | None, str | None]], Listed] = partial(tuple.__new__, Listed)
"""Makes a row from all of its fields at once, once for each message of each report."""


def listed(compiled: Compiled, contents: bool = True) -> Iterator[Listed]:
    """Every source in the order of the account. `contents` False leaves the digests out, which cost a pass over all text."""
    request = compiled.request
    positions = {id(message): at for at, message in enumerate(request.messages)}
    seen: dict[str, int] = {}
    rows = iter(compiled.decisions)
    for item in chain(compiled.items, compiled.inserted):
        row, at = next(rows), None if item.message is None else positions.get(id(item.message))
        digest = content_digest(item.message) if contents and at is not None and item.message is not None else None
        name = _named(row, seen) if item.source is None else f"entry:{item.source.entry.seq}"  # no two entries have the same seq
        yield _listed((name, row, item, None if at is None else "messages", at, digest))
    for at, section in enumerate(request.system):
        row = next(rows)
        yield Listed(_named(row, seen), row, None, "system", at, text_digest(section.text) if contents else None)
    at = 0
    for fate in compiled.tools:
        row, told = next(rows), fate.reason is Reason.DECLARED
        digest = text_digest(declaration(fate.tool)) if contents and told else None
        yield Listed(_named(row, seen), row, None, "tools" if told else None, at if told else None, digest)
        at += told
    for control in shown_controls(compiled.sources):
        row = next(rows)
        yield Listed(_named(row, seen), row, None, "tools", at, text_digest(declaration(control)) if contents else None)
        at += 1
    for row in rows:
        yield Listed(_named(row, seen), row)


def source_id(source: Mapping[str, Any]) -> str:
    """The id of a source by what it is, the same in every input of the session: `entry:6`, `system:identity`, `tool_repair:4:call_1`."""
    return ":".join(str(value) for value in source.values() if value is not None)


def content_digest(message: NeutralMessage) -> str | None:
    """`sha256:<hex>` of a message as it is sent, independent of the wire format; None for one that is not stored."""
    return None if isinstance(message.origin, EphemeralOrigin) else text_digest(lossless.dumps(neutral(message)))


def neutral(message: NeutralMessage) -> list[Any]:
    """The content of a message without its origin, as JSON values."""
    return [message.role, message.tool_call_id, message.name, message.is_error, [part_to_json(part) for part in message.parts]]


def _named(row: Decision, seen: dict[str, int]) -> str:
    """The source's id; the second of the same name ends in `#2`. No two sources have the same one, whatever their names."""
    name = found = source_id(row.source)
    number = seen.get(name, 0)
    while found in seen:
        number += 1
        found = f"{name}#{number}"
    seen[name] = max(number, 1)
    seen.setdefault(found, 1)
    return found
