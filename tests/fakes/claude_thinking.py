"""Which settings of thinking each Claude model takes (wire-format notes 4.1), in Anthropic's words; Bedrock hands them through."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.claude_models import Claude
from tests.fakes.shapes import Breach, anything, maybe, number, one_of, record, tagged
from tests.fakes.thinking_book import Misfit

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_BINDING = {"block_binding": maybe(record({}, {"prefix_mismatch_behavior": maybe(one_of("error", "drop_block"))}))}
_DISPLAY = {"display": maybe(one_of("summarized", "omitted")), **_BINDING}
THINKING = tagged(
    {
        "adaptive": record({"type": anything}, _DISPLAY),
        "enabled": record({"type": anything, "budget_tokens": number(1024)}, _DISPLAY),
        "disabled": record({"type": anything}, _BINDING),
        "between_tools": record({"type": anything}, _BINDING),
    }
)
FORCING = ("any", "tool")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a body says about thinking, wherever its format says it."""

    thinking: Any = None
    effort: str | None = None
    choice: str | None = None
    max_tokens: Any = None

    @property
    def kind(self) -> str | None:
        kind = self.thinking.get("type") if isinstance(self.thinking, dict) else None
        return kind if isinstance(kind, str) else None

    @property
    def omitted(self) -> bool:
        """Whether the text of thinking stays away."""
        return isinstance(self.thinking, dict) and self.thinking.get("display") == "omitted"

    @property
    def drops(self) -> bool:
        """Whether blocks of another prefix are dropped instead of refused."""
        binding = self.thinking.get("block_binding") if isinstance(self.thinking, dict) else None
        return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"

    def thinks(self, model: Claude) -> bool:
        """Whether the model may think on this body."""
        if model.forced == "off" and self.choice in FORCING:
            return False
        return self.kind != "disabled" and (self.kind is not None or model.default_on)


def thinking_breaches(asked: Asked, model: Claude) -> Iterator[Breach]:
    """What is wrong with the settings of a body of the right shape."""
    kind = asked.kind
    high = asked.effort in ("xhigh", "max")
    if kind == "adaptive" and not model.adaptive:
        yield Breach("", "adaptive thinking is not supported on this model")
    if kind == "enabled":
        if not model.enabled:
            yield Breach("", '"thinking.type.enabled" is not supported for this model.')
        budget = asked.thinking.get("budget_tokens")
        if type(budget) is int and type(asked.max_tokens) is int and budget >= asked.max_tokens:
            yield Breach("", "`max_tokens` must be greater than `thinking.budget_tokens`")
    if kind == "disabled" and (model.disabled == "no" or (model.disabled == "effort" and high)):
        yield Breach("", '"thinking.type.disabled" is not supported for this model.')
    if kind == "between_tools" and (not model.between_tools or high):
        yield Breach("", '"thinking.type.between_tools" is not supported for this model.')
    if asked.effort is not None and asked.effort not in model.efforts:
        yield Breach("output_config.effort", f"'{asked.effort}' is not supported on this model")
    if asked.choice in FORCING and (model.forced == "refused" or (model.forced == "enabled" and kind == "enabled")):
        yield Breach("", "Thinking may not be enabled when tool_choice forces tool use.")


_GISTS = {
    "unknown": "Invalid `signature` in `thinking` block",
    "account": "Invalid `signature` in `thinking` block. The block was created under a different organization.",
    "model": "Invalid `signature` in `thinking` block. The block was created by a different model.",
}
_CHANGED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_DIFFERS = {"system": "The `system` prompt differs.", "tools": "The `tools` differ.", "messages": "An earlier message differs."}


def misfit_breach(misfit: Misfit) -> Breach:
    """The words for a block of thinking that comes back wrong."""
    if misfit.reason in _DIFFERS:
        return Breach(misfit.at, f"{_BOUND} {_DIFFERS[misfit.reason]}")
    return Breach(misfit.at, _GISTS.get(misfit.reason, _CHANGED))
