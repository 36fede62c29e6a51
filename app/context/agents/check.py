"""Everything that is wrong with an agent document."""

from collections.abc import Mapping
from typing import Any

from app.config.limits import STEPS_PER_TURN_MAX
from app.context.agents.context import check_context
from app.context.agents.defaults import DEFAULTS
from app.context.agents.long_sessions import check_compaction, check_pruning
from app.context.agents.plan import check_plan
from app.context.agents.skills import check_skills
from app.context.agents.states import check_output_schema, check_state_schema
from app.context.agents.tools import check_tools
from app.context.fields import Check
from app.context.model_params import TOKENS_MAX, check_model
from app.context.renderers.kinds import DocumentFacts
from app.context.skills import LOAD_SKILL
from app.entries.errors import Fault

_KEYS = ("model", "limits", "context", "tools", "state_schema", "output_schema", "skills", "plan", "pruning", "compaction", "turn")


def check_document(document: Any) -> list[Fault]:
    """Everything that is wrong with an agent document, in its order; empty where it may be stored.

    Codes: `unknown-key`, `unknown-renderer`, `not-yet-supported`, `missing`, `bad-type`, `bad-value`, `blank`, `too-long`, `too-many`,
    `too-large`, `out-of-range`, `bad-schema`, `bad-id`, `duplicate-id`, `duplicate-renderer`, `bad-tool-name`, `duplicate-tool-name`,
    `reserved-tool-name`, `bad-skill-name`, `duplicate-skill-name`, `unknown-tool`, `template-syntax`, `template-unknown-key`,
    `template-secret-key`.
    Whether the model's capacity is known is asked where it is resolved.
    """
    check = Check()
    found = check.object(document, "", _KEYS, ("model",))
    if found is None:
        return check.faults
    if "model" in found:
        check_model(check, found["model"], "/model")
    _limits(check, found.get("limits"))
    facts = facts_of(found)
    check_context(check, found.get("context", DEFAULTS["context"]), facts)
    check_tools(check, found.get("tools", []), facts)
    check_state_schema(check, found.get("state_schema"))
    check_output_schema(check, found.get("output_schema"))
    check_skills(check, found.get("skills", []), found.get("tools", []))
    check_plan(check, found.get("plan", {}), found.get("tools", []))
    check_pruning(check, found.get("pruning", {}))
    check_compaction(check, found.get("compaction", {}))
    _turn(check, found.get("turn", {}))
    return check.faults


def facts_of(document: Mapping[str, Any]) -> DocumentFacts:
    """What a renderer's check may ask of the rest of the document; what is ill-formed there has its own faults and counts as absent."""
    tools = document.get("tools", [])
    named = [tool.get("name") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    if document.get("skills"):
        named.append(LOAD_SKILL)
    schema = document.get("state_schema")
    return DocumentFacts(
        frozenset(name for name in named if isinstance(name, str)),
        schema if isinstance(schema, Mapping) else {},
        isinstance(document.get("output_schema"), Mapping),
    )


def _limits(check: Check, value: Any) -> None:
    """A custom deployment declares both limits (S3-05), and the output never exceeds the window."""
    keys = ("context_window", "max_output_tokens")
    if value is None or (found := check.object(value, "/limits", keys, keys)) is None:
        return
    given = [check.integer(found[key], f"/limits/{key}", 1, TOKENS_MAX) for key in keys if key in found]
    if len(given) == 2 and None not in given and (given[1] or 0) > (given[0] or 0):
        check.fault("/limits/max_output_tokens", "out-of-range", "The output limit may not exceed the context window.")


def _turn(check: Check, value: Any) -> None:
    found = check.object(value, "/turn", ("max_steps", "partial_answers"))
    if found is not None:
        check.integer(found.get("max_steps", 25), "/turn/max_steps", 1, STEPS_PER_TURN_MAX)
        check.word(found.get("partial_answers", "omit"), "/turn/partial_answers", ("omit", "text"))
