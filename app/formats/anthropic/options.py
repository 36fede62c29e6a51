"""What a request asks for beside its messages: thinking and effort, the choice of tools, and the marks of the prompt cache."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.context.draft import NeutralRequest
from app.formats.anthropic.rules import BUDGET_TOKENS, BUDGET_TOKENS_MIN, THINKING_BLOCKS
from app.formats.protocols import WireLoss
from app.models.efforts import nearest_effort
from app.models.wire_rules import WireRules


class Thinking(NamedTuple):
    """The keys of the body that ask for thinking, and why it is not what was wanted, if it is not."""

    keys: dict[str, Any]
    why: str | None = None


def thinking(rules: WireRules, wanted: str | None, output_tokens_max: int, forced: bool, messages: Sequence[Mapping[str, Any]] = ()) -> Thinking:
    """How the effort that was wanted is asked for (4.1). Without a word on it nothing is sent, and the model's own default holds.

    A budget cannot be given beside a forced choice of tools, nor in the middle of a round of calls that was begun without thinking
    (4.2): such a call goes without.
    """
    if wanted is None:
        return Thinking({})
    types = rules.thinking_types.split()
    if wanted == "none" and "disabled" not in types and "between_tools" in types:
        return Thinking({"thinking": {"type": "between_tools"}}, "nearest_sent")
    sent = nearest_effort(wanted, rules.efforts) if rules.thinking in ("adaptive", "budget", "effort") else None
    why = None if sent == wanted else "not_in_format" if sent is None else "nearest_sent"
    if sent is None:
        return Thinking({}, why)
    if sent == "none":
        return Thinking({"thinking": {"type": "disabled"}}, why)
    if rules.thinking == "effort":
        return Thinking({"output_config": {"effort": sent}}, why)
    if rules.thinking == "adaptive":
        return Thinking({"thinking": {"type": "adaptive"}, "output_config": {"effort": sent}}, why)
    budget = min(BUDGET_TOKENS.get(sent, BUDGET_TOKENS_MIN), max(BUDGET_TOKENS_MIN, output_tokens_max * 3 // 4))
    if budget >= output_tokens_max:
        return Thinking({}, "output_cap_too_small")
    if forced:
        return Thinking({}, "not_with_forced_choice")
    if not _may_begin_to_think(messages):
        return Thinking({}, "not_in_this_round")
    return Thinking({"thinking": {"type": "enabled", "budget_tokens": budget}}, why)


def _may_begin_to_think(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no round of calls is open, or the answer that opened it begins with its thinking."""
    answer = messages[-1] if messages else None
    if answer is not None and answer["role"] == "user":
        open_round = len(messages) > 1 and any(block["type"] == "tool_result" for block in answer["content"])
        answer = messages[-2] if open_round else None
    if answer is None:
        return True
    return bool(answer["content"][0]["type"] in THINKING_BLOCKS)


def tool_choice(request: NeutralRequest, rules: WireRules) -> tuple[dict[str, Any] | None, tuple[WireLoss, ...]]:
    """How the tools may be chosen (0.2), and what of it cannot be said. There is no form for a subset: every definition stays declared,
    so that the prefix does, and a call outside of the subset is rejected when it comes. One tool that has to be called is a named one.
    """
    choice, allowed = request.tool_choice, request.allowed_tools
    if not request.tools or (choice is None and allowed is None):
        return None, ()
    if not rules.tool_choice:
        return None, (WireLoss("tool_choice", "not_enforced"),)
    losses: tuple[WireLoss, ...] = ()
    choice = choice or "auto"
    if allowed is not None and choice in ("auto", "required"):
        if not allowed:
            choice = "none"
        elif choice == "required" and len(allowed) == 1:
            choice = allowed[0]
        else:
            losses = (WireLoss("allowed_tools", "not_enforced"),)
    if choice in ("auto", "none"):
        return {"type": choice}, losses
    if not rules.forced_choice:
        return {"type": "auto"}, (*losses, WireLoss("tool_choice", "not_enforced"))
    return ({"type": "any"} if choice == "required" else {"type": "tool", "name": choice}), losses


def set_marks(document: Mapping[str, Any], marks_max: int) -> None:
    """Marks where the cache may break (4.4): the end of the list, of the instructions, of the input before the last, and of the tools.

    The more useful come first where there are fewer to set. The blocks are changed in place.
    """
    places = []
    for message in reversed(document["messages"]):
        if message["role"] == "user":
            places.append(message["content"][-1])
            if len(places) == 2:
                break
    if document.get("system"):
        places.insert(1, document["system"][-1])
    if document.get("tools"):
        places.append(document["tools"][-1])
    for block in places[:marks_max]:
        block["cache_control"] = {"type": "ephemeral"}
