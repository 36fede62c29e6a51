"""The built-in upstream: plays `params.script` as wire bytes of the call's dialect, without a network (http-api 2).

Its bytes are written by the format's own writer and read by the same reader as any provider's. The step of a call is a
function of the call's ordinal, so a replayed call plays the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.config import limits
from app.entries import lossless
from app.entries.deltas import Delta, Finished, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted, Usage, UsageReport
from app.formats.protocols import UpstreamFault
from app.outbound.exchange import Outgoing, Reply

RETRY_WAIT_MS_MAX = 50
"""A script's retry waits are short, whatever it says of Retry-After."""

_CHUNK_CHARS = 24
_STEP_KEYS = frozenset({"text", "reasoning", "tool_calls", "chunk_chars", "delay_ms", "usage", "stop", "error", "cut_after_chars"})
_ERROR_KEYS = frozenset({"status", "code", "retry_after", "after_chars", "attempts"})
_CALL_KEYS = frozenset({"id", "name", "arguments"})
_USAGE_KEYS = frozenset(Usage.__dataclass_fields__)


class ScriptError(ValueError):
    """A script that cannot be played. The message names the place as an RFC 6901 pointer into the script, and never repeats it."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ScriptedError:
    """A failure with that HTTP status and vendor code. `after_chars` None: instead of an answer; else in the stream, after so many
    characters. `attempts` None: each attempt fails; else the first so many."""

    status: int
    code: str | None = None
    retry_after: str | None = None
    after_chars: int | None = None
    attempts: int | None = None

    def strikes(self, attempt: int) -> bool:
        return self.attempts is None or attempt <= self.attempts


@dataclass(frozen=True, slots=True)
class Step:
    """One answer. Characters of reasoning, text and arguments are counted together, in that order."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    chunk_chars: int = _CHUNK_CHARS
    delay_ms: int = 0
    usage: Usage | None = None
    stop: str = "finished"
    error: ScriptedError | None = None
    cut_after_chars: int | None = None


def read_script(value: Any) -> tuple[Step, ...]:
    """The steps of a script: a list of objects. Raises `ScriptError`."""
    if not isinstance(value, list):
        raise ScriptError("the script has to be a list of steps")
    if len(value) > limits.SCRIPT_STEPS_MAX:
        raise ScriptError(f"a script has at most {limits.SCRIPT_STEPS_MAX} steps")
    return tuple(_step(step, f"/{number}") for number, step in enumerate(value))


def _step(value: Any, at: str) -> Step:
    _object(value, _STEP_KEYS, at)
    calls = value.get("tool_calls") or []
    if not isinstance(calls, list) or len(calls) > limits.TOOL_CALLS_PER_ANSWER_MAX:
        raise ScriptError(f"{at}/tool_calls: a list of at most {limits.TOOL_CALLS_PER_ANSWER_MAX} calls")
    return Step(
        _text(value, "text", at) or "",
        _text(value, "reasoning", at) or "",
        tuple(_call(call, f"{at}/tool_calls/{number}") for number, call in enumerate(calls)),
        _count(value, "chunk_chars", at, 1, limits.BODY_BYTES_MAX) or _CHUNK_CHARS,
        _count(value, "delay_ms", at, 0, limits.SCRIPT_DELAY_MS_MAX) or 0,
        _usage(value.get("usage"), f"{at}/usage"),
        _text(value, "stop", at) or "finished",
        _error(value.get("error"), f"{at}/error"),
        _count(value, "cut_after_chars", at, 0, limits.BODY_BYTES_MAX),
    )


def _call(value: Any, at: str) -> ScriptedCall:
    _object(value, _CALL_KEYS, at)
    name, arguments = _text(value, "name", at), value.get("arguments", "")
    if name is None:
        raise ScriptError(f"{at}/name: missing")
    return ScriptedCall(_text(value, "id", at) or "", name, arguments if isinstance(arguments, str) else lossless.dumps(arguments))


def _error(value: Any, at: str) -> ScriptedError | None:
    if value is None:
        return None
    _object(value, _ERROR_KEYS, at)
    status, after = _count(value, "status", at, 400, 599), value.get("retry_after")
    if isinstance(after, bool) or not isinstance(after, (str, int, float, type(None))):
        raise ScriptError(f"{at}/retry_after: seconds, or a date")
    return ScriptedError(
        500 if status is None else status,
        _text(value, "code", at),
        None if after is None else str(after),
        _count(value, "after_chars", at, 0, limits.BODY_BYTES_MAX),
        _count(value, "attempts", at, 0, 1000),
    )


def _usage(value: Any, at: str) -> Usage | None:
    if value is None:
        return None
    _object(value, _USAGE_KEYS, at)
    return Usage(**{key: _count(value, key, at, 0, 2**53) for key in value})


def _object(value: Any, keys: frozenset[str], at: str) -> None:
    if not isinstance(value, Mapping):
        raise ScriptError(f"{at}: an object")
    if not keys.issuperset(value):
        raise ScriptError(f"{at}: known keys are {', '.join(sorted(keys))}")


def _text(value: Mapping[str, Any], key: str, at: str) -> str | None:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise ScriptError(f"{at}/{key}: a string")
    return found


