"""Blocks that are valid only behind the prefix that they were made behind (wire-format notes 4.2).

The digest of a prefix covers instructions, declared tools and every message before the answer, reasoning apart: a provider lets the
reasoning of the front be left out, and whether that of an earlier answer is there follows from the earlier messages alone, but for what
renderers cut out: that is marked. An answer whose blocks were made behind another prefix than the one that is now compiled keeps its text
and its calls.

What stands behind everything for one call alone (late sections, why a call is made, ephemeral input) is part of the prefix as well, since the
provider bound to what it saw: at the next call it is gone, and with it the thinking. Leaving it out of the digest would send blocks back
that are refused.

A digest stays in the answer when a message before it is erased. It is made under a key of the session that nobody is shown, and that an
erasure replaces: then nothing tells of the text, and the blocks are left out.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from app.context.draft import Count, Draft, Item, NeutralMessage, NeutralRequest, Reason, SystemSection
from app.context.passes.measure import declaration
from app.context.sources import Tool
from app.entries import lossless
from app.entries.messages import Answer, Status
from app.entries.parts import Part, Reasoning, Text, ToolCall, part_to_json
from app.entries.producers import read_producer
from app.models.resolve import Target

NAME = "binding"

NOTHING_SAID = "(nothing was said)"
"""Stands for an answer of which nothing is left."""


class _Prefix:
    """The digest of what was read so far."""

    def __init__(self, key: str, target: Target, system: Sequence[SystemSection], tools: Sequence[Tool]) -> None:
        self._hash = hashlib.sha256(key.encode())
        self._add([target.dialect, target.model.name, asdict(target.rules), [one.text for one in system], [declaration(tool) for tool in tools]])

    def add(self, message: NeutralMessage, cut: bool) -> None:
        parts = [part_to_json(part) for part in message.parts if not isinstance(part, Reasoning)]
        self._add([message.role, message.tool_call_id, message.is_error, parts, *(["cut"] if cut else [])])

    def _add(self, value: object) -> None:
        self._hash.update(lossless.dumps(value).encode("utf-8", "surrogatepass"))

    def __str__(self) -> str:
        return "sha256:" + self._hash.copy().hexdigest()


def own_thoughts(item: Item, target: Target) -> list[str]:
    """The blocks of thinking that the target made for an answer, as they stand in its entry; none for what is no whole answer."""
    body = None if item.source is None else item.source.body
    if not isinstance(body, Answer) or body.status is not Status.COMPLETED:
        return []
    blocks = [(part.opaque, read_producer(part.producer or "")) for part in body.parts if isinstance(part, Reasoning)]
    return [block for block, made_by in blocks if block is not None and made_by is not None and made_by._replace(prefix="") == target.producer]


def lacks_thoughts(item: Item, target: Target) -> bool:
    """Whether a message is an answer without some of the thinking that the target made for it."""
    own = own_thoughts(item, target)
    if not own or item.message is None:
        return False
    sent = {part.opaque for part in item.message.parts if isinstance(part, Reasoning)}
    return not sent.issuperset(own)


def cut_by_renderers(draft: Draft) -> frozenset[int]:
    """The rows, by `id`, of answers out of which renderers took thinking; asked behind the last of them. A later call may send it."""
    target = draft.sources.target
    if not target.rules.prefix_bound:
        return frozenset()
    return frozenset([id(item) for item in draft.placed if lacks_thoughts(item, target)])


def positions(draft: Draft, rows: frozenset[int]) -> frozenset[int]:
    """Where rows, by `id`, came to stand in the list."""
    return frozenset([position for position, item in enumerate(draft.placed) if id(item) in rows]) if rows else rows


def run(draft: Draft, tools: Sequence[Tool], cut: frozenset[int], count: Count) -> None:
    """Leaves out bound blocks whose prefix changed. Runs last: the prefix is of the list as it is sent; O(text)."""
    target = draft.sources.target
    if not target.rules.prefix_bound:
        return
    last = max((at for at, item in enumerate(draft.placed) if item.message is not None and _thinks(item.message)), default=-1)
    if last < 0:
        return  # nothing is bound to anything: no digest is needed
    prefix = _Prefix(draft.sources.prefix_key, target, [section for section, _ in draft.system], tools)
    for item in draft.placed[: last + 1]:
        message = item.message
        if message is None:
            continue
        if _thinks(message):
            now, changed = str(prefix), _changed_calls(item, message)
            kept: list[Part] = []
            places: list[int] = []
            for position, part in enumerate(message.parts):
                if position in changed:
                    now = ""
                if isinstance(part, Reasoning) and _bound_elsewhere(part, now):
                    draft.lose(item, "reasoning", "prefix_changed", position)
                else:
                    kept.append(part)
                    places.append(position)
            if len(kept) < len(message.parts):
                message = _without(draft, item, message, kept, places, count)
        prefix.add(message, id(item) in cut)


def _without(draft: Draft, item: Item, message: NeutralMessage, kept: list[Part], places: list[int], count: Count) -> NeutralMessage:
    """The message without the thinking that is left out. One of thinking alone keeps its place, since its neighbours rely on it."""
    left_out = [part.text for position, part in enumerate(message.parts) if position not in places and isinstance(part, Reasoning)]
    tokens = max(0, item.tokens - sum(map(count, left_out)))
    parts: tuple[Part, ...] = tuple(kept) or (Text(NOTHING_SAID),)
    sent = message._replace(parts=parts)
    draft.replace(item, (Reason.PREFIX_CHANGED,), NAME, sent, tokens + (0 if kept else count(NOTHING_SAID)), tuple(places) if kept else (None,))
    return sent


def _thinks(message: NeutralMessage) -> bool:
    return message.role == "assistant" and any(isinstance(part, Reasoning) for part in message.parts)


def _changed_calls(item: Item, message: NeutralMessage) -> frozenset[int]:
    """The positions of calls that are not sent as the model wrote them: what it thought behind one of them is bound to that one as well.

    A call without arguments has an empty object for its provider too, however it streamed them (4.5).
    """
    own = [] if item.source is None else [part for part in item.source.body.parts if isinstance(part, ToolCall)]
    sent = [(position, part) for position, part in enumerate(message.parts) if isinstance(part, ToolCall)]
    return frozenset(
        [
            position
            for (position, call), written in zip(sent, own, strict=False)
            if call.tool_call_id != written.tool_call_id or (written.arguments.strip() and call.arguments != written.arguments)
        ]
    )


def _bound_elsewhere(part: Reasoning, prefix: str) -> bool:
    made_by = read_producer(part.producer or "")
    return made_by is not None and made_by.prefix != prefix


def bound_prefix(request: NeutralRequest, key: str = "") -> str:
    """The digest, under the session's key, of everything that an answer to this request will have before it; empty where the target binds
    nothing to it."""
    if not request.target.rules.prefix_bound:
        return ""
    prefix = _Prefix(key, request.target, request.system, request.tools)
    for position, message in enumerate(request.messages):
        prefix.add(message, position in request.thoughts_cut)
    return str(prefix)
