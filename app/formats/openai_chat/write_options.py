"""Everything of a Chat request that is not its messages: caps, sampling, effort, choice of tools, keys that are merged in last."""

from collections.abc import Mapping
from typing import Any

from app.context.draft import NeutralRequest
from app.formats.openai_chat.rules import PROTECTED_KEYS, SAMPLES_WITHOUT_REASONING
from app.formats.protocols import WireLoss
from app.formats.writing import Writing
from app.models.efforts import nearest_effort
from app.models.resolve import UPSTREAM_PLAYS

_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}


def effort(request: NeutralRequest) -> tuple[str | None, str | None]:
    """The word of effort that was wanted and the one that is sent; None where there is none."""
    rules = request.target.rules
    wanted = (request.target.model.params.get("reasoning") or {}).get("effort")
    if wanted is None or rules.thinking not in ("effort", "toggle", "object"):
        return wanted, None
    return wanted, nearest_effort(wanted, rules.efforts)


def thinks(request: NeutralRequest) -> bool:
    """Whether the model may think in this call: unless thinking is a switch, and it is off (2.5)."""
    return request.target.rules.thinking != "toggle" or effort(request)[1] != "none"


def options(writing: Writing, request: NeutralRequest) -> dict[str, Any]:
    """The keys behind `tools`, in the order in which they are sent."""
    params, rules = request.target.model.params, request.target.rules
    found: dict[str, Any] = {}
    if (choice := tool_choice(writing, request)) is not None:
        found["tool_choice"] = choice
    if params.get("max_output_tokens") is not None:
        found[rules.max_tokens_key] = params["max_output_tokens"]
    wanted, sent = effort(request)
    if params.get("temperature") is not None:
        if not rules.temperature:
            writing.losses.append(WireLoss("params.temperature", "not_taken"))
        elif SAMPLES_WITHOUT_REASONING.match(request.target.model.name) and sent != "none":
            writing.losses.append(WireLoss("params.temperature", "not_taken_while_reasoning"))
        else:
            found["temperature"] = params["temperature"]
    if sent != wanted:
        writing.losses.append(WireLoss("reasoning_effort", "not_in_format" if sent is None else "nearest_sent"))
    if sent is not None:
        found |= _thinking(rules.thinking, sent)
    if request.cache_key is not None:
        found["prompt_cache_key"] = request.cache_key
    found["stream"] = True
    if rules.stream_usage:
        found["stream_options"] = {"include_usage": True}
    writing.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
    _extra(writing, params.get("extra") or {}, found)
    return found


def _thinking(spelled: str, word: str) -> dict[str, Any]:
    if spelled == "object":
        return {"reasoning": {"effort": word}}
    if spelled == "effort":
        return {"reasoning_effort": word}
    return {"thinking": {"type": "disabled"}} if word == "none" else {"thinking": {"type": "enabled"}, "reasoning_effort": word}


def _extra(writing: Writing, extra: Mapping[str, Any], found: dict[str, Any]) -> None:
    for key, value in extra.items():
        if key in PROTECTED_KEYS:
            writing.losses.append(WireLoss(f"params.extra.{key}", "protected"))
        else:
            found[key] = writing.value(value)


def tool_choice(writing: Writing, request: NeutralRequest) -> str | dict[str, Any] | None:
    """How the tools may be chosen (0.2): a mode, a named tool, or a subset, which Chat nests one level deeper than others.

    Where the server takes less than was chosen, the nearest that it takes is sent, and the loss says that it is not enforced there.
    """
    rules = request.target.rules
    if not request.tools or (request.tool_choice is None and request.allowed_tools is None):
        return None
    if not rules.tool_choice:
        writing.losses.append(WireLoss("tool_choice", "not_enforced"))
        return None
    choice = request.tool_choice or "auto"
    named = choice not in ("auto", "none", "required")
    if (named or choice == "required") and not rules.forced_choice and thinks(request):
        writing.losses.append(WireLoss("tool_choice", "not_enforced"))
        choice, named = "auto", False
    if named and not rules.named_choice:
        writing.losses.append(WireLoss("tool_choice", "not_enforced"))
        return rules.required_choice
    if named:
        return _named(choice)
    word = rules.required_choice if choice == "required" else choice
    if request.allowed_tools is None or choice == "none":
        return word
    if not request.allowed_tools:
        return "none"
    if not rules.allowed_tools:
        writing.losses.append(WireLoss("allowed_tools", "not_enforced"))
        return word
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice, "tools": [_named(name) for name in request.allowed_tools]}}


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}
