"""What the families of models behind Converse take, told by their ids. Data and one look-up.

Sources: the wire-format notes 4.1 (Claude), 6 and 7.3; pydantic-ai's profiles, which say that they were run against us-east-1 in July
2026 (what may stand beside and in results, who may begin, choices); the AI SDK's recorded refusals (Nova 2, gpt-oss); AWS's table of
Converse's features (which models see images and read documents). An application's own profile says nothing of its family: the
operator lays quirks over the defaults.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from app.formats.bedrock.rules import RULES
from app.models.wire_rules import WireRules

_CLAUDE_EFFORTS = "low medium high xhigh max"
_HIGH_RESOLUTION_TOKENS = 4_784
_NOT_A_MINOR = r"(?!-\d(?!\d))"
"""Behind `opus-5`: not `opus-5-5`, but a date may follow."""


class Claude(NamedTuple):
    """A row of the notes' 4.1. `pattern` is of what follows `claude-`; `tools_tokens` is the greater of 7.3's two figures."""

    pattern: str
    thinking: str
    efforts: str
    forced_choice: bool
    prefix_bound: bool
    temperature: bool
    user_last: bool
    tools_tokens: int = 804
    image_tokens: int = _HIGH_RESOLUTION_TOKENS
    cache_breakpoints: int = 3


CLAUDE: tuple[Claude, ...] = (
    Claude(r"fable-5-[12](?!\d)|mythos-5-2(?!\d)", "adaptive", _CLAUDE_EFFORTS, False, True, False, True),
    Claude(r"mythos-5-1(?!\d)", "adaptive", _CLAUDE_EFFORTS, False, False, False, True),
    Claude(rf"(fable|mythos)-5{_NOT_A_MINOR}", "adaptive", _CLAUDE_EFFORTS, True, False, False, True),
    Claude(r"(opus|sonnet)-5-5(?!\d)", "adaptive", _CLAUDE_EFFORTS, False, True, False, True),
    Claude(r"haiku-5-5(?!\d)", "adaptive", f"none {_CLAUDE_EFFORTS}", True, True, False, True),
    Claude(rf"opus-5{_NOT_A_MINOR}", "adaptive", f"none {_CLAUDE_EFFORTS}", True, False, False, True, 406),
    Claude(rf"sonnet-5{_NOT_A_MINOR}", "adaptive", f"none {_CLAUDE_EFFORTS}", True, False, False, True, 474),
    Claude(r"opus-4-8(?!\d)", "adaptive", f"none {_CLAUDE_EFFORTS}", True, False, False, True, 410),
    Claude(r"opus-4-7(?!\d)", "adaptive", f"none {_CLAUDE_EFFORTS}", True, False, False, True, 804),
    Claude(r"(opus|sonnet)-4-6(?!\d)", "adaptive", "none low medium high max", True, False, True, True, 589, 1_568),
    Claude(
        rf"(opus|sonnet|haiku)-4-[015](?!\d)|(opus|sonnet)-4{_NOT_A_MINOR}|3-7-",
        "budget",
        "none minimal low medium high xhigh max",
        True,
        False,
        True,
        False,
        588,
        1_568,
    ),
    Claude(r"3-|v2|2|instant", "", "", True, False, True, False, 588, 1_568, 0),
    Claude(r"", "adaptive", "low medium high", False, True, False, True),
)
"""First match wins; the last row is a model that the table does not know yet, taken for one of the strictest."""

_NOVA: Mapping[str, Any] = MappingProxyType({"cache_breakpoints": 2})
_RESULTS_ALONE: Mapping[str, Any] = MappingProxyType({"reply_after_results": True, "tool_choice": False})
_TEXT_ONLY: Mapping[str, Any] = MappingProxyType({"images": False, "result_images": False})
_MISTRAL: Mapping[str, Any] = MappingProxyType(
    {**_RESULTS_ALONE, "call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_chars_max": 9, "result_images": False, "result_files": True}
)
_UNSIGNED: Mapping[str, Any] = MappingProxyType({**_TEXT_ONLY, "files": False, "foreign_reasoning": "drop", "tool_choice": False})
"""They think aloud without a signature: sent back, it can leak into what they say (0.3)."""

FAMILIES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (r"amazon\.nova-2-", {**_NOVA, "thinking": "level", "efforts": "none low medium high"}),
    (r"amazon\.nova-micro", {**_NOVA, **_TEXT_ONLY, "files": False}),
    (r"amazon\.nova-", _NOVA),
    (r"meta\.llama(3-2-(11|90)b|4)", {**_RESULTS_ALONE, "result_files": True}),
    (r"meta\.llama3-(2-[13]b|8b|70b)", {**_RESULTS_ALONE, **_TEXT_ONLY, "tools": "text"}),
    (r"meta\.llama", {**_RESULTS_ALONE, **_TEXT_ONLY, "result_files": True}),
    (r"mistral\.(pixtral|mistral-large-3|ministral-3|magistral)", _MISTRAL),
    (r"mistral\.(mistral-7b|mixtral)", {**_MISTRAL, "images": False, "tools": "text"}),
    (r"mistral\.", {**_MISTRAL, "images": False}),
    (r"writer\.", {**_RESULTS_ALONE, **_TEXT_ONLY, "files": False, "result_status": False}),
    (r"qwen\..*-vl-", {**_UNSIGNED, "images": True, "user_first": False}),
    (r"qwen\.", {**_UNSIGNED, "user_first": False}),
    (r"openai\.gpt-oss", {**_UNSIGNED, "thinking": "effort", "efforts": "low medium high"}),
    (r"deepseek\.r1", {**_UNSIGNED, "tools": "text"}),
    (r"deepseek\.", _UNSIGNED),
    (r"moonshot(ai)?\.", {"user_first": False, "files": False, "result_images": False}),
    (r"zai\.", {**_TEXT_ONLY, "user_first": False, "files": False}),
    (r"cohere\.|ai21\.", {**_TEXT_ONLY, "tool_choice": False}),
)
"""Pattern of an id → what differs from the defaults; first match wins."""

_CLAUDE_ID = re.compile(r"(?:^|[./:])anthropic\.claude-(.*)", re.DOTALL)
_FAMILIES = tuple((re.compile(rf"(?:^|[./:]){pattern}"), changes) for pattern, changes in FAMILIES)
_CLAUDE = tuple((re.compile(row.pattern), row) for row in CLAUDE)


def rules_for(model: str) -> WireRules:
    """The rules for a model, before any quirk. Regions in front and ARNs around an id change nothing."""
    claude = _CLAUDE_ID.search(model)
    if claude is not None:
        return _claude(next(row for pattern, row in _CLAUDE if pattern.match(claude[1])))
    changes = next((changes for pattern, changes in _FAMILIES if pattern.search(model)), None)
    return RULES if changes is None else replace(RULES, **changes)


def _claude(row: Claude) -> WireRules:
    return replace(
        RULES,
        call_id_pattern="[a-zA-Z0-9_-]{1,64}",  # Anthropic's own (4.3), narrower than Converse's
        user_first=False,
        none_choice=True,
        result_files=True,
        thinking=row.thinking,
        efforts=row.efforts,
        forced_choice=row.forced_choice,
        prefix_bound=row.prefix_bound,
        temperature=row.temperature,
        user_last=row.user_last,
        tools_overhead_tokens=row.tools_tokens,
        image_tokens=row.image_tokens,
        cache_breakpoints=row.cache_breakpoints,
    )
