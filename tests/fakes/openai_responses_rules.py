"""What OpenAI's Responses endpoint refuses, written from its documentation and its error texts (wire-format notes 3.1, 3.2 and 12).

On purpose nothing here is shared with the service: a rule that both had wrong in the same way would never show. Tools, items and the
order of items have modules of their own; what only the endpoint itself can know (tokens that it made, items that it keeps) is in the book.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_models import EFFORTS, efforts, never_reasons, samples
from tests.fakes.openai_responses_items import item_breaches, kind_of
from tests.fakes.openai_responses_order import order_breaches
from tests.fakes.openai_responses_tools import tool_breaches
from tests.fakes.openai_strict_schema import strict_faults

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# fmt: off
_COUNTED = {
    "conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id", "reasoning", "text",
    "tool_choice", "tools", "truncation",
}
_ARGUMENTS = (_COUNTED - {"personality"}) | {
    "access_programs", "background", "background_options", "context_management", "image", "include", "max_output_tokens", "max_tool_calls",
    "metadata", "moderation", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
    "service_tier", "store", "stream", "stream_options", "temperature", "top_logprobs", "top_p", "user",
}
_INCLUDABLE = {
    "file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
    "computer_call_output.output.image_url", "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "background": bool, "include": list, "instructions": (str, list), "metadata": dict, "parallel_tool_calls": bool,
    "previous_response_id": str, "prompt_cache_key": str, "prompt_cache_options": dict, "reasoning": dict, "safety_identifier": str,
    "store": bool, "stream": bool, "stream_options": dict, "text": dict, "user": str, "context_management": list,
}
_CHOICES = {
    "service_tier": {"auto", "default", "flex", "scale", "priority"},
    "truncation": {"auto", "disabled"},
}
_REASONING = {
    "effort": EFFORTS, "summary": {"auto", "concise", "detailed"}, "generate_summary": {"auto", "concise", "detailed"},
    "context": {"auto", "current_turn", "all_turns"}, "mode": {"standard", "pro"},
}
# fmt: on
_RANGES = {"temperature": (0, 2), "top_p": (0, 1), "top_logprobs": (0, 20)}
_MINIMA = {"max_output_tokens": 16, "max_tool_calls": 1}


def breaches(body: Any, counting: bool = False) -> list[Breach]:
    """Everything that is wrong with a request body, as far as the body alone tells; empty for one that is served.

    `counting`: the body goes to the endpoint that counts its tokens, which takes fewer arguments.
    """
    if not isinstance(body, dict):
        return [Breach("We could not parse the JSON body of your request.", None)]
    given = {key: value for key, value in body.items() if value is not None}  # null is as good as nothing for each optional argument
    model = given.get("model") if isinstance(given.get("model"), str) else ""
    found = [*_arguments(given, _COUNTED if counting else _ARGUMENTS), *_model(given, str(model)), *tool_breaches(given)]
    items = given.get("input")
    if isinstance(items, list) and items:
        elsewhere = "previous_response_id" in given or "conversation" in given or any(kind_of(item) == "item_reference" for item in items)
        found += item_breaches(items, str(model), stored=given.get("store") is not False)
        found += order_breaches(items, elsewhere=elsewhere)
    elif not isinstance(items, str):
        found.append(Breach("One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided.", "input"))
    return found


def _arguments(given: dict[str, Any], known: set[str]) -> Iterator[Breach]:
    for key in given.keys() - known:
        yield Breach(f"Unknown parameter: '{key}'.", key, "unknown_parameter")
    if not isinstance(given.get("model"), str) or not given["model"]:
        yield Breach("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    for key, kind in _TYPES.items():
        if key in given and not isinstance(given[key], kind):
            yield Breach(f"Invalid type for '{key}'.", key, "invalid_type")
    for key, choices in _CHOICES.items():
        if key in given and given[key] not in choices:
            yield Breach(f"Invalid value for '{key}'.", key, "invalid_value")
    for key, (least, most) in _RANGES.items():
        if key in given and not (type(given[key]) in (int, float) and least <= given[key] <= most):
            yield Breach(f"Invalid '{key}': a number from {least} to {most} is expected.", key, "decimal_above_max_value")
    for key, least in _MINIMA.items():
        if key in given and not (type(given[key]) is int and given[key] >= least):
            words = f"Invalid '{key}': integer below minimum value. Expected a value >= {least}."
            yield Breach(words, key, "integer_below_min_value")
    if "stream_options" in given and given.get("stream") is not True:
        yield Breach("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if not str(given.get("previous_response_id", "resp")).startswith("resp"):
        yield Breach("Invalid 'previous_response_id': expected an ID that begins with 'resp'.", "previous_response_id", "invalid_value")
    if "previous_response_id" in given and "conversation" in given:
        yield Breach("Mutually exclusive parameters: 'previous_response_id' and 'conversation'.", None, "mutually_exclusive_parameters")
    yield from _lists(given)
    yield from _text(given.get("text"))


def _lists(given: dict[str, Any]) -> Iterator[Breach]:
    for word in given["include"] if isinstance(given.get("include"), list) else []:
        if word not in _INCLUDABLE:
            yield Breach(f"Invalid value: '{word}'.", "include", "invalid_value")
    metadata = given.get("metadata")
    if isinstance(metadata, dict) and (
        len(metadata) > 16 or any(len(key) > 64 or not isinstance(value, str) or len(value) > 512 for key, value in metadata.items())
    ):
        yield Breach("Invalid 'metadata': at most 16 pairs of 64 and 512 characters.", "metadata")
    if len(str(given.get("safety_identifier", ""))) > 64:
        yield Breach("Invalid 'safety_identifier': string too long.", "safety_identifier", "string_above_max_length")
    for one in given["context_management"] if isinstance(given.get("context_management"), list) else []:
        threshold = one.get("compact_threshold", 1000) if isinstance(one, dict) else 0
        if not isinstance(one, dict) or one.get("type") != "compaction" or type(threshold) is not int or threshold < 1000:
            yield Breach("Invalid 'context_management'.", "context_management", "invalid_value")
    options = given.get("prompt_cache_options")
    if isinstance(options, dict) and (
        options.get("mode", "implicit") not in ("implicit", "explicit") or options.get("ttl", "30m") not in ("30m", "12h")
    ):
        yield Breach("Invalid 'prompt_cache_options'.", "prompt_cache_options", "invalid_value")


def _text(text: Any) -> Iterator[Breach]:
    if not isinstance(text, dict):
        return
    for key in text.keys() - {"format", "verbosity"}:
        yield Breach(f"Unknown parameter: 'text.{key}'.", f"text.{key}", "unknown_parameter")
    if text.get("verbosity") not in (None, "low", "medium", "high"):
        yield Breach("Invalid value for 'text.verbosity'.", "text.verbosity", "invalid_value")
    form = text.get("format")
    if form is None:
        return
    keys = {"json_schema": {"type", "name", "schema", "description", "strict"}, "text": {"type"}, "json_object": {"type"}}
    if not isinstance(form, dict) or form.get("type") not in keys:
        yield Breach("Invalid value for 'text.format'.", "text.format", "invalid_value")
        return
    for key in form.keys() - keys[form["type"]]:
        yield Breach(f"Unknown parameter: 'text.format.{key}'.", f"text.format.{key}", "unknown_parameter")
    if form["type"] != "json_schema":
        return
    if not _NAME.fullmatch(str(form.get("name", ""))):
        yield Breach("Invalid 'text.format.name': string does not match pattern.", "text.format.name")
    if not isinstance(form.get("schema"), dict):
        yield Breach("Missing required parameter: 'text.format.schema'.", "text.format.schema", "missing_required_parameter")
    elif form.get("strict"):
        for fault in strict_faults(form["schema"]):
            yield Breach(f"Invalid schema for response_format: {fault}", "text.format.schema", "invalid_json_schema")


def _model(given: dict[str, Any], model: str) -> Iterator[Breach]:
    """What this model does not take."""
    reasoning = given.get("reasoning") if isinstance(given.get("reasoning"), dict) else {}
    assert isinstance(reasoning, dict)
    for key, value in reasoning.items():
        if key not in _REASONING:
            yield Breach(f"Unknown parameter: 'reasoning.{key}'.", f"reasoning.{key}", "unknown_parameter")
        elif value is not None and value not in _REASONING[key]:
            yield Breach(f"Invalid value for 'reasoning.{key}'.", f"reasoning.{key}", "invalid_value")
    effort = reasoning.get("effort")
    if never_reasons(model):
        if effort is not None:
            yield _unsupported("reasoning.effort")
        if "reasoning.encrypted_content" in (given.get("include") or ()):
            yield Breach("Encrypted content is not supported with this model.", "include")
    elif effort in EFFORTS - efforts(model):
        yield Breach(f"Unsupported value: '{effort}' is not supported with the '{model}' model.", "reasoning.effort", "unsupported_value")
    for key in ("temperature", "top_p", "top_logprobs"):
        if key in given and not samples(model, effort):
            yield _unsupported(key)


def _unsupported(key: str) -> Breach:
    return Breach(f"Unsupported parameter: '{key}' is not supported with this model.", key, "unsupported_parameter")
