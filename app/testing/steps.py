"""The steps of a script, each made by a function of its own: what a person, the model and the client do, in order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

LABEL_CHARS_MAX = 80

Content = str | Sequence[Mapping[str, Any]]
"""Text, or parts as the API takes them."""


class Step:
    """Any step. Made by the functions below, never by hand."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class User(Step):
    """A posted turn. `more` are other fields of the request."""

    content: Content
    more: Mapping[str, Any]

    def __str__(self) -> str:
        return _label("user", self.content)


@dataclass(frozen=True, slots=True)
class Model(Step):
    """One answer of the model, as the script of the built-in upstream spells it."""

    answer: Mapping[str, Any]

    def __str__(self) -> str:
        calls = [f"{one['name']}(…)" for one in self.answer.get("tool_calls", ())]
        return _label("model", ", ".join([self.answer.get("text", ""), *calls]).strip(", "))


@dataclass(frozen=True, slots=True)
class Result(Step):
    """The result of a call that waits. `mocks`: the tool is handed to the script, whoever would run it."""

    tool: str
    content: Content
    is_error: bool = False
    tool_call_id: str | None = None
    mocks: bool = True

    def __str__(self) -> str:
        return _label("result" if self.mocks else "input_for", self.tool)


@dataclass(frozen=True, slots=True)
class Decision(Step):
    """What is said to a call that waits for approval."""

    tool: str
    decision: Literal["approve", "deny"]
    reason: str | None = None
    tool_call_id: str | None = None

    def __str__(self) -> str:
        return _label(self.decision, self.tool)


@dataclass(frozen=True, slots=True)
class SetState(Step):
    """A change of the session's state."""

    patch: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return _label("set_state", ", ".join(self.patch))


def user(content: Content, **more: Any) -> User:
    """A person's input: a turn is posted and runs until it settles or waits.

    `more`: other fields of `POST /sessions/{id}/turns`, such as `hidden`, `persist`, `skills`, `extra_messages`. Raises `ValueError` for
    another model, since only a scripted one answers, and for `background`, since a run waits for its turns.
    """
    if "model" in more.get("overrides", {}):
        raise ValueError("overrides.model: a scripted run has one model, the script; name another dialect by `run(…, dialect=…)`")
    if more.get("background"):
        raise ValueError("background: a run waits for each of its turns; leave it out")
    return User(content, more)


def model(
    text: str = "",
    *,
    reasoning: str = "",
    tool_calls: Sequence[Mapping[str, Any]] = (),
    delay_ms: int = 0,
    stop: str | None = None,
    usage: Mapping[str, int] | None = None,
    error: Mapping[str, Any] | None = None,
    chunk_chars: int | None = None,
    cut_after_chars: int | None = None,
) -> Model:
    """One answer of the model: text, a thought (`reasoning`), tool calls, or a failure; nothing of it is an empty answer.

    `delay_ms` before each piece; `stop` the neutral stop reason; `error` `{status, code, after_chars?, attempts?}`; `cut_after_chars` ends
    the stream there without a terminal mark.
    """
    given: dict[str, Any] = {
        "text": text or None,
        "reasoning": reasoning or None,
        "tool_calls": [dict(one) for one in tool_calls] or None,
        "delay_ms": delay_ms or None,
        "stop": stop,
        "usage": None if usage is None else dict(usage),
        "error": None if error is None else dict(error),
        "chunk_chars": chunk_chars,
        "cut_after_chars": cut_after_chars,
    }
    return Model({name: value for name, value in given.items() if value is not None})


def tool_call(name: str, arguments: Mapping[str, Any] | str = "{}", *, tool_call_id: str | None = None) -> dict[str, Any]:
    """One tool call of a model step. `arguments` as an object, or as the very text that the model writes, which may be no JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments), ensure_ascii=False)
    return {"name": name, "arguments": text} | ({} if tool_call_id is None else {"id": tool_call_id})


def result(tool: str, content: Content, *, is_error: bool = False, tool_call_id: str | None = None) -> Result:
    """Mocks a tool: the script gives the result of the first waiting call of it (or of that id), whichever executor the document names.

    A tool that any step of a script mocks is the script's for the whole run; all others run for real.
    """
    return Result(tool, content, is_error, tool_call_id)


def input_for(tool: str, content: Content, *, is_error: bool = False, tool_call_id: str | None = None) -> Result:
    """What the client answers to a call of one of its own tools: the turn waited for it, and goes on. The document stays as it is."""
    return Result(tool, content, is_error, tool_call_id, mocks=False)


def approve(tool: str, *, tool_call_id: str | None = None) -> Decision:
    """Approves the first call of the tool that waits for it, or the call of that id."""
    return Decision(tool, "approve", tool_call_id=tool_call_id)


def deny(tool: str, reason: str | None = None, *, tool_call_id: str | None = None) -> Decision:
    """Denies it: the tool does not run, and the model is told."""
    return Decision(tool, "deny", reason, tool_call_id)


def set_state(patch: Mapping[str, Any]) -> SetState:
    """Changes the state by scope, `{"session": {…}}`, as a JSON Merge Patch; the next call renders from it."""
    return SetState(dict(patch))


def _label(name: str, content: Content) -> str:
    shown = content if isinstance(content, str) else "…"
    return f"{name}({_cut(shown)!r})"


def _cut(text: str) -> str:
    return text if len(text) <= LABEL_CHARS_MAX else text[:LABEL_CHARS_MAX] + "…"
