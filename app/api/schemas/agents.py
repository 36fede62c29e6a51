"""Agents, models and upstreams."""

from typing import get_args

from app.api.schemas.basics import (
    AGENT_NAME,
    BOOL,
    COUNT,
    DIGEST,
    OBJECT,
    TIME,
    TOOL_NAME_PATTERN,
    answer,
    arr,
    integer,
    listing,
    nullable,
    obj,
    one_of,
    ref,
    text,
)
from app.config import agent_limits, limits
from app.context.agents.defaults import DESCRIPTION_CHARS_MAX, SKILL_DESCRIPTION_CHARS_MAX
from app.context.agents.tools import ARGUMENT_NAME_CHARS_MAX, EFFECTS, EXECUTORS, KEEPS, REMOTE_NAME_CHARS_MAX
from app.context.model_params import TOKENS_MAX
from app.context.renderers import BUILT
from app.context.renderers.history import SCOPES
from app.context.renderers.select_recent import UNITS
from app.context.renderers.transform_user import MOMENTS
from app.entries.compactions import DriverKind
from app.models.resolve import LIMITS_SOURCES

REASONING = obj({"effort": text(32, 1)})

PARAMS = obj(
    {
        "max_output_tokens": integer(1, TOKENS_MAX),
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "reasoning": REASONING,
        "extra": OBJECT,
        "dialect": text(64, 1),
        "script": arr(OBJECT, least=1, most=limits.SCRIPT_STEPS_MAX),
        "compaction_script": arr(OBJECT, least=1, most=limits.SCRIPT_STEPS_MAX),
    },
    description="`extra` is merged last into the provider's body; `script` and `dialect` are for the built-in upstream `scripted`.",
)

MODEL = obj({"upstream": text(128, 1), "name": text(255, 1), "params": PARAMS}, ["upstream", "name"])

LIMITS = obj(
    {"context_window": integer(1, TOKENS_MAX), "max_output_tokens": integer(1, TOKENS_MAX)},
    ["context_window", "max_output_tokens"],
)

_RENDERER = {
    "type": "object",
    "properties": {
        "renderer": {**text(64, 1), "examples": sorted(BUILT)},
        "id": text(64, 1),
        "when": {
            **text(agent_limits.CONDITION_CHARS_MAX, 1),
            "description": "A condition over the state; where it does not hold the renderer does nothing.",
        },
        "text": {**text(), "description": "`system`, `user`."},
        "template": {**text(agent_limits.TEMPLATE_CHARS_MAX), "description": "`system`, `user`: in place of `text`; `transform_user`."},
        "tag": {**text(64, 1), "description": "`system`, `user`: the text is data inside of this tag."},
        "placement": {**one_of("head", "tail"), "description": "`system`."},
        "scope": {**one_of(*SCOPES), "description": "`history`."},
        "agents": {**arr(text(limits.AGENT_NAME_CHARS_MAX, 1)), "description": "`history` of the scope `agent`, `prune_addressed`."},
        "n": {**integer(1), "description": "`select_recent`."},
        "unit": {**one_of(*UNITS), "description": "`select_recent`."},
        "keep": {**COUNT, "description": "`prune_tool_results`."},
        "protect_recent_tokens": {**COUNT, "description": "`prune_tool_results`."},
        "placeholder": {**text(), "description": "`prune_tool_results`; `{tool}` and `{tokens}` are filled in."},
        "names": {**arr(text()), "description": "`limit_tools`, `mask_tools`."},
        "choice": {**text(), "description": "`tool_choice`: auto, none, required or a tool's name."},
        "as_of": {**one_of(*MOMENTS), "description": "`transform_user`: the moment whose state its template has."},
    },
    "required": ["renderer"],
    "description": "One renderer. Beside `renderer`, `id` and `when` each takes its own keys and no other; packages may bring more renderers.",
}

_EXECUTOR = {
    "type": "object",
    "properties": {
        "kind": one_of(*EXECUTORS),
        "server": text(limits.AGENT_NAME_CHARS_MAX, 1),
        "tool": text(REMOTE_NAME_CHARS_MAX, 1),
        "agent": text(limits.AGENT_NAME_CHARS_MAX, 1),
        "mode": one_of("transfer", "call"),
    },
    "required": ["kind"],
    "description": "`http` and `mcp` name a `server` of the operator's and the `tool` there (default: this tool's name); `agent`: `agent`, `mode`.",
}

TOOL = obj(
    {
        "name": text(64, 1, TOOL_NAME_PATTERN),
        "description": text(DESCRIPTION_CHARS_MAX),
        "parameters": OBJECT,
        "enabled": BOOL,
        "executor": _EXECUTOR,
        "approval": {"anyOf": [one_of("never", "always"), obj({"when": text(agent_limits.CONDITION_CHARS_MAX, 1)}, ["when"])]},
        "repeatable": BOOL,
        "results": obj(
            {"target": text(ARGUMENT_NAME_CHARS_MAX, 1), "effect": one_of(*EFFECTS), "keep": one_of(*KEEPS)},
            description="What its results are of, for pruning: `target` names the argument that says what a call reads or writes.",
        ),
    },
    ["name"],
)

