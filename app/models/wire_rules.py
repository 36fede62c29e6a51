"""What a wire format and a server ask of a request, as data: one frozen record, overridable field by field by quirks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any


class UnknownQuirk(ValueError):
    """A quirk that names no wire rule, or has the wrong type. The message names the field and never the value."""


@dataclass(frozen=True, slots=True)
class WireRules:
    """The rules under which a body is compiled for one target.

    call_id_pattern        what a `tool_call_id` on the wire has to match, whole
    call_id_chars_max      its greatest length; ids that break either are derived anew by the pass `tool_call_ids`
    name_pattern           what a tool name has to match, whole
    tools_max              how many tools may be declared
    description_chars_max  the greatest length of a tool's description
    system_role            the role under which the folded system sections are sent
    tool_choice            whether the server obeys `tool_choice` at all (Ollama does not)
    allowed_tools          whether it obeys a subset of the declared tools
    stream_usage           whether `stream_options.include_usage` may be asked for
    max_tokens_key         under which key the output cap is sent
    reasoning_effort       whether `reasoning_effort` may be sent
    reasoning_key          key of an assistant message that takes its reasoning text back; empty: reasoning is not sent
    reasoning_always       whether that key stands on every assistant message, empty where there was no reasoning (DeepSeek)
    images, image_urls     whether images are taken at all, and whether by http URL
    files                  whether files are taken
    content_lists          whether the content of an assistant message may be a list of parts (DeepSeek takes strings only)
    tools                  `native`, the only way that is built
    *_overhead_tokens      what a message, a named one, a call, a tool, the tool list and the reply cost beside their text
    image_tokens           the estimate for one image whose size is not known
    """

    call_id_pattern: str = "[!-~]+"
    call_id_chars_max: int = 40
    name_pattern: str = "[a-zA-Z0-9_-]{1,64}"
    tools_max: int = 128
    description_chars_max: int = 1024
    system_role: str = "system"
    tool_choice: bool = True
    allowed_tools: bool = True
    stream_usage: bool = True
    max_tokens_key: str = "max_completion_tokens"
    reasoning_effort: bool = True
    reasoning_key: str = ""
    reasoning_always: bool = False
    images: bool = True
    image_urls: bool = True
    files: bool = True
    content_lists: bool = True
    tools: str = "native"
    message_overhead_tokens: int = 3
    name_overhead_tokens: int = 1
    reply_overhead_tokens: int = 3
    call_overhead_tokens: int = 3
    tool_overhead_tokens: int = 7
    tools_overhead_tokens: int = 12
    image_tokens: int = 765


RULES_OF: Mapping[str, WireRules] = MappingProxyType({"openai-chat": WireRules()})
"""The rules of each dialect that is built, before a model or an operator's quirk changes them."""

_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "system_role": ("system", "developer"),
        "max_tokens_key": ("max_completion_tokens", "max_tokens"),
        "reasoning_key": ("", "reasoning_content", "reasoning"),
        "tools": ("native",),
    }
)
_PATTERNS = frozenset({"call_id_pattern", "name_pattern"})
_DEVELOPER = re.compile(r"(o\d|gpt-[5-9])(?!.*chat)")


def rules_for(dialect: str, model: str, quirks: Mapping[str, Any] | None = None) -> WireRules:
    """The rules of a dialect for one model, with the operator's quirks laid over them.

    OpenAI's o-series and its models from gpt-5 on take instructions as `developer`, chat variants and every other server as
    `system` (wire-format notes 1.1, as the AI SDK does). Raises `KeyError` for a dialect that is not built and `UnknownQuirk`.
    """
    rules = RULES_OF[dialect]
    if dialect == "openai-chat" and _DEVELOPER.match(model):
        rules = replace(rules, system_role="developer")
    return replace(rules, **check_quirks(quirks)) if quirks else rules


def check_quirks(quirks: Mapping[str, Any]) -> dict[str, Any]:
    """The quirks as they came, each of them known and well-typed. Raises `UnknownQuirk`."""
    known: dict[str, type] = {field.name: type(field.default) for field in fields(WireRules)}
    for name, value in quirks.items():
        if name not in known:
            raise UnknownQuirk(f"no wire rule is called {name[:64]!r}; known are {', '.join(sorted(known))}")
        if type(value) is not known[name]:
            raise UnknownQuirk(f"the quirk {name} has to be of type {known[name].__name__}")
        if isinstance(value, int) and value < 0:
            raise UnknownQuirk(f"the quirk {name} may not be negative")
        if value not in _CHOICES.get(name, (value,)):
            raise UnknownQuirk(f"the quirk {name} has to be one of {', '.join(map(repr, _CHOICES[name]))}")
        if name in _PATTERNS:
            _compile(name, str(value))
    return dict(quirks)


def _compile(name: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        raise UnknownQuirk(f"the quirk {name} is no regular expression") from None
