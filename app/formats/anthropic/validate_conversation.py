"""The order of a Messages request: who may speak when, calls and their results, where thinking may stand (wire-format notes 4.2, 4.3)."""

from collections.abc import Mapping
from typing import Any

from app.formats.anthropic.rules import SERVER_CALLS, THINKING_BLOCKS
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules


class Conversation:
    """Fed block by block. Messages of one role in a row are one, as the provider merges them (12.7).

    What is known at the end: `turn_starts`, type and place of the first block of each answer since the last input that was no result
    (a place is one of `place_of`), and `last_thinking`, where the first block of thinking stands in an answer that ends the list.
    """

    def __init__(self, found: list[Violation], rules: WireRules) -> None:
        self._found = found
        self._rules = rules
        self._ids: set[str] = set()
        self._role = ""
        self._at = 0
        self._calls: dict[str, str] = {}
        self._open: dict[str, str] = {}
        self._answered: set[str] = set()
        self._leading = True
        self._results = False
        self._first = True
        self._last: tuple[str, str | int, Any] = ("", 0, None)
        self._paused = False
        self.turn_starts: list[tuple[str, str | int]] = []
        self.last_thinking: str | None = None

    def text(self, role: str, index: int, said: str) -> None:
        """A message that is one good text, which is a block."""
        if role != self._role:
            self._turn(role, index)
        if role == "user":
            self._leading = False
            return
        if self._first:
            self._first = False
            self.turn_starts.append(("text", index))
        self._last = ("text", index, said)

    def begin(self, role: str, index: int) -> None:
        """A message of any kind begins."""
        if role != self._role:
            self._turn(role, index)

    def block(self, kind: str, block: Mapping[str, Any], at: str) -> None:
        """The next block of the message; `kind` is its type."""
        if self._role == "assistant":
            self._answer(kind, block, at)
        elif self._role == "user":
            if kind == "tool_result":
                self._result(block, at)
            else:
                self._leading = False

    def end(self) -> None:
        """No message follows."""
        if self._role == "assistant":
            if self._rules.user_last and not self._paused:
                self._say(f"/messages/{self._at}", "prefill-not-taken", "For this model the last message is the user's.")
            kind, at, said = self._last
            if kind == "text" and isinstance(said, str) and said != said.rstrip():
                self._say(place_of(at), "text-ends-blank", "The last text of an answer at the end does not end with blanks.")
            self._close_answer()
        else:
            self.last_thinking = None
            if not self._results:
                self.turn_starts.clear()
        self._unanswered(self._open)
        self._unanswered(self._calls)

    def _turn(self, role: str, index: int) -> None:
        """Another role speaks from here on. Most turns leave nothing open, and so each step is asked for before it is taken."""
        before = self._role
        if before == "assistant":
            if self._last[0] in THINKING_BLOCKS:
                self._close_answer()
        elif not before:
            if role == "assistant" and self._rules.user_first:
                self._say(f"/messages/{index}", "first-not-user", "The first message is the user's.")
        elif before == "system" and role == "user":
            self._say(f"/messages/{self._at}", "system-misplaced", "A system message precedes an assistant's, or ends the list.")
        if self._open:
            self._unanswered(self._open)
        if role == "user":
            self._open, self._calls = self._calls, self._open
            self._answered.clear()
            self._leading, self._results = True, False
        else:
            if self._calls:
                self._unanswered(self._calls)
            if role == "system":
                self._system(index)
            else:
                if not self._results:
                    self.turn_starts.clear()
                self._first, self._paused, self.last_thinking, self._last = True, False, None, ("", 0, None)
        self._role, self._at = role, index

    def _system(self, index: int) -> None:
        at = f"/messages/{index}"
        if not self._rules.system_inside:
            self._say(at, "system-not-taken", "This model takes instructions in `system` alone.")
        elif not self._role:
            self._say(at, "system-misplaced", "A system message is never the first.")

    def _answer(self, kind: str, block: Mapping[str, Any], at: str) -> None:
        if self._first:
            self._first = False
            self.turn_starts.append((kind, at))
        self._last = (kind, at, block.get("text"))
        if kind in THINKING_BLOCKS and self.last_thinking is None:
            self.last_thinking = at
        elif kind in SERVER_CALLS:
            self._paused = True
        elif kind == "tool_use":
            called = block.get("id")
            if not isinstance(called, str):
                return
            if called in self._ids:
                self._say(f"{at}/id", "call-id-repeated", "Two calls bear the same id.")
            self._ids.add(called)
            self._calls[called] = at

    def _result(self, block: Mapping[str, Any], at: str) -> None:
        self._results = True
        called = block.get("tool_use_id")
        if not isinstance(called, str):
            return
        if called in self._answered:
            self._say(at, "result-repeated", "A call has one result.")
        elif self._open.pop(called, None) is None:
            self._say(at, "result-without-call", "A result answers a call of the assistant's message before it.")
        elif not self._leading:
            self._say(at, "result-not-first", "Results come before anything else in their message.")
        self._answered.add(called)

    def _close_answer(self) -> None:
        kind, at, _ = self._last
        if kind in THINKING_BLOCKS:
            self._say(place_of(at), "answer-ends-thinking", "An answer does not end with thinking.")
        self._last = ("", 0, None)

    def _unanswered(self, calls: dict[str, str]) -> None:
        for at in calls.values():
            self._say(at, "call-without-result", "A call has to be answered by a result at the start of the message behind it.")
        calls.clear()

    def _say(self, at: str, code: str, detail: str) -> None:
        self._found.append(Violation(at, code, detail))


def place_of(at: str | int) -> str:
    """The pointer of a block: given as one, or as the number of a message of which it is the only one."""
    return at if isinstance(at, str) else f"/messages/{at}/content/0"
