"""The model of an agent document: which, and with which neutral parameters; scripts of the built-in upstream included."""

from collections.abc import Mapping
from typing import Any

from app.config.limits import AGENT_NAME_CHARS_MAX, IDENTIFIER_CHARS_MAX, SCRIPT_DELAY_MS_MAX, SCRIPT_STEPS_MAX
from app.context.fields import Check
from app.entries.errors import Fault
from app.models.efforts import EFFORTS
from app.models.resolve import UPSTREAM_PLAYS

SCRIPTED = "scripted"
TOKENS_MAX = 100_000_000
"""The most that an agent document may name, wherever it names tokens."""
CHARS_MAX = 10**9
STEP_TEXT_CHARS_MAX = 10_000_000

_PARAMS = ("max_output_tokens", "temperature", "reasoning", "extra")
_SCRIPTED = (*sorted(UPSTREAM_PLAYS), "dialect")
_STEP = ("text", "reasoning", "tool_calls", "chunk_chars", "delay_ms", "usage", "stop", "error", "cut_after_chars")
_USAGE = ("input", "cached", "cache_write", "output", "reasoning")
_ERROR = ("status", "code", "retry_after", "after_chars", "attempts")


def check_model(check: Check, value: Any, pointer: str) -> None:
    """Faults of `{upstream, name, params?}`, of an agent document as of a session's switch. Whether the upstream is configured and
    the model's capacity known is asked where it is resolved."""
    found = check.object(value, pointer, ("upstream", "name", "params"), ("upstream", "name"))
    if found is None:
        return
    for key, chars_max in (("upstream", AGENT_NAME_CHARS_MAX), ("name", IDENTIFIER_CHARS_MAX)):
        if key in found:
            check.text(found[key], f"{pointer}/{key}", chars_max)
    check_params(check, found.get("params", {}), f"{pointer}/params", scripted=found.get("upstream") == SCRIPTED)


def params_faults(params: Mapping[str, Any], pointer: str, upstream: str) -> list[Fault]:
    """Faults of parameters that a switch or a turn gives for a model of that upstream."""
    check = Check()
    check_params(check, params, pointer, scripted=upstream == SCRIPTED)
    return check.faults


def check_params(check: Check, value: Any, pointer: str, scripted: bool) -> None:
    """Faults of neutral parameters. Only the scripted upstream plays scripts and chooses its dialect; `extra` goes to the body as it is."""
    found = check.object(value, pointer, (*_PARAMS, *_SCRIPTED) if scripted else _PARAMS)
    if found is None:
        return
    if "max_output_tokens" in found:
        check.integer(found["max_output_tokens"], f"{pointer}/max_output_tokens", 1, TOKENS_MAX)
    if "temperature" in found:
        check.number(found["temperature"], f"{pointer}/temperature", 0, 2)
    if "reasoning" in found:
        reasoning = check.object(found["reasoning"], f"{pointer}/reasoning", ("effort",))
        if reasoning is not None and "effort" in reasoning:
            check.word(reasoning["effort"], f"{pointer}/reasoning/effort", EFFORTS)
    if "extra" in found and not isinstance(found["extra"], Mapping):
        check.fault(f"{pointer}/extra", "bad-type", "This has to be an object.")
    if not scripted:
        return
    if "dialect" in found:
        check.text(found["dialect"], f"{pointer}/dialect", IDENTIFIER_CHARS_MAX)
    for key in sorted(UPSTREAM_PLAYS & found.keys()):
        for position, step in enumerate(check.list(found[key], f"{pointer}/{key}", SCRIPT_STEPS_MAX) or ()):
            _step(check, step, f"{pointer}/{key}/{position}")


def _step(check: Check, value: Any, pointer: str) -> None:
    step = check.object(value, pointer, _STEP)
    if step is None:
        return
    for key in ("text", "reasoning"):
        if key in step:
            check.text(step[key], f"{pointer}/{key}", STEP_TEXT_CHARS_MAX, blank=True)
    for key, least, most in (("chunk_chars", 1, CHARS_MAX), ("cut_after_chars", 0, CHARS_MAX)):
        if key in step:
            check.integer(step[key], f"{pointer}/{key}", least, most)
    if "delay_ms" in step:
        check.number(step["delay_ms"], f"{pointer}/delay_ms", 0, SCRIPT_DELAY_MS_MAX)
    if "stop" in step:
        check.text(step["stop"], f"{pointer}/stop", IDENTIFIER_CHARS_MAX)
    if "usage" in step:
        for key, figure in (check.object(step["usage"], f"{pointer}/usage", _USAGE) or {}).items():
            if key in _USAGE:
                check.integer(figure, f"{pointer}/usage/{key}", 0, TOKENS_MAX)
    for position, call in enumerate(check.list(step.get("tool_calls", []), f"{pointer}/tool_calls", SCRIPT_STEPS_MAX) or ()):
        _call(check, call, f"{pointer}/tool_calls/{position}")
    if "error" in step:
        _error(check, step["error"], f"{pointer}/error")


def _call(check: Check, value: Any, pointer: str) -> None:
    call = check.object(value, pointer, ("id", "name", "arguments"), ("name", "arguments"))
    for key in ("id", "name", "arguments"):
        if call is not None and key in call:
            check.text(call[key], f"{pointer}/{key}", STEP_TEXT_CHARS_MAX, blank=True)


def _error(check: Check, value: Any, pointer: str) -> None:
    error = check.object(value, pointer, _ERROR)
    if error is None:
        return
    if "status" in error:
        check.integer(error["status"], f"{pointer}/status", 100, 599)
    if "code" in error:
        check.text(error["code"], f"{pointer}/code", IDENTIFIER_CHARS_MAX)
    if "retry_after" in error:
        check.number(error["retry_after"], f"{pointer}/retry_after", 0, CHARS_MAX)
    for key in ("after_chars", "attempts"):
        if key in error:
            check.integer(error[key], f"{pointer}/{key}", 0, CHARS_MAX)
