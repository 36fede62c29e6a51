"""The rules of a generateContent request that can be judged from its body: every one that it breaks, with a pointer.

Sources: the wire-format notes 5.1 and 5.2, with the tolerances of 12 (spellings of proto-JSON, undeclared names in the history).
Written apart from the compiler: it knows nothing of how a body came about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.formats.gemini import names
from app.formats.gemini.names import Found, members, under
from app.formats.gemini.rules import RULES
from app.formats.gemini.validate_options import check_options
from app.formats.gemini.validate_parts import PartJudge
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_ROLES = ("user", "model")


@dataclass(slots=True)
class _Calls:
    """What was found in a content: pointer, name and id of its calls or its responses, and whether anything else stands there."""

    calls: list[tuple[str, Any, Any]] = field(default_factory=list)
    responses: list[tuple[str, Any, Any]] = field(default_factory=list)
    other: bool = False
    first_signed: bool = True


def validate(body: Mapping[str, Any], rules: WireRules = RULES) -> list[Violation]:
    """All violations of a parsed JSON body, in its order. Details name rules, limits and positions, never content.

    `rules`: those of the target, since the model stands in the path, and what it takes is not seen in a body.
    """
    found: Found = []
    request = members(body, names.REQUEST, "", found)
    if request is None:
        return found
    contents, at = request.get("contents"), under("", body, "contents")
    if not isinstance(contents, list | tuple) or not contents:
        found.append(Violation(at, "contents-missing", "`contents` has to be a list of at least one content."))
    else:
        _Conversation(rules, found).check(contents, at)
    if "systemInstruction" in request:
        _system(request["systemInstruction"], under("", body, "systemInstruction"), found)
    check_options(request, body, found, rules)
    return found


def _system(value: Any, at: str, found: Found) -> None:
    content = members(value, names.CONTENT, at, found)
    if content is None:
        return
    place = under(at, value, "parts")
    if not content.get("parts"):
        found.append(Violation(place, "parts-missing", "A content has at least one part."))
        return
    for below, item in names.elements(content["parts"], place, found):
        part = members(item, names.PART, below, found)
        if part is not None and not isinstance(part.get("text"), str):
            found.append(Violation(below, "part-not-taken", "A system instruction has text parts alone."))


class _Conversation:
    """One walk over the contents. `_open`: the calls of the content before, which the one at hand has to answer."""

    __slots__ = ("_before", "_found", "_judge", "_open", "_rules", "_turn", "_unsigned")

    def __init__(self, rules: WireRules, found: Found) -> None:
        self._rules = rules
        self._found = found
        self._judge = PartJudge(rules, found)
        self._open: list[tuple[str, Any, Any]] = []
        self._before = ""
        self._unsigned: list[tuple[int, str]] = []
        self._turn = -1

    def check(self, contents: list[Any] | tuple[Any, ...], at: str) -> None:
        for index, content in enumerate(contents):
            if type(content) is dict and len(content) == 2:
                role, parts = content.get("role"), content.get("parts")
                if role in _ROLES and type(parts) is list and parts and (index or role == "user") and self._is_plain(index, at, role, parts):
                    self._before = role
                    continue
            self._content(index, content, f"{at}/{index}")
        self._unanswered()
        if self._rules.user_last and self._before == "model":
            self._say(f"{at}/{len(contents) - 1}", "last-not-user", "This model takes no list that ends with the model's turn.")
        if self._rules.signs_calls:
            for index, place in self._unsigned:
                if index > self._turn:
                    self._say(place, "call-unsigned", "The first call of each step of the current turn needs a `thoughtSignature`.")

    def _is_plain(self, index: int, at: str, role: str, parts: list[Any]) -> bool:
        """Whether a content is what most are, texts alone or one bare call or its response, in their order; and if so, takes note of it."""
        first = parts[0]
        if len(parts) == 1 and type(first) is dict and len(first) == 1 and self._judge.is_plain(first, role):
            if "functionCall" in first:
                if self._open or self._before != "user":
                    return False
                place = f"{at}/{index}/parts/0"
                self._open = [(place, first["functionCall"]["name"], None)]
                self._unsigned.append((index, place))
                return True
            if "functionResponse" in first:
                if len(self._open) != 1 or self._open[0][1:] != (first["functionResponse"]["name"], None):
                    return False
                self._open = []
                return True
        if self._open:
            return False
        for part in parts:
            if type(part) is not dict or len(part) != 1 or type(part.get("text")) is not str:
                return False
        if role == "user":
            self._turn = index
        return True

    def _content(self, index: int, value: Any, at: str) -> None:
        content = members(value, names.CONTENT, at, self._found)
        if content is None:
            return
        role = content.get("role", "user")
        if role not in _ROLES:
            self._say(under(at, value, "role"), "role-unknown", "A role is user or model.")
            role = "user"
        if index == 0 and role != "user":
            self._say(at, "first-not-user", "The first content is of the role user.")
        place = under(at, value, "parts")
        if not content.get("parts"):
            self._say(place, "parts-missing", "A content has at least one part.")
            calls = _Calls()
        else:
            calls = self._parts(content["parts"], place, role)
        self._pair(index, at, role, calls)
        self._before = role

    def _parts(self, parts: Any, at: str, role: str) -> _Calls:
        calls = _Calls()
        for place, value in names.elements(parts, at, self._found):
            part = self._judge.check(value, place, role)
            if part is None:
                continue
            call, response = part.get("functionCall"), part.get("functionResponse")
            if call is not None and isinstance(call, Mapping):
                if not calls.calls:
                    calls.first_signed = bool(part.get("thoughtSignature"))
                calls.calls.append((place, call.get("name"), call.get("id")))
            elif response is not None and isinstance(response, Mapping):
                calls.responses.append((place, response.get("name"), response.get("id")))
            else:
                calls.other = True
        return calls

    def _pair(self, index: int, at: str, role: str, calls: _Calls) -> None:
        if calls.responses:
            self._answers(at, calls)
        else:
            self._unanswered()
        if role == "user":
            if calls.other or not calls.responses:
                self._turn = index
            return
        if calls.calls:
            if self._before == "model":
                self._say(at, "calls-after-model", "A content with calls comes directly after one of the role user.")
            if not calls.first_signed:
                self._unsigned.append((index, calls.calls[0][0]))
            self._open = calls.calls

    def _answers(self, at: str, calls: _Calls) -> None:
        """As many responses as calls, in the next content, alone; each of the name, and with the id, of one of them."""
        asked, self._open = self._open, []
        if not asked:
            for place, _, _ in calls.responses:
                self._say(place, "result-without-call", "A function response answers a call of the content directly before it.")
            return
        if len(asked) != len(calls.responses):
            self._say(at, "results-unequal", "There are as many function responses as there are calls in the content before.")
        if calls.other:
            self._say(at, "results-mixed", "Function responses stand in a content of their own.")
        pairs = {(name, given) for _, name, given in asked if isinstance(name, str)}
        for place, name, given in calls.responses:
            if isinstance(name, str) and isinstance(given, str | None) and (name, given) not in pairs:
                self._say(place, "result-of-other-call", "A function response has the name and the id of a call in the content before.")

    def _unanswered(self) -> None:
        for place, _, _ in self._open:
            self._say(place, "call-without-result", "A call is answered by a function response in the next content.")
        self._open = []

    def _say(self, at: str, code: str, detail: str) -> None:
        self._found.append(Violation(at, code, detail))
