"""Tool parts of UI messages: a call and what became of it, in the spellings of all versions."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.entries import lossless
from app.formats.reading import mapping, word

KNOWN = frozenset(
    {"type", "toolCallId", "toolName", "state", "input", "args", "rawInput", "output", "result", "errorText", "isError", "providerExecuted"}
    | {"callProviderMetadata", "providerMetadata", "toolInvocation", "step"}
)
_STATES = {"partial-call": "input-streaming", "call": "input-available", "result": "output-available"}
DENIED = "The user denied this call."


class Tool(NamedTuple):
    """A tool part. `output` is the text of a result, None where there is none. `asked`: whether the part is (also) the call.

    `whole` is False for a call that the model was still writing.
    """

    tool_call_id: str
    name: str
    arguments: str
    output: str | None
    is_error: bool
    asked: bool
    whole: bool
    by_provider: bool
    metadata: Mapping[str, Any]


def read_tool(part: Mapping[str, Any]) -> Tool | None:
    """None for a part that is no tool's, or that names neither call nor tool."""
    kind = part.get("type")
    if not isinstance(kind, str) or not (kind == "dynamic-tool" or kind.startswith("tool-")):
        return None
    found = mapping(part.get("toolInvocation")) if kind == "tool-invocation" else part
    name = word(found, "toolName") or (None if kind in ("dynamic-tool", "tool-invocation") else kind.removeprefix("tool-"))
    tool_call_id = word(found, "toolCallId")
    if not name or tool_call_id is None:
        return None
    state = word(found, "state") or ""
    state = _STATES.get(state, state)
    output, is_error = _output(found, state, kind == "tool-result" and "toolName" in found)
    return Tool(
        tool_call_id,
        name,
        _arguments(found),
        output,
        is_error,
        not (kind == "tool-result" and "toolName" in found),
        state != "input-streaming",
        found.get("providerExecuted") is True,
        mapping(found.get("callProviderMetadata")) or mapping(found.get("providerMetadata")),
    )


def _arguments(found: Mapping[str, Any]) -> str:
    """The text that the model wrote where the SDK could not read it, else the object as it is spelled."""
    value = found.get("input", found.get("args"))
    if value is None:
        value = found.get("rawInput")
    if value is None:
        return "null" if "input" in found or "args" in found else ""
    return value if isinstance(value, str) else lossless.dumps(value)


def _output(found: Mapping[str, Any], state: str, alone: bool) -> tuple[str | None, bool]:
    if state == "output-error" or (alone and "errorText" in found):
        return word(found, "errorText") or "", True
    if state == "output-denied":
        return word(mapping(found.get("approval")), "reason") or DENIED, True
    if state == "output-available" or alone:
        value = found.get("output", found.get("result"))
        text = value if isinstance(value, str) else "" if value is None else lossless.dumps(value)
        return text, found.get("isError") is True
    return None, False