SKILL = obj(
    {"name": text(64, 1, TOOL_NAME_PATTERN), "description": text(SKILL_DESCRIPTION_CHARS_MAX), "text": text(least=1)},
    ["name", "text"],
    description=f"The text may hold {agent_limits.SKILL_TEXT_BYTES_MAX} bytes as JSON.",
)

_FRACTION = {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": "Of the tokens that input may take."}
DRIVER = obj(
    {"kind": one_of(*get_args(DriverKind)), "model": nullable(MODEL), "fallback": nullable(one_of("excerpt"))},
    ["kind"],
    description="Who writes summaries: a model (by default the call's own), or excerpts, also where the model fails if `fallback` says so.",
)
_PRUNING = obj({"trigger_fraction": _FRACTION, "protect_recent_tokens": integer(0, TOKENS_MAX)})
_COMPACTION = obj(
    {
        "max_tokens": nullable(integer(1, TOKENS_MAX)),
        "keep_recent_tokens": nullable(integer(1, TOKENS_MAX)),
        "trigger_fraction": _FRACTION,
        "driver": DRIVER,
    }
)

AGENT_DOCUMENT = obj(
    {
        "model": MODEL,
        "limits": nullable(LIMITS),
        "context": arr(_RENDERER, most=limits.RENDERERS_MAX),
        "tools": arr(TOOL, most=limits.TOOLS_MAX),
        "state_schema": nullable(OBJECT),
        "output_schema": nullable(OBJECT),
        "skills": arr(SKILL, most=agent_limits.SKILLS_MAX),
        "plan": OBJECT,
        "pruning": _PRUNING,
        "compaction": _COMPACTION,
        "turn": obj({"max_steps": integer(1, limits.STEPS_PER_TURN_MAX), "partial_answers": one_of("omit", "text")}),
    },
    ["model"],
)

RESOLVED_TOOL = obj(
    {"name": text(), "description": text(), "parameters": OBJECT},
    ["name"],
    description="What the tool's server said when the agent was put, of what the document leaves out.",
)

AGENT = answer(
    {
        "object": {"const": "agent"},
        "name": AGENT_NAME,
        "revision": integer(1),
        "document": OBJECT,
        "limits": answer(
            {
                "context_window": COUNT,
                "max_output_tokens": COUNT,
                "source": one_of(*LIMITS_SOURCES),
                "max_input_tokens": COUNT,
            },
            ["max_input_tokens"],
        ),
        "resolved_tools": arr(RESOLVED_TOOL),
        "digest": DIGEST,
        "created_at": TIME,
    }
)
AGENT_LIST = listing(ref("Agent"))
REVISION_LIST = listing(ref("Agent"), nullable(COUNT))

UPSTREAM = answer({"name": text(), "dialect": text(), "has_key": BOOL})
UPSTREAM_LIST = listing(UPSTREAM)

MODEL_CURSOR_CHARS_MAX = limits.AGENT_NAME_CHARS_MAX + 1 + limits.IDENTIFIER_CHARS_MAX

MODEL_ROW = answer(
    {
        "object": {"const": "model"},
        "upstream": nullable(text()),
        "name": text(),
        "vendor": nullable(text()),
        "context_window": nullable(COUNT),
        "max_input_tokens": nullable(COUNT),
        "max_output_tokens": nullable(COUNT),
        "shared_window": nullable(BOOL),
        "encoding": nullable(text()),
        "estimator": text(),
        "error_band": {"type": "number", "minimum": 0},
        "takes": nullable(arr(text())),
        "tools": nullable(BOOL),
        "reasoning": {"anyOf": [OBJECT, {"const": False}, {"type": "null"}]},
        "shutdown_date": nullable({"type": "string", "format": "date"}),
        "notes": nullable(text()),
        "source": one_of("catalogue", "operator", "provider"),
        "figure_sources": {"type": "object", "additionalProperties": arr(text())},
    },
    description="Null is unknown. A model whose window or output limit is unknown needs `limits` in the agent's document.",
)
EVIDENCE = answer({"what": text(), "url": text(), "vendor": BOOL, "read": {"type": "string", "format": "date"}})
_MODELS = listing(MODEL_ROW)
_CATALOGUE = {
    "catalogue_version": text(),
    "catalogue_date": {"type": "string", "format": "date"},
    "sources": {"type": "object", "additionalProperties": EVIDENCE},
}
CATALOGUE = {**_MODELS, "properties": {**_MODELS["properties"], **_CATALOGUE}, "required": [*_MODELS["required"], *_CATALOGUE]}
