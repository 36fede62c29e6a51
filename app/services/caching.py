"""How much of an input a provider's prompt cache can reuse from the call before: the run of blocks that are byte for byte the same."""

from collections.abc import Iterator
from typing import Any

from app.context.draft import CompactionOrigin, History
from app.entries.messages import Entry
from app.formats.prefix import blocks
from app.formats.registry import FORMATS
from app.services.inputs import Prepared, state_in_force


def cache_report(now: Prepared, before: Prepared | None) -> dict[str, Any]:
    """`{stable_prefix_tokens, stable_prefix_messages, first_change}` against the previous dispatched call, None where there was none.

    Messages are those of the neutral list that stand whole in the stable run; tokens are theirs, the tools' and the sections'.
    `first_change` is the first block that is not what it was, or was taken away: its pointer in this input, or in the one before; None
    where blocks were only added behind. Its `reason` names what it comes from and `seq` the entry that changed it, if one did.
    """
    if before is None:
        return {"stable_prefix_tokens": 0, "stable_prefix_messages": 0, "first_change": None}
    order, old_order = FORMATS[now.target.dialect].prompt_order, FORMATS[before.target.dialect].prompt_order
    mine, theirs = list(blocks(now.written.document, order)), list(blocks(before.written.document, old_order))
    same = 0
    if now.target.dialect != before.target.dialect or now.target.model.name != before.target.model.name:
        change: dict[str, Any] | None = _named("", "model_changed", now.window.settings.get("model_switched"), before)
    else:
        while same < min(len(mine), len(theirs)) and mine[same] == theirs[same]:
            same += 1
        gone = same == len(mine)
        change = None if same == len(theirs) else _change((theirs if gone else mine)[same][0], now, before, gone=gone)
    messages, tokens = _weight(now, {pointer for pointer, _ in mine[same:]})
    return {"stable_prefix_tokens": tokens, "stable_prefix_messages": messages, "first_change": change}


def _weight(now: Prepared, unstable: set[str]) -> tuple[int, int]:
    compiled, written = now.compiled, now.written
    around = {parent for pointer in unstable for parent in _lineage(pointer)}

    def broken_at(pointer: str) -> bool:
        return pointer in around or not unstable.isdisjoint(_lineage(pointer))

    broken = {pointer.source for pointer in written.pointers if broken_at(pointer.pointer)}
    kept = [tokens for number, tokens in enumerate(compiled.message_tokens) if number not in broken]
    sections = zip(written.sections, compiled.section_tokens, strict=False)
    tools = zip(written.tools, compiled.measured.tool_tokens, strict=False)
    head = sum(count for pointer, count in (*sections, *tools) if pointer and not broken_at(pointer))
    return len(kept), head + sum(kept)


def _lineage(pointer: str) -> Iterator[str]:
    """The pointer and those of everything that it lies in."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def _change(pointer: str, now: Prepared, before: Prepared, *, gone: bool) -> dict[str, Any]:
    settings = now.window.settings
    sections, tools = now.written.sections, now.written.tools
    in_head = any(place and (pointer == place or place.startswith(pointer + "/") or pointer.startswith(place + "/")) for place in (*sections, *tools))
    if in_head or pointer.startswith(("/tools", "/system", "/instructions")):
        if now.sources.agent.digest != before.sources.agent.digest:
            return _named(pointer, "agent_changed", settings.get("agent_adopted"), before)
        if state_in_force(settings) != state_in_force(before.window.settings):
            return _named(pointer, "state_changed", settings.get("state_changed"), before)
        return _named(pointer, "overrides_changed", None, before)
    if gone:
        return {"pointer": pointer, "reason": "taken_away", "seq": None}
    return _message_change(pointer, now, before)


def _message_change(pointer: str, now: Prepared, before: Prepared) -> dict[str, Any]:
    at = next((one.source for one in now.written.pointers if one.pointer == pointer or one.pointer.startswith(pointer + "/")), None)
    origin = None if at is None else now.compiled.request.messages[at].origin
    if isinstance(origin, CompactionOrigin) and now.sources.checkpoint is not None:
        return {"pointer": pointer, "reason": "compacted", "seq": now.sources.checkpoint.seq}
    if not isinstance(origin, History):
        return {"pointer": pointer, "reason": "request_only", "seq": None}
    known = {message.origin.seq for message in before.compiled.request.messages if isinstance(message.origin, History)}
    return {"pointer": pointer, "reason": "message_changed" if origin.seq in known else "other_message", "seq": origin.seq}


def _named(pointer: str, reason: str, entry: Entry | None, before: Prepared) -> dict[str, Any]:
    """An entry that the call before had read already changed nothing since: overrides or another agent's run did."""
    return {"pointer": pointer, "reason": reason, "seq": entry.seq if entry is not None and entry.seq > before.sources.head_seq else None}
