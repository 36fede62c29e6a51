"""What Anthropic's Messages endpoints refuse, written from the documentation and the error texts (wire-format notes 4.1 to 4.3).

On purpose nothing here is shared with the service: a rule that both had wrong in the same way would never show.
"""

from collections.abc import Iterator
from typing import Any

from tests.fakes.anthropic_conversation import blank, conversation_breaches, runs
from tests.fakes.anthropic_shapes import BETA, COUNTED, CREATED, NEEDED, SAMPLING
from tests.fakes.anthropic_tools import cache_breaches, media_breaches, output_breaches, tool_breaches
from tests.fakes.claude_models import Claude, claude
from tests.fakes.claude_thinking import BINDING_BETA, Asked, thinking_breaches
from tests.fakes.shapes import Breach, number, record

OLD, NEW = "2023-06-01", "2026-10-21"


def breaches(body: Any, version: str = NEW, betas: frozenset[str] | None = frozenset(), counting: bool = False) -> list[Breach]:
    """Everything that is wrong with a body by itself; empty for one that is served.

    `betas`: what the header asks for; None where it is not known and everything may be. `counting`: a body for count_tokens.
    """
    if not isinstance(body, dict):
        return [Breach("", "Input should be a valid dictionary")]
    more = {**(COUNTED if counting else CREATED)}
    needed = NEEDED if counting else {**NEEDED, "max_tokens": number(0)}
    if version == OLD and not counting:
        more |= SAMPLING
    if betas is None or betas:
        more |= BETA
    shape = [*record(needed, more)(body, ""), *_binding(body, betas)]
    return shape or list(_content(body, version, claude(body["model"])))


def asked(body: dict[str, Any]) -> Asked:
    """What a body says about thinking."""
    config = body.get("output_config") or {}
    choice = body.get("tool_choice") or {}
    return Asked(body.get("thinking"), config.get("effort"), choice.get("type"), body.get("max_tokens"))


def _binding(body: dict[str, Any], betas: frozenset[str] | None) -> Iterator[Breach]:
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and "block_binding" in thinking and betas is not None and BINDING_BETA not in betas:
        yield Breach(f"thinking.{thinking.get('type')}.block_binding", "Extra inputs are not permitted")


def _content(body: dict[str, Any], version: str, model: Claude) -> Iterator[Breach]:
    """The rules for a body of the right shape."""
    for block in body["system"] if isinstance(body.get("system"), list) else ():
        yield from blank("system", block)
    yield from conversation_breaches(body["messages"], model)
    yield from tool_breaches(body)
    yield from output_breaches(body)
    yield from cache_breaches(body)
    yield from media_breaches(body, model)
    yield from thinking_breaches(asked(body), model)
    yield from _thinking_blocks(body, model)
    yield from _numbers(body, model)
    if version == NEW:
        yield from _new(body["messages"])


def _thinking_blocks(body: dict[str, Any], model: Claude) -> Iterator[Breach]:
    """What can be said of blocks of thinking without knowing where they came from."""
    found = runs(body["messages"])
    for run in found:
        for block, at in run.blocks:
            if block["type"] == "thinking" and not block["signature"]:
                yield Breach(at, "Invalid `signature` in `thinking` block")
            if block["type"] == "redacted_thinking" and not block["data"]:
                yield Breach(at, "Invalid `data` in `redacted_thinking` block")
    answers = [place for place, run in enumerate(found) if run.role == "assistant"]
    if not answers:
        return
    last, after = found[answers[-1]], found[answers[-1] + 1 :]
    open_round = all(run.role == "system" or run.ids("tool_result", "tool_use_id") for run in after)
    first, at = last.blocks[0] if last.blocks else ({"type": "nothing"}, last.at)
    if asked(body).kind == "enabled" and open_round and first["type"] not in ("thinking", "redacted_thinking"):
        yield Breach(
            f"{at}.type",
            f"Expected `thinking` or `redacted_thinking`, but found `{first['type']}`. When `thinking` is enabled, a final `assistant` message "
            "must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
        )
    if not after and not asked(body).thinks(model) and any(block["type"] == "thinking" for block, _ in last.blocks):
        yield Breach(last.at, "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.")


def _numbers(body: dict[str, Any], model: Claude) -> Iterator[Breach]:
    if model.output_tokens_max is not None and body.get("max_tokens", 0) > model.output_tokens_max:
        most = model.output_tokens_max
        yield Breach("max_tokens", f"{body['max_tokens']} > {most}, which is the maximum allowed number of output tokens for {body['model']}")
    for sequence in body.get("stop_sequences", ()):
        if not sequence.strip():
            yield Breach("stop_sequences", "each stop sequence must contain non-whitespace")
    sampled = [key for key in SAMPLING if key in body]
    if sampled and not model.sampling:
        yield Breach("", f"`{sampled[0]}` is deprecated for this model.")
    if asked(body).kind in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        yield Breach("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")


def _new(messages: list[dict[str, Any]]) -> Iterator[Breach]:
    """What version 2026-10-21 takes no longer (wire-format notes 4)."""
    for run in runs(messages):
        for block, at in run.blocks:
            if run.role == "assistant" and block["type"] == "document":
                yield Breach(at, "`document` blocks can only be in `user` messages")
            if run.role == "user" and block["type"] == "text" and block.get("citations"):
                yield Breach(f"{at}.text.citations", "Extra inputs are not permitted")
