"""Everything of a Messages request but its messages: instructions, tools, choice, thinking, caps, cache marks, and what excludes what."""

import re
from collections.abc import Mapping
from typing import Any

from app.formats.anthropic.rules import BUDGET_TOKENS_MIN, THINKING_BLOCKS
from app.formats.anthropic.validate_blocks import Blocks
from app.formats.anthropic.validate_conversation import Conversation, place_of
from app.formats.anthropic.validate_schemas import check_strict, check_structured
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_OWN = ("model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "stop_sequences", "stream", "metadata")
_REST = ("cache_control", "service_tier", "speed", "inference_geo", "container", "diagnostics", "user_profile_id", "workspace_id")
_BETA = ("mcp_servers", "context_management", "compaction", "fallbacks", "fallback_credit_token", "billing_policy", "thread")
_SAMPLING = ("temperature", "top_p", "top_k")
_KEYS = frozenset((*_OWN, *_REST, *_BETA, *_SAMPLING))
_TOOL_KEYS = frozenset(
    {
        "type",
        "name",
        "description",
        "input_schema",
        "strict",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "input_examples",
        "allowed_callers",
    }
)
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_FORCING = ("any", "tool")


def check_options(body: Mapping[str, Any], blocks: Blocks, talk: Conversation | None, found: list[Violation], rules: WireRules) -> None:
    """Appends what is wrong outside of `messages`. `blocks` and `talk`: what was gathered of them; `talk` None where there are none."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append(Violation("/model", "model-missing", "`model` is a non-empty string."))
    cap = body.get("max_tokens")
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < 0:
        found.append(Violation("/max_tokens", "cap-missing", "`max_tokens` is an integer from 0."))
    if not _KEYS.issuperset(body):
        found.append(Violation("", "key-unknown", "The body has a key that the format does not know."))
    _sampling(body, found, rules)
    stops = body.get("stop_sequences")
    if stops is not None and not (isinstance(stops, list) and all(isinstance(stop, str) and stop.strip() for stop in stops)):
        found.append(Violation("/stop_sequences", "stops-invalid", "`stop_sequences` is a list of strings that are not blank."))
    of_messages, blocks.marks = blocks.marks, []
    names = _tools(body, blocks, found, rules)
    _system(body, blocks, found)
    before = blocks.marks
    blocks.marks = []
    blocks.mark(body, "")
    _marks([*before, *of_messages, *blocks.marks], found, rules)
    kind = _thinking(body, found, rules)
    _choice(body, names, kind, found, rules)
    if talk is not None:
        _rounds(kind, talk, found, rules)
    if rules.images_max and blocks.images > rules.images_max:
        found.append(Violation("/messages", "images-too-many", f"At most {rules.images_max} images are taken."))


def _sampling(body: Mapping[str, Any], found: list[Violation], rules: WireRules) -> None:
    for key in _SAMPLING:
        value = body.get(key)
        if value is None:
            continue
        if not rules.temperature:
            found.append(Violation(f"/{key}", "sampling-not-taken", "No sampling parameter is taken."))
        elif not isinstance(value, int | float) or isinstance(value, bool) or value < 0 or (key != "top_k" and value > 1):
            found.append(Violation(f"/{key}", "out-of-range", f"`{key}` is not within its range."))


def _system(body: Mapping[str, Any], blocks: Blocks, found: list[Violation]) -> None:
    system = body.get("system")
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        found.append(Violation("/system", "content-invalid", "`system` is a string or a list of text blocks."))
        return
    for index, block in enumerate(system):
        if not isinstance(block, Mapping) or block.get("type") != "text":
            found.append(Violation(f"/system/{index}/type", "block-type-not-taken", "`system` takes text blocks only."))
            continue
        blocks.words(block.get("text"), f"/system/{index}/text")
        blocks.mark(block, f"/system/{index}")


def _tools(body: Mapping[str, Any], blocks: Blocks, found: list[Violation], rules: WireRules) -> set[str]:
    tools, names, deferred = body.get("tools"), set[str](), 0
    if tools is None:
        return names
    if not isinstance(tools, list):
        found.append(Violation("/tools", "tools-invalid", "`tools` is a list."))
        return names
    if len(tools) > rules.tools_max:
        found.append(Violation("/tools", "tools-too-many", f"At most {rules.tools_max} tools are taken."))
    strict: list[tuple[str, Mapping[str, Any]]] = []
    for index, tool in enumerate(tools):
        at = f"/tools/{index}"
        if not isinstance(tool, Mapping):
            found.append(Violation(at, "tool-invalid", "A tool is an object."))
            continue
        name = tool.get("name")
        if isinstance(name, str) and name in names:
            found.append(Violation(f"{at}/name", "name-repeated", "Two tools bear the same name."))
        elif isinstance(name, str):
            names.add(name)
        if tool.get("defer_loading") is True:
            deferred += 1
            if tool.get("cache_control") is not None:
                found.append(Violation(f"{at}/cache_control", "mark-not-taken", "A deferred tool bears no cache mark."))
        blocks.mark(tool, at)
        if tool.get("type") in (None, "custom"):  # the others are the provider's own
            _tool(tool, at, found, rules)
            if tool.get("strict") is True and isinstance(tool.get("input_schema"), Mapping):
                strict.append((f"{at}/input_schema", tool["input_schema"]))
    if tools and deferred == len(tools):
        found.append(Violation("/tools", "tools-all-deferred", "At least one tool is not deferred."))
    check_strict(strict, found)
    return names


def _tool(tool: Mapping[str, Any], at: str, found: list[Violation], rules: WireRules) -> None:
    name, schema = tool.get("name"), tool.get("input_schema")
    if not _TOOL_KEYS.issuperset(tool):
        found.append(Violation(at, "key-unknown", f"A tool has no other keys than {', '.join(sorted(_TOOL_KEYS))}."))
    if not isinstance(name, str) or not re.fullmatch(rules.name_pattern, name):
        found.append(Violation(f"{at}/name", "name-invalid", f"A tool name matches {rules.name_pattern}."))
    if not isinstance(tool.get("description", ""), str):
        found.append(Violation(f"{at}/description", "text-missing", "A description is a string."))
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        found.append(Violation(f"{at}/input_schema", "schema-invalid", "`input_schema` is a JSON Schema of type object."))
        return
    if any(key in schema for key in ("oneOf", "anyOf", "allOf")):
        found.append(Violation(f"{at}/input_schema", "schema-invalid", "`input_schema` has no oneOf, anyOf or allOf at its top."))
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and not all(_PROPERTY.fullmatch(str(key)) for key in properties):
        found.append(Violation(f"{at}/input_schema/properties", "property-invalid", f"The name of a property matches {_PROPERTY.pattern}."))


def _choice(body: Mapping[str, Any], names: set[str], thinking: str | None, found: list[Violation], rules: WireRules) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind not in ("auto", "none", *_FORCING):
        found.append(Violation("/tool_choice", "choice-invalid", "`tool_choice` is an object of type auto, any, tool or none."))
        return
    if not body.get("tools"):
        found.append(Violation("/tool_choice", "choice-without-tools", "`tool_choice` needs `tools`."))
    elif kind == "tool" and str(choice.get("name")) not in names:
        found.append(Violation("/tool_choice/name", "choice-not-declared", "The chosen tool is not among `tools`."))
    allowed = {"type", "name"} if kind == "tool" else {"type"}
    if not set(choice) <= (allowed if kind == "none" else allowed | {"disable_parallel_tool_use"}):
        found.append(Violation("/tool_choice", "key-unknown", "The choice has a key that its type does not take."))
    if kind in _FORCING and (not rules.forced_choice or thinking == "enabled"):
        found.append(Violation("/tool_choice", "choice-not-taken", "A model that thinks cannot be forced to call."))


def _thinking(body: Mapping[str, Any], found: list[Violation], rules: WireRules) -> str | None:
    """What is wrong with thinking and effort, by the model's rules (4.1); the type of thinking that was asked for."""
    config = body.get("output_config")
    config = config if isinstance(config, Mapping) else {}
    effort = config.get("effort")
    if effort is not None and (effort == "none" or effort not in rules.efforts.split()):
        found.append(Violation("/output_config/effort", "effort-not-taken", f"This model takes the efforts {rules.efforts.removeprefix('none ')}."))
    form = config.get("format")
    if form is not None:
        check_structured(form, body, found)
    thinking = body.get("thinking")
    if thinking is None:
        return None
    kind = thinking.get("type") if isinstance(thinking, Mapping) else None
    if not isinstance(kind, str) or kind not in rules.thinking_types.split():
        found.append(Violation("/thinking/type", "thinking-not-taken", f"This model takes thinking of type {rules.thinking_types or 'none'}."))
    elif kind == "enabled":
        budget, cap = thinking.get("budget_tokens"), body.get("max_tokens")
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < BUDGET_TOKENS_MIN:
            found.append(Violation("/thinking/budget_tokens", "budget-too-small", f"A budget is an integer from {BUDGET_TOKENS_MIN}."))
        elif isinstance(cap, int) and budget >= cap:
            found.append(Violation("/thinking/budget_tokens", "budget-too-large", "A budget is below `max_tokens`."))
    elif kind != "adaptive" and effort is not None and effort not in rules.thinking_off_efforts.split():
        found.append(Violation("/thinking/type", "thinking-not-taken", "At this effort the model does not go without thinking."))
    if rules.temperature and kind in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        found.append(Violation("/temperature", "out-of-range", "Beside thinking `temperature` is 1."))
    return kind if isinstance(kind, str) else None


def _rounds(thinking: str | None, talk: Conversation, found: list[Violation], rules: WireRules) -> None:
    """What a budget asks of the answer that is under way (4.2), and thinking of one at the end that no thinking goes on with."""
    starts = talk.turn_starts
    if thinking == "enabled" and starts and starts[0][0] not in THINKING_BLOCKS and starts[-1][0] not in THINKING_BLOCKS:
        found.append(Violation(place_of(starts[-1][1]), "thinking-missing", "With a budget, the answer that is under way begins with its thinking."))
    if talk.last_thinking is not None and thinking != "enabled" and not rules.user_last:
        found.append(Violation(talk.last_thinking, "thinking-not-asked", "An answer at the end holds thinking only where thinking is asked for."))


def _marks(marks: list[tuple[str, Any]], found: list[Violation], rules: WireRules) -> None:
    """Cache marks in the order of the prefix: how many, and long ones before short ones (4.3)."""
    for at, _ in marks[rules.cache_breakpoints :]:
        found.append(Violation(at, "marks-too-many", f"At most {rules.cache_breakpoints} cache marks are taken."))
    short = False
    for at, ttl in marks:
        if ttl == "1h" and short:
            found.append(Violation(at, "mark-misplaced", "A mark of an hour does not stand behind one of five minutes."))
        short = short or ttl != "1h"
