"""What each Claude model takes, as far as a request body can show it (wire-format notes 4.1 and 4.3). Names may be dated or Bedrock's."""

import re
from dataclasses import dataclass, replace
from typing import Literal

EFFORTS = ("low", "medium", "high", "xhigh", "max")
_NAME = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d)(?:-(?P<minor>\d{1,2}))?(?![\d])")
_OLD = re.compile(r"claude-(?P<major>[23])(?:[-.](?P<minor>\d))?-")


@dataclass(frozen=True, slots=True)
class Claude:
    """`disabled`: whether thinking can be switched off, `effort`: only at effort high or below. `forced`: what a forced tool choice does:
    it works, it works without thinking, it is refused, or it is refused beside `enabled`. `bound`: signatures hold for one prefix,
    `account_bound`: for one account.
    """

    name: str
    adaptive: bool = True
    enabled: bool = False
    between_tools: bool = False
    disabled: Literal["yes", "no", "effort"] = "yes"
    default_on: bool = True
    forced: Literal["works", "off", "refused", "enabled"] = "works"
    bound: bool = False
    account_bound: bool = False
    prefill: bool = False
    sampling: bool = False
    system_role: bool = True
    efforts: tuple[str, ...] = EFFORTS
    output_tokens_max: int | None = 128_000
    images_max: int = 600


_ALWAYS = Claude("", disabled="no", forced="refused")
_FOUR_FIVE = Claude(
    "",
    adaptive=False,
    enabled=True,
    default_on=False,
    forced="enabled",
    prefill=True,
    sampling=True,
    system_role=False,
    efforts=EFFORTS[:3],
    output_tokens_max=64_000,
    images_max=100,
)
_FOUR_SIX = replace(_FOUR_FIVE, adaptive=True, prefill=False, efforts=("low", "medium", "high", "max"), output_tokens_max=128_000, images_max=600)
_FOUR_SEVEN = Claude("", default_on=False, system_role=False)
_TABLE = {
    "fable-5-1": replace(_ALWAYS, bound=True),
    "fable-5-2": replace(_ALWAYS, bound=True),
    "mythos-5-1": _ALWAYS,
    "mythos-5-2": replace(_ALWAYS, bound=True),
    "fable-5": replace(_ALWAYS, forced="off"),
    "mythos-5": replace(_ALWAYS, forced="off"),
    "opus-5-5": replace(_ALWAYS, bound=True),
    "sonnet-5-5": replace(_ALWAYS, bound=True, account_bound=True, between_tools=True),
    "haiku-5-5": Claude("", disabled="effort", bound=True, account_bound=True),
    "opus-5": Claude("", disabled="effort", forced="off"),
    "sonnet-5": Claude("", forced="off"),
    "opus-4-8": replace(_FOUR_SEVEN, system_role=True),
    "opus-4-7": _FOUR_SEVEN,
    "opus-4-6": _FOUR_SIX,
    "sonnet-4-6": _FOUR_SIX,
    "opus-4-5": _FOUR_FIVE,
    "sonnet-4-5": _FOUR_FIVE,
    "haiku-4-5": _FOUR_FIVE,
    "opus-4-1": replace(_FOUR_FIVE, output_tokens_max=32_000),
    "opus-4": replace(_FOUR_FIVE, output_tokens_max=32_000),
    "opus-4-0": replace(_FOUR_FIVE, output_tokens_max=32_000),
    "sonnet-4": _FOUR_FIVE,
    "sonnet-4-0": _FOUR_FIVE,
}


def claude(model: str) -> Claude:
    """The facts of a model. A name that says nothing to us may do everything, so that a test can call its model what it likes."""
    found = _NAME.search(model)
    if found:
        name = found["family"] + "-" + found["major"] + (f"-{found['minor']}" if found["minor"] else "")
        if name in _TABLE:
            return replace(_TABLE[name], name=f"claude-{name}")
    if old := _OLD.search(model):
        return replace(_FOUR_FIVE, name=model, enabled=(old["major"], old["minor"]) == ("3", "7"), output_tokens_max=None)
    return Claude(model, enabled=True, between_tools=True, prefill=True, sampling=True, output_tokens_max=None)
