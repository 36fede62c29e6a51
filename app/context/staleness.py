"""Which tool results of an input are stale, and which are still spoken of: what the decision of a pruning asks (X-58).

A result is superseded by a later one, not an error, of an equal call (same tool, equal arguments), or of a call on the same target that wrote it
or read all of it. Calls are on the same target where both tools declare one, under the same argument name, with an equal value; a call reads
all of its target where it has no argument beside it.

A result is still spoken of where its call id is said later, by a user, by an answer or in the arguments of a call; and where its target is
said from the newest user message on, other than as the target of a call. A target's name means what is known of it now, so that it keeps no
superseded result. Names count as whole words; a target of several is said where all of them are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from app.config.limits import JSON_DEPTH_MAX
from app.context.compile import Compiled
from app.context.draft import EphemeralOrigin, Item
from app.context.sources import Tool
from app.entries import lossless
from app.entries.messages import Answer, ToolResult
from app.entries.parts import Part, Text, ToolCall

CALL_ID_CHARS_MIN = 8
TARGET_CHARS_MIN = 4
"""Shorter names are said by chance."""

_WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")
_POINTS = ".:!?"

Target = tuple[str, str]
"""The name of the argument that names a target, and its value as JSON text."""


class Result(NamedTuple):
    """A tool result that is sent, its call, and the tool as the agent has it; None for a tool that the agent no longer has."""

    seq: int
    item: Item
    body: ToolResult
    call: ToolCall
    tool: Tool | None
    arguments: Mapping[str, Any] | None
    target: Target | None

    @property
    def key(self) -> tuple[str, str]:
        """Equal for equal calls."""
        spelled = self.call.arguments if self.arguments is None else lossless.dumps(dict(sorted(self.arguments.items())))
        return self.call.name, spelled

    @property
    def settles_target(self) -> bool:
        """Whether all that was known of the target before is out of date behind it."""
        declared = {} if self.tool is None else self.tool.results
        return declared.get("effect") == "write" or set(self.arguments or ()) == {declared.get("target")}


def results_of(compiled: Compiled) -> list[Result]:
    """The tool results that are sent, oldest first, each with the call that it answers; none of an answer with a call that has no result."""
    tools = {tool.name: tool for tool in compiled.sources.agent.tools}
    found: list[Result] = []
    answered: list[Result] = []
    open_calls: list[ToolCall] = []
    for item in _sent(compiled):
        body = None if item.source is None else item.source.body
        if item.source is None or not isinstance(body, ToolResult):
            found += () if open_calls else answered
            answered, open_calls = [], [part for part in _parts(item) if isinstance(part, ToolCall)] if isinstance(body, Answer) else []
            continue
        call = next((call for call in open_calls if call.tool_call_id == body.tool_call_id), None)
        if call is not None:
            open_calls.remove(call)
            tool, arguments = tools.get(call.name), _arguments(call.arguments)
            answered.append(Result(item.source.entry.seq, item, body, call, tool, arguments, _target(tool, arguments)))
    return found if open_calls else found + answered


def since_input(compiled: Compiled) -> frozenset[int]:
    """The seqs of what is sent behind the newest input of a user: what a turn is to a projection (http-api 4), whichever Turn said it."""
    behind = takewhile(lambda item: not _is_input(item), reversed(list(_sent(compiled))))
    return frozenset([item.source.entry.seq for item in behind if item.source is not None])


def superseded(results: Sequence[Result]) -> frozenset[int]:
    """The seqs of those about which a later one tells more."""
    found: set[int] = set()
    calls: set[tuple[str, str]] = set()
    settled: set[Target] = set()
    for result in reversed(results):
        key = result.key
        if key in calls or result.target in settled:
            found.add(result.seq)
        if result.body.is_error:
            continue
        calls.add(key)
        if result.target is not None and result.settles_target:
            settled.add(result.target)
    return frozenset(found)


class Spoken(NamedTuple):
    """Seqs of results that are still spoken of: by the id of their call, and by their target."""

    by_id: frozenset[int]
    by_target: frozenset[int]


def spoken_of(compiled: Compiled, results: Sequence[Result]) -> Spoken:
    """One walk over what is said, newest first; O(text)."""
    known = {result.seq: result for result in results}
    targets = {id(result.call): _split(_value(result)) for result in results}
    later: set[str] = set()
    recent: set[str] = set()
    by_id: set[int] = set()
    by_target: set[int] = set()
    new = True
    for item in reversed(list(_sent(compiled))):
        result = None if item.source is None else known.get(item.source.entry.seq)
        if result is not None:
            if len(result.call.tool_call_id) >= CALL_ID_CHARS_MIN and result.call.tool_call_id in later:
                by_id.add(result.seq)
            if not new and len(_value(result)) >= TARGET_CHARS_MIN and targets[id(result.call)] <= recent:
                by_target.add(result.seq)
            continue
        words = _words(item, targets)
        later |= words
        if new:
            recent |= words
            new = not _is_input(item)
    return Spoken(frozenset(by_id), frozenset(by_target))


def _sent(compiled: Compiled) -> Iterator[Item]:
    return (item for item in compiled.items if item.message is not None)


def _parts(item: Item) -> tuple[Part, ...]:
    """What was said, not how this target is told of it; an input that is not stored is what it is."""
    if item.source is not None:
        return item.source.body.parts
    return () if item.message is None else item.message.parts


def _is_input(item: Item) -> bool:
    """Whether a user said it."""
    if item.source is not None:
        return item.source.entry.kind == "user_message"
    return isinstance(item.origin, EphemeralOrigin) and item.message is not None and item.message.role == "user"


def _words(item: Item, targets: Mapping[int, set[str]]) -> set[str]:
    """The words of a message that is no result; of a call's arguments those beside its target. `targets`: by the `id` of the call."""
    if item.source is not None and isinstance(item.source.body, ToolResult):
        return set()
    found: set[str] = set()
    for part in _parts(item):
        if isinstance(part, Text):
            found |= _split(part.text)
        elif isinstance(part, ToolCall):
            found |= _split(part.arguments) - targets.get(id(part), set())
    return found


def _split(text: str) -> set[str]:
    return {word.strip(_POINTS) for word in _WORD.findall(text)}


def _value(result: Result) -> str:
    """The name of its target as people say it; empty without one that is a text."""
    value = None if result.target is None or result.arguments is None else result.arguments[result.target[0]]
    return value if isinstance(value, str) else ""


def _arguments(text: str) -> Mapping[str, Any] | None:
    """The arguments of a call; None where the model wrote no object."""
    try:
        value = lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        return None
    return value if isinstance(value, dict) else None


def _target(tool: Tool | None, arguments: Mapping[str, Any] | None) -> Target | None:
    name = None if tool is None else tool.results.get("target")
    if name is None or arguments is None or arguments.get(name) is None:
        return None
    return name, lossless.dumps(arguments[name])
