"""What the request weighs, in tokens of the target's estimator.

Entries bring the tokens that were counted when they were appended; what only this request holds is counted here, and what a
message, a call, a tool and a picture cost beside their text comes from the target's wire rules (wire-format notes 7.3, 7.4).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.context.draft import Count, Draft
from app.context.sources import Tool
from app.entries import lossless
from app.entries.parts import Media, Part, Text, ToolCall
from app.models.images import image_tokens
from app.models.wire_rules import WireRules


@dataclass(frozen=True, slots=True)
class Measured:
    """Tokens. `overhead` is what the wire format adds beside all text; `tool_tokens` follow the declared tools one by one."""

    system: int
    tools: int
    messages: int
    overhead: int
    tool_tokens: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        return self.system + self.tools + self.messages + self.overhead


def declaration(tool: Tool) -> str:
    """The declared part of a tool as JSON text: what is counted and digested. How the service treats a tool is not in it."""
    return lossless.dumps({"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)})


def measure(draft: Draft, tools: tuple[Tool, ...], count: Count) -> Measured:
    """The weight of a draft with these tools declared; O(messages) beside the texts that are counted."""
    rules = draft.sources.target.rules
    messages = calls = 0
    for item in draft.placed:
        messages += item.tokens
        if item.message is None:
            continue
        for part in item.message.parts:
            if isinstance(part, Text):
                continue
            if isinstance(part, ToolCall):
                calls += 1
            elif isinstance(part, Media):
                messages += _media(part, rules)
    wire_messages = len(draft.placed) + bool(draft.system)
    overhead = wire_messages * rules.message_overhead_tokens + calls * rules.call_overhead_tokens + rules.reply_overhead_tokens
    tool_tokens = tuple([count(declaration(tool)) + rules.tool_overhead_tokens for tool in tools])
    return Measured(
        sum(tokens for _, tokens in draft.system),
        sum(tool_tokens) + (rules.tools_overhead_tokens if tools else 0),
        messages,
        overhead,
        tool_tokens,
    )


def media_tokens(parts: Iterable[Part], rules: WireRules) -> int:
    """What the images and files of a message weigh beside its text."""
    return sum(_media(part, rules) for part in parts if isinstance(part, Media))


def _media(part: Media, rules: WireRules) -> int:
    """An image by its size where that is known; a file like an image without one."""
    blob = part.blob if part.kind == "image" else None
    width, height = (None, None) if blob is None else (blob.width, blob.height)
    return image_tokens(rules.image_counting, rules.image_tokens, width, height)
