"""Everything of a request but its contents: declarations, how tools may be chosen, and generation parameters."""

from collections.abc import Mapping
from typing import Any

from app.context.draft import NeutralRequest
from app.formats.gemini.rules import BUDGETS_TOKENS, LEVELS
from app.formats.protocols import WireLoss
from app.models.efforts import nearest_effort
from app.models.wire_rules import WireRules

Losses = list[WireLoss]


def tool_config(request: NeutralRequest, losses: Losses) -> dict[str, Any] | None:
    """How the tools may be chosen (0.2): a mode, and with ANY or VALIDATED the names that may be called. Never without declarations."""
    rules = request.target.rules
    if not request.tools or (request.tool_choice is None and request.allowed_tools is None):
        return None
    if not rules.tool_choice:
        losses.append(WireLoss("tool_choice", "not_enforced"))
        return None
    choice, names = request.tool_choice or "auto", request.allowed_tools
    named = choice not in ("auto", "none", "required")
    forced = named or choice == "required"
    if forced and not rules.forced_choice:
        losses.append(WireLoss("tool_choice", "not_enforced"))
        named = forced = False
    if named:
        return _config("ANY", (choice,))
    if choice == "none" or (names is not None and not names):
        return _config("NONE")
    if names is not None and not rules.allowed_tools:
        losses.append(WireLoss("allowed_tools", "not_enforced"))
        names = None
    if names is None:
        return _config("ANY" if forced else "AUTO")
    return _config("ANY" if forced else "VALIDATED", names)


def _config(mode: str, names: tuple[str, ...] | None = None) -> dict[str, Any]:
    config: dict[str, Any] = {"mode": mode}
    if names is not None:
        config["allowedFunctionNames"] = list(names)
    return {"functionCallingConfig": config}


def generation_config(params: Mapping[str, Any], rules: WireRules, losses: Losses) -> dict[str, Any]:
    """The neutral parameters in Gemini's words; empty where none is given."""
    config: dict[str, Any] = {}
    if params.get("max_output_tokens") is not None:
        config["maxOutputTokens"] = params["max_output_tokens"]
    if params.get("temperature") is not None:
        if rules.temperature:
            config["temperature"] = params["temperature"]
        else:
            losses.append(WireLoss("params.temperature", "not_taken"))
    wanted = (params.get("reasoning") or {}).get("effort")
    if wanted is not None and (thinking := _thinking(wanted, rules, losses)):
        config["thinkingConfig"] = thinking
    return config


def _thinking(wanted: str, rules: WireRules, losses: Losses) -> dict[str, Any] | None:
    """A budget (2.5) or a level (3 and later), and summaries of what is thought. Another word than was wanted, and none, is a loss."""
    known = BUDGETS_TOKENS.keys() if rules.thinking == "budget" else LEVELS if rules.thinking == "level" else ()
    sent = nearest_effort(wanted, " ".join(word for word in rules.efforts.split() if word in known))
    if sent != wanted:
        losses.append(WireLoss("reasoning_effort", "not_in_format" if sent is None else "nearest_sent"))
    if sent is None:
        return None
    if rules.thinking == "level":
        return {"includeThoughts": True, "thinkingLevel": sent.upper()}
    budget = BUDGETS_TOKENS[sent]
    return {"includeThoughts": True, "thinkingBudget": budget} if budget else {"thinkingBudget": 0}


def merged(document: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The document with extra keys laid over it; objects are merged key by key, since nearly every parameter stands inside one."""
    found = dict(document)
    for key, value in extra.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found
