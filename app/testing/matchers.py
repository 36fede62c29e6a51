"""What a test expects of a run, as values that combine: `has_text("penicillin") & ~has_tool_call("escalate")`.

What is wanted of a value (arguments, a result, state, the fields of an event) is one of: a value, which is equal to it; an object,
whose keys are found in it; a list, item for item; a pattern of `re`, found in a text; a function, which says yes to it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.testing.run import Run, text_of

LINES_SHOWN_MAX = 40
LINE_CHARS_MAX = 200

_ROLES = {"user_message": "user", "agent_message": "agent", "assistant_message": "assistant", "system_message": "system"}


class _Anything:
    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING = _Anything()
"""Wanted where any value will do, as long as there is one."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """`wanted` in words; `look` says of a run whether it is so, and what was there."""

    wanted: str
    look: Callable[[Run], tuple[bool, str]]

    def fault(self, run: Run) -> str | None:
        """None where the run is as wanted, else what was expected and what was there."""
        matched, there = self.look(run)
        return None if matched else f"expected: {self.wanted}\nthere was: {there}"

    def __and__(self, other: "Matcher") -> "Matcher":
        def look(run: Run) -> tuple[bool, str]:
            missed = [there for matched, there in (self.look(run), other.look(run)) if not matched]
            return not missed, "\n".join(dict.fromkeys(missed))

        return Matcher(f"{self.wanted} and {other.wanted}", look)

    def __or__(self, other: "Matcher") -> "Matcher":
        def look(run: Run) -> tuple[bool, str]:
            found = (self.look(run), other.look(run))
            return any(matched for matched, _ in found), "\n".join(dict.fromkeys(there for _, there in found))

        return Matcher(f"({self.wanted} or {other.wanted})", look)

    def __invert__(self) -> "Matcher":
        def look(run: Run) -> tuple[bool, str]:
            matched, there = self.look(run)
            return not matched, there

        return Matcher(f"not ({self.wanted})", look)


def has_text(wanted: str | re.Pattern[str], of: Literal["user", "agent", "assistant"] = "assistant") -> Matcher:
    """A message of that kind has the text in it (a plain text is looked for as it stands)."""
    pattern = re.compile(re.escape(wanted)) if isinstance(wanted, str) else wanted

    def look(run: Run) -> tuple[bool, str]:
        said = [(entry, text_of(entry["body"])) for entry in run.entries if _ROLES.get(entry["kind"]) == of]
        return any(pattern.search(text) for _, text in said), _lines((f"seq {entry['seq']} {text!r}" for entry, text in said), f"no {of} message")

    return Matcher(f"text {_spelled(wanted)} of the {of}", look)


def has_tool_call(name: str, arguments: Any = ANYTHING) -> Matcher:
    """The model called the tool, with such arguments; ones that are no JSON are compared as the text that they are."""

    def look(run: Run) -> tuple[bool, str]:
        parts = [part for entry in run.entries if entry["kind"] == "assistant_message" for part in (entry["body"] or {}).get("parts", ())]
        calls = [part for part in parts if part["type"] == "tool_call"]
        matched = any(call["name"] == name and fits(arguments, _read(call["arguments"])) for call in calls)
        return matched, _lines((f"{call['name']}({call['arguments']})" for call in calls), "no tool call")

    return Matcher(f"a call of {name} with {_spelled(arguments)}", look)


def has_result(name: str, content: Any = ANYTHING, *, is_error: bool | None = None) -> Matcher:
    """The tool has such a result: its text, or what it says as JSON. `is_error` None: whether or not it is an error."""

    def look(run: Run) -> tuple[bool, str]:
        results = [entry["body"] for entry in run.entries if entry["kind"] == "tool_result" and entry["body"] is not None]
        matched = any(
            body["name"] == name and is_error in (None, body["is_error"]) and any(fits(content, one) for one in _readings(body)) for body in results
        )
        shown = (f"{body['name']}{' (error)' if body['is_error'] else ''}: {text_of(body)!r}" for body in results)
        return matched, _lines(shown, "no tool result")

    kind = {None: "a result", True: "an error result", False: "a good result"}[is_error]
    return Matcher(f"{kind} of {name}: {_spelled(content)}", look)


def has_state(wanted: Mapping[str, Any]) -> Matcher:
    """The state, by scope, has these keys and values: `{"session": {"patient_name": "Ada"}}`."""
    return Matcher(f"state {_spelled(wanted)}", lambda run: (fits(wanted, run.state), _spelled(run.state)))


def has_status(wanted: str, error: str | None = None) -> Matcher:
    """The last turn has the status and, where one is named, failed with the error of that code."""

    def look(run: Run) -> tuple[bool, str]:
        code = None if run.error is None else run.error["code"]
        return run.status == wanted and error in (None, code), f"{run.status}" + (f" ({code}: {run.error['detail']})" if run.error else "")

    return Matcher(f"status {wanted}" + (f" ({error})" if error else ""), look)


def has_event(name: str, data: Any = ANYTHING) -> Matcher:
    """A turn's stream has an event of that name with such data."""

    def look(run: Run) -> tuple[bool, str]:
        matched = any(event.name == name and fits(data, event.data) for event in run.events)
        same = [f"{event.name} {_spelled(event.data)}" for event in run.events if event.name == name]
        return matched, _lines(same, "no such event; " + _joined(event.name for event in run.events))

    return Matcher(f"the event {name} with {_spelled(data)}", look)


def has_events(*names: str, exactly: bool = False) -> Matcher:
    """The streams of the turns have events of these names in this order; `exactly`: these and no others."""
    return _sequence("events", names, exactly, lambda run: [event.name for event in run.events])


def has_entries(*kinds: str, exactly: bool = False) -> Matcher:
    """The ledger has entries of these kinds in this order; `exactly`: these and no others."""
    return _sequence("entries", kinds, exactly, lambda run: list(run.kinds))


def fits(wanted: Any, found: Any) -> bool:
    """Whether a value is as wanted; see the top of this file."""
    if wanted is ANYTHING:
        return True
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.search(found) is not None
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(key in found and fits(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(found, list | tuple) and len(wanted) == len(found) and all(map(fits, wanted, found))
    if callable(wanted):
        return bool(wanted(found))
    return type(wanted) is type(found) and bool(wanted == found) if isinstance(wanted, bool) or isinstance(found, bool) else bool(wanted == found)


def _sequence(what: str, wanted: tuple[str, ...], exactly: bool, read: Callable[[Run], list[str]]) -> Matcher:
    def look(run: Run) -> tuple[bool, str]:
        names = read(run)
        rest = iter(names)
        return tuple(names) == wanted if exactly else all(name in rest for name in wanted), _joined(names)

    return Matcher(f"{what} {'exactly ' if exactly else ''}{' → '.join(wanted)}", look)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _readings(body: Mapping[str, Any]) -> tuple[Any, ...]:
    text = text_of(body)
    return text, _read(text)


def _spelled(value: Any) -> str:
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/"
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except TypeError:
        return _cut(repr(value))


def _joined(names: Iterable[str]) -> str:
    return " → ".join(names) or "none"


def _lines(lines: Iterable[str], none: str) -> str:
    found = [_cut(line) for line in lines]
    more = [f"and {len(found) - LINES_SHOWN_MAX} more"] if len(found) > LINES_SHOWN_MAX else []
    return "\n  ".join([*found[:LINES_SHOWN_MAX], *more]) or none


def _cut(text: str) -> str:
    return text if len(text) <= LINE_CHARS_MAX else text[:LINE_CHARS_MAX] + "…"