def _count(value: Mapping[str, Any], key: str, at: str, least: int, most: int) -> int | None:
    found = value.get(key)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
        raise ScriptError(f"{at}/{key}: an integer from {least} to {most}")
    return found


class Scripted:
    """The channel to the built-in upstream."""

    def __init__(self, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._sleep = sleep

    @asynccontextmanager
    async def open(self, outgoing: Outgoing, attempt: int) -> AsyncIterator[Reply]:
        """One attempt of the step that this call plays. Raises `UpstreamFault` as a provider of the dialect would."""
        step = step_of(outgoing)
        error = step.error if step.error is not None and step.error.strikes(attempt) else None
        request_id = f"scripted-{outgoing.ordinal}-{attempt}"
        if error is not None and error.after_chars is None:
            await self._sleep(step.delay_ms / 1000)
            raise _refusal(outgoing, error, request_id)
        yield Reply(200, request_id, self._play(outgoing, step, error))

    async def _play(self, outgoing: Outgoing, step: Step, error: ScriptedError | None) -> AsyncIterator[bytes]:
        writer = outgoing.format.new_writer(outgoing.model.name, f"scripted-{outgoing.ordinal}", 0)
        for delta in deltas_of(step, error):
            if step.delay_ms and not isinstance(delta, (UsageReport, Finished, ToolCallStarted)):
                await self._sleep(step.delay_ms / 1000)
            written = writer.write(delta)
            if written:
                yield written
        last = writer.end()
        if last:
            yield last


def step_of(outgoing: Outgoing) -> Step:
    """The step that a call plays: its ordinal's, the last one for all that come later, an account of the body without a script."""
    params = outgoing.model.params
    script = params.get("script" if outgoing.purpose == "main" else "compaction_script")
    try:
        if not script:
            return Step(text=account(outgoing.body))
        if not isinstance(script, list):
            raise ScriptError("the script has to be a list of steps")
        index = min(outgoing.ordinal, len(script) - 1)
        return _step(script[index], f"/{index}")
    except ScriptError as fault:
        raise UpstreamFault("upstream-error", f"The script cannot be played: {fault}.") from None


def deltas_of(step: Step, error: ScriptedError | None = None) -> Iterator[Delta]:
    """What the step says, piece by piece; cut, or ended by the error, where the step says so. Without `Finished` the stream is cut."""
    limit = None if error is None else error.after_chars
    if limit is None or (step.cut_after_chars is not None and step.cut_after_chars < limit):
        limit, error = step.cut_after_chars, None
    left = limit
    for delta in _said(step):
        chars = _chars(delta)
        if left is not None and chars > left:
            if left:
                yield _first(delta, left)
            left = 0
            break
        yield delta
        left = None if left is None else left - chars
    if error is not None:
        yield StreamFailed(error.code or "server_error", f"scripted failure {error.status}")
    elif limit is None:
        if step.usage is not None:
            yield UsageReport(step.usage)
        yield Finished(step.stop)


def _said(step: Step) -> Iterator[Delta]:
    part = 0
    if step.reasoning:
        yield from (ReasoningDelta(part, piece) for piece in _pieces(step.reasoning, step.chunk_chars))
        part += 1
    if step.text:
        yield from (TextDelta(part, piece) for piece in _pieces(step.text, step.chunk_chars))
        part += 1
    for call in step.tool_calls:
        yield ToolCallStarted(part, call.name, call.id)
        yield from (ToolCallDelta(part, piece) for piece in _pieces(call.arguments, step.chunk_chars))
        part += 1


def _pieces(text: str, chunk_chars: int) -> Iterator[str]:
    return (text[start : start + chunk_chars] for start in range(0, len(text), chunk_chars))


def _chars(delta: Delta) -> int:
    match delta:
        case TextDelta(_, said) | ReasoningDelta(_, said) | ToolCallDelta(_, said):
            return len(said)
        case _:
            return 0


def _first(delta: Delta, chars: int) -> Delta:
    match delta:
        case TextDelta(part, said):
            return TextDelta(part, said[:chars])
        case ReasoningDelta(part, said):
            return ReasoningDelta(part, said[:chars])
        case ToolCallDelta(part, said):
            return ToolCallDelta(part, said[:chars])
        case _:
            return delta


def _refusal(outgoing: Outgoing, error: ScriptedError, request_id: str) -> UpstreamFault:
    """The error as a server of the dialect would answer it, read by the format's own reader of errors."""
    headers = {"content-type": "application/json", "x-request-id": request_id}
    if error.retry_after is not None:
        headers["retry-after"] = error.retry_after
    return outgoing.format.read_error(error.status, headers, outgoing.format.write_error(error.status, error.code))


def account(body: bytes) -> str:
    """A short account of a body: counts, and nothing of what it says."""
    document = lossless.read(body.decode())
    found = document if isinstance(document, dict) else {}
    messages = found.get("messages") or found.get("input") or found.get("contents") or []
    roles: dict[str, int] = {}
    for message in messages if isinstance(messages, list) else []:
        role = str(message.get("role", "item")) if isinstance(message, dict) else "item"
        roles[role] = roles.get(role, 0) + 1
    tools = found.get("tools")
    told = ", ".join(f"{number} {role}" for role, number in roles.items()) or "none"
    return f"Received {sum(roles.values())} messages ({told}), {len(tools) if isinstance(tools, list) else 0} tools, {len(body)} bytes."
