"""The book that a fake keeps of the opaque tokens it gave out, and the judgement over those that come back (wire-format notes 4.2).

It knows no wire shape: a fake turns a body into a `Conversation`, a flat row of items. Blank texts are in no row, since they may not
be sent back.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from tests.fakes.claude_models import claude

_NAMES = count()  # no two books mint the same token
Reason = Literal["unknown", "altered", "account", "model", "system", "tools", "messages", "missing", "moved"]


def digest(value: Any) -> str:
    """Equal for values that are the same to the model: keys of the outermost object in any order, below that as written."""
    if isinstance(value, dict):
        value = {key: value[key] for key in sorted(value)}
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """One block. `at`: its place in the body. `token`: the signature or the opaque data of a block of thinking, `text` its open text."""

    role: str
    at: str
    digest: str
    kind: Literal["thinking", "call", "result", "other"] = "other"
    token: str = ""
    text: str = ""
    tool_call_id: str = ""
    tools_named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """`tools` are digests of those that the model sees from the start; `deferred` those of the others, by name."""

    model: str
    account: str
    system: str
    tools: tuple[str, ...]
    items: tuple[Item, ...]
    deferred: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer: what it answered, and its own items."""

    asked: Conversation
    own: tuple[Item, ...]

    @property
    def model(self) -> str:
        return claude(self.asked.model).name

    def thinking(self) -> list[tuple[str, str, bool]]:
        return _thinking(self.own)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A block that may not come back like this; for `missing`, `at` is the block that stands where it should stand."""

    at: str
    reason: Reason


class Book:
    """All tokens and answers of one fake."""

    def __init__(self) -> None:
        self._name = next(_NAMES)
        self._minted = 0
        self._by_token: dict[str, list[tuple[Answered, int]]] = defaultdict(list)
        self._by_call: dict[str, list[Answered]] = defaultdict(list)
        self._by_prefix: dict[str, list[Answered]] = defaultdict(list)

    def mint(self) -> str:
        """A token that nobody has seen, in base64 as the real ones are."""
        self._minted += 1
        return "EqQB" + hashlib.sha512(f"book {self._name}, token {self._minted}".encode()).hexdigest() + "GAE="

    def write(self, asked: Conversation, own: tuple[Item, ...]) -> None:
        """Remembers an answer."""
        answered = Answered(asked, own)
        for index, item in enumerate(own):
            if item.kind == "thinking":
                self._by_token[item.token].append((answered, index))
            elif item.kind == "call":
                self._by_call[item.tool_call_id].append(answered)
        self._by_prefix[_silent(asked.items)].append(answered)

    def misfits(self, body: Conversation, thinks: bool) -> list[Misfit]:
        """What comes back wrong. `thinks`: whether the model would think on this body, so that open rounds need their thinking."""
        found = [misfit for index, item in enumerate(body.items) if item.kind == "thinking" for misfit in self._block(body, index)]
        if thinks and not any(misfit.reason in ("unknown", "altered") for misfit in found):
            found = [*self._open_rounds(body), *found]
        return found

    def _block(self, body: Conversation, index: int) -> Iterator[Misfit]:
        item = body.items[index]
        entries = self._by_token.get(item.token, [])
        if not entries:
            yield Misfit(item.at, "unknown")
            return
        verdicts = [self._verdict(body, index, answered, place) for answered, place in entries]
        if None not in verdicts:
            yield Misfit(item.at, next(verdict for verdict in verdicts if verdict))

    def _verdict(self, body: Conversation, index: int, answered: Answered, place: int) -> Reason | None:
        """What is wrong with a block if it is the one at this place of this answer; None for nothing."""
        reads = claude(body.model)
        if answered.own[place].text != body.items[index].text:
            return "altered"
        if claude(answered.asked.model).account_bound and answered.asked.account != body.account:
            return "account"
        if not reads.bound:
            return None  # foreign blocks are ignored there
        if answered.model != reads.name:
            return "model"
        return _difference(answered.asked, (*answered.asked.items, *answered.own[:place]), body, body.items[:index])

    def _open_rounds(self, body: Conversation) -> Iterator[Misfit]:
        """The rounds of tool calls that the end of the conversation is in: each needs all thinking of its answer, as it was."""
        runs = _runs(body.items)
        while len(runs) >= 2 and runs[-1][0].role == "user" and any(item.kind == "result" for item in runs[-1]):
            run = runs[-2]
            needs = self._needs(body, run, tuple(item for earlier in runs[:-2] for item in earlier))
            came = _thinking(run)
            if needs and not any(_holds(came, needed) for needed in needs):
                whole = any([each[:2] for each in came] == [each[:2] for each in needed] for needed in needs)
                yield Misfit(run[0].at, "moved" if whole else "missing")
            runs = runs[:-2]

    def _needs(self, body: Conversation, run: list[Item], before: tuple[Item, ...]) -> list[list[tuple[str, str, bool]]]:
        """The thinking of each answer that this run may be."""
        calls = [item.tool_call_id for item in run if item.kind == "call"]
        answers = [answered for call in calls for answered in self._by_call.get(call, [])]
        answers = answers or self._by_prefix.get(_silent(before), [])
        return [answered.thinking() for answered in answers if answered.model == claude(body.model).name and answered.asked.account == body.account]


def _thinking(items: tuple[Item, ...] | list[Item]) -> list[tuple[str, str, bool]]:
    """Token, text, and whether it stands at the front, of each block of thinking."""
    found, front = [], True
    for item in items:
        if item.kind == "thinking":
            found.append((item.token, item.text, front))
        else:
            front = False
    return found


def _holds(came: list[tuple[str, str, bool]], needed: list[tuple[str, str, bool]]) -> bool:
    """Whether the thinking of a message ends with that of an answer. Before it may stand that of an answer which this one went on with."""
    if len(came) <= len(needed):
        return came == needed
    return not needed or [each[:2] for each in came[-len(needed) :]] == [each[:2] for each in needed]


def _silent(items: tuple[Item, ...]) -> str:
    return digest([item.digest for item in items if item.kind != "thinking"])


def _runs(items: tuple[Item, ...]) -> list[list[Item]]:
    """Items of one role in a row belong to one message; system messages stand between and count for nothing."""
    runs: list[list[Item]] = []
    for item in items:
        if item.role == "system":
            continue
        if not runs or runs[-1][0].role != item.role:
            runs.append([])
        runs[-1].append(item)
    return runs


def _difference(asked: Conversation, then: tuple[Item, ...], body: Conversation, now: tuple[Item, ...]) -> Reason | None:
    """What differs between the prefix of a block when it was made and now. Thinking may have gone from the front, and from there only."""
    if asked.system != body.system:
        return "system"
    named = {name for item in then for name in item.tools_named}
    if asked.tools != body.tools or any(asked.deferred.get(name) != body.deferred.get(name) for name in named):
        return "tools"
    gone = sum(item.kind == "thinking" for item in then) - sum(item.kind == "thinking" for item in now)
    left = []
    for item in then:
        if item.kind == "thinking" and gone > 0:
            gone -= 1
        else:
            left.append((item.role, item.digest))
    return None if left == [(item.role, item.digest) for item in now] else "messages"
