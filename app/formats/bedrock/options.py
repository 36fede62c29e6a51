"""Everything of a request but its messages and instructions: tools and their choice, caps, and fields of the model's own vendor.

Sources: the wire-format notes 0.2, 4.1 and 6.1; a native `tool_choice` beside `toolConfig.toolChoice` is a conflict that Bedrock refuses.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from app.context.draft import NeutralRequest
from app.formats.bedrock.rules import BUDGET_FRACTIONS, THINKING_TOKENS_MIN
from app.formats.protocols import WireLoss
from app.models.efforts import nearest_effort
from app.models.wire_rules import WireRules

Losses = list[WireLoss]


class Tools(NamedTuple):
    """`specs`: name, description and schema of each tool to declare, in order. `choice` is Converse's, `native` Anthropic's own."""

    specs: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    choice: Mapping[str, Any] | None = None
    native: Mapping[str, Any] | None = None


class Reasoning(NamedTuple):
    """`fields` go to the model's vendor as they are. `budget_tokens` None: none was told; `alone`: no cap and no sampling may stand beside."""

    fields: Mapping[str, Any]
    thinks: bool = False
    budget_tokens: int | None = None
    alone: bool = False


def read_tools(request: NeutralRequest, used: Iterable[str], forced: bool, losses: Losses) -> Tools:
    """What is declared and how it may be chosen. `used`: names of the calls in the history; `forced`: whether a call may be forced now.

    A model that is not given the tools of its history refuses it, so these are declared, with nothing said of them.
    """
    rules, names = request.target.rules, tuple(used)
    if not request.tools:
        if not names or not rules.history_needs_tools:
            return Tools()
        losses.append(WireLoss("tools", "declared_for_history"))
        declared = Tools(tuple((name, "", {"type": "object", "properties": {}}) for name in names))
        return declared._replace(native={"type": "none"}) if rules.none_choice else declared
    tools = Tools(tuple((tool.name, tool.description, tool.parameters) for tool in request.tools))
    choice, allowed = request.tool_choice, request.allowed_tools
    if choice == "none" or allowed == ():
        return _none(tools, bool(names), rules, losses)
    forced = forced and rules.tool_choice and rules.forced_choice
    if allowed is not None and len(allowed) == 1 and choice == "required" and forced:
        choice = allowed[0]  # the one subset that can be said
    elif allowed is not None:
        losses.append(WireLoss("allowed_tools", "not_enforced"))
    if choice is None:
        return tools
    if choice != "auto" and not forced:
        losses.append(WireLoss("tool_choice", "not_enforced"))
        choice = "auto"
    if not rules.tool_choice:
        return tools
    said: dict[str, Mapping[str, Any]] = {"auto": {"auto": {}}, "required": {"any": {}}}
    return tools._replace(choice=said.get(choice, {"tool": {"name": choice}}))


def _none(tools: Tools, called_before: bool, rules: WireRules, losses: Losses) -> Tools:
    """No form says "none" (0.2): Anthropic's own does, leaving the tools out does where the history has no call, and else nothing does."""
    if rules.none_choice:
        return tools._replace(native={"type": "none"})
    if called_before:
        losses.append(WireLoss("tool_choice", "not_enforced"))
        return tools
    losses.append(WireLoss("tools", "left_out_for_none"))
    return Tools()


def read_reasoning(
    params: Mapping[str, Any], rules: WireRules, output_tokens_max: int, messages: Sequence[Mapping[str, Any]], losses: Losses
) -> Reasoning:
    """How thinking is asked for, in the shape of the model's vendor; another effort than was wanted, and none at all, is a loss.

    A budget cannot be given in the middle of a round of calls, or of an answer, that was begun without thinking (4.2).
    """
    wanted = (params.get("reasoning") or {}).get("effort")
    if wanted is None:
        return Reasoning({})
    sent = nearest_effort(wanted, rules.efforts) if rules.thinking else None
    if sent != wanted:
        losses.append(WireLoss("reasoning_effort", "not_in_format" if sent is None else "nearest_sent"))
    if sent is None:
        return Reasoning({})
    match rules.thinking:
        case "effort":
            return Reasoning({"reasoning_effort": sent})
        case "level":
            if sent == "none":
                return Reasoning({"reasoningConfig": {"type": "disabled"}})
            return Reasoning({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": sent}}, alone=sent == "high")
    if sent == "none":
        return Reasoning({"thinking": {"type": "disabled"}})
    if rules.thinking == "adaptive":
        return Reasoning({"thinking": {"type": "adaptive"}, "output_config": {"effort": sent}}, thinks=True)
    budget = max(THINKING_TOKENS_MIN, int(BUDGET_FRACTIONS[sent] * output_tokens_max))
    if budget >= output_tokens_max:
        losses.append(WireLoss("reasoning_effort", "no_room_below_the_cap"))
        return Reasoning({})
    if not _may_begin_to_think(messages):
        losses.append(WireLoss("reasoning_effort", "not_in_this_round"))
        return Reasoning({})
    return Reasoning({"thinking": {"type": "enabled", "budget_tokens": budget}}, True, budget)


def _may_begin_to_think(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no answer is under way, or the one that is begins with its thinking."""
    place = next((place for place in range(len(messages) - 1, -1, -1) if messages[place]["role"] == "assistant"), None)
    if place is None or not all(any("toolResult" in block for block in message["content"]) for message in messages[place + 1 :]):
        return True
    return "reasoningContent" in messages[place]["content"][0]


def inference(params: Mapping[str, Any], rules: WireRules, reasoning: Reasoning, output_tokens_max: int, losses: Losses) -> dict[str, Any]:
    """`inferenceConfig`: the cap, which a budget of thinking needs beside it, and the temperature where it is taken."""
    found: dict[str, Any] = {}
    given = params.get("max_output_tokens") is not None
    if reasoning.alone:
        losses.extend([WireLoss("max_output_tokens", "not_with_this_effort")] if given else ())
    elif given or reasoning.budget_tokens is not None:
        found["maxTokens"] = output_tokens_max
    temperature = params.get("temperature")
    if temperature is None:
        return found
    if not rules.temperature:
        losses.append(WireLoss("temperature", "not_in_format"))
    elif reasoning.alone or reasoning.thinks:
        losses.append(WireLoss("temperature", "not_with_thinking"))
    else:
        if temperature > 1:
            losses.append(WireLoss("temperature", "nearest_sent"))
        found["temperature"] = min(temperature, 1)
    return found
