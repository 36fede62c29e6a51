"""What a wire format and a server ask of a request, as data: one frozen record, overridable field by field by quirks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from app.models.efforts import EFFORTS
from app.models.images import FORM


class UnknownQuirk(ValueError):
    """A quirk that names no wire rule, or has the wrong type. The message names the field and never the value."""


@dataclass(frozen=True, slots=True)
class WireRules:
    """The rules under which a body is compiled for one target. Passes and formats read them; nobody asks for a server's name.

    Ids and names
    call_id_pattern, call_id_chars_max   what a `tool_call_id` on the wire has to match, whole; the pass `tool_call_ids` derives others
    name_pattern           what a tool name has to match, whole
    tools_max, description_chars_max     how many tools may be declared, and the greatest length of a description

    Tools
    tools                  `native`, or `text`: declared in the instructions and called in text, for models without native calling
    tool_choice            whether the server obeys a choice at all (Ollama does not)
    forced_choice          whether it takes one that forces a call (models that always think do not)
    required_choice        the word for "call one of them": `required`, or `any` (Mistral)
    named_choice           whether it takes a choice that names one tool; else the nearest is sent, and other calls are rejected at dispatch
    allowed_tools          whether it can be told a subset of the declared tools; else the choice is wider and calls are rejected at dispatch
    none_choice            whether it takes a choice of no tool, where the format has no form of its own for that (Bedrock)
    history_needs_tools    whether calls in the history need a declaration (Bedrock)
    arguments              `text` or `object`: how the arguments of a call are spelled

    Order and texts (pass `adjacency`)
    system_role            the role under which the folded system sections are sent, where the format has one
    system_inside          whether a system message may stand among the others (of Claude, newer models take one)
    user_first, user_last  whether the list has to begin, and to end, with user input
    input_needed           whether there has to be some where only instructions are left
    reply_after_results    whether an answer has to stand between results and the next input (Mistral)
    results_in_call_order  whether the results of an answer follow the order of its calls
    files_beside_results   whether a file may follow results without an answer between (the format folds both into one message)
    merge_users            whether inputs that follow one another are sent as one message, where the format does not fold them anyway
    blank_texts            whether a text of blanks alone may be sent
    content_lists          whether the content of an assistant message may be a list of parts (DeepSeek takes strings only)

    Media (pass `fitting`)
    images, files          whether they are taken at all in user messages
    image_urls, file_urls  whether by http URL
    image_types, file_types   media types that are taken, separated by blanks; `*`: any
    file_part              how a file is spelled: `file`, or `document_url` (Mistral)
    image_bytes_max, file_bytes_max   the greatest decoded size of one; 0: no limit is known
    image_pixels_max       the longer side of one; 0: no limit is known
    images_max             how many images one request may hold; 0: no limit is known
    many_images, many_image_pixels_max   beyond that many of them, the longer side of one; 0: no such limit is known
    error_media            whether the result of a failed call may hold any
    result_images, result_files       whether they may stand in a tool result; where not, the pass puts them behind the results as user input
    result_status          whether a result may be marked as failed, where the format has a mark; its text says so where not

    What a provider gave and gets back (pass `reasoning`)
    provider_blocks        whether its own blocks are sent back to it at all
    prefix_bound           whether a block is valid only behind the very prefix that it was made behind (wire-format notes 4.2)
    signs_calls            whether the first call of a step needs a signature, a made-up one where none is known (5.2)
    foreign_reasoning      `text`: what another model thought in plain words is sent as text (X-20); `drop`: it is left out
    reasoning_key          key of an assistant message that takes plain reasoning back; `content`: as a chunk of it (Mistral); empty: none does
    reasoning_always       whether that key stands on every assistant message, empty where there was no reasoning (DeepSeek)

    Parameters
    thinking               how thinking is asked for: empty (not at all), `effort`, `adaptive`, `budget`, `level`; in Chat also `toggle`
                           (an object that switches it, beside the word of effort; DeepSeek) and `object` (the word in one; OpenRouter)
    efforts                the words of effort that the model takes, separated by blanks; another one becomes the nearest, with a loss
    thinking_types         the values of `thinking.type` that a Claude model takes, separated by blanks
    thinking_off_efforts   the efforts beside which it can be told not to think, or between tools alone
    temperature            whether sampling parameters may be sent
    default_effort         the effort of a model that takes sampling parameters only at `none`, where no effort is asked for; empty: of any other
    stream_usage           whether `stream_options.include_usage` may be asked for
    max_tokens_key         under which key the output cap is sent, where servers differ
    cache_breakpoints      how many cache marks may be set; 0: none
    cache_key              whether a key for prompt caching may be sent

    Weights, in tokens
    *_overhead_tokens      what a message, a named one, a call, a tool, the tool list and the reply cost beside their text
    image_tokens           the estimate for one image whose size is not known, and for a file
    image_counting         the rule by which the size of an image gives its tokens, as `images` describes it; empty: `image_tokens` each
    """

    call_id_pattern: str = "[!-~]+"
    call_id_chars_max: int = 40
    name_pattern: str = "[a-zA-Z0-9_-]{1,64}"
    tools_max: int = 128
    description_chars_max: int = 1024
    tools: str = "native"
    tool_choice: bool = True
    forced_choice: bool = True
    required_choice: str = "required"
    named_choice: bool = True
    allowed_tools: bool = True
    none_choice: bool = True
    history_needs_tools: bool = False
    arguments: str = "text"
    system_role: str = "system"
    system_inside: bool = True
    user_first: bool = False
    user_last: bool = False
    input_needed: bool = False
    reply_after_results: bool = False
    results_in_call_order: bool = False
    files_beside_results: bool = True
    merge_users: bool = False
    blank_texts: bool = True
    content_lists: bool = True
    images: bool = True
    files: bool = True
    image_urls: bool = True
    file_urls: bool = False
    image_types: str = "image/png image/jpeg image/gif image/webp"
    file_types: str = "*"
    file_part: str = "file"
    image_bytes_max: int = 0
    file_bytes_max: int = 0
    image_pixels_max: int = 0
    images_max: int = 0
    many_images: int = 0
    many_image_pixels_max: int = 0
    error_media: bool = True
    result_images: bool = False
    result_files: bool = False
    result_status: bool = True
    provider_blocks: bool = False
    prefix_bound: bool = False
    signs_calls: bool = False
    foreign_reasoning: str = "text"
    reasoning_key: str = ""
    reasoning_always: bool = False
    thinking: str = "effort"
    efforts: str = "none minimal low medium high xhigh max"
    thinking_types: str = ""
    thinking_off_efforts: str = "low medium high xhigh max"
    temperature: bool = True
    default_effort: str = ""
    stream_usage: bool = True
    max_tokens_key: str = "max_completion_tokens"
    cache_breakpoints: int = 0
    cache_key: bool = False
    message_overhead_tokens: int = 3
    name_overhead_tokens: int = 1
    reply_overhead_tokens: int = 3
    call_overhead_tokens: int = 3
    tool_overhead_tokens: int = 7
    tools_overhead_tokens: int = 12
    image_tokens: int = 765
    image_counting: str = ""


_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "system_role": ("system", "developer"),
        "max_tokens_key": ("max_completion_tokens", "max_tokens"),
        "reasoning_key": ("", "reasoning_content", "reasoning", "content"),
        "required_choice": ("required", "any"),
        "file_part": ("file", "document_url"),
        "tools": ("native", "text"),
        "arguments": ("text", "object"),
        "foreign_reasoning": ("text", "drop"),
        "thinking": ("", "effort", "adaptive", "budget", "level", "toggle", "object"),
        "default_effort": ("", *EFFORTS),
    }
)
_PATTERNS = frozenset({"call_id_pattern", "name_pattern"})


def with_quirks(rules: WireRules, quirks: Mapping[str, Any]) -> WireRules:
    """The rules with quirks laid over them. Raises `UnknownQuirk`."""
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
        if name == "image_counting" and not FORM.fullmatch(str(value)):
            raise UnknownQuirk("the quirk image_counting has to be empty, `patches …`, `tiles …` or `squares …`")
    return dict(quirks)


def _compile(name: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        raise UnknownQuirk(f"the quirk {name} is no regular expression") from None
