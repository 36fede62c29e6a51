"""What a checked document becomes: the form that a compile reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.context.agents.context import with_defaults
from app.context.agents.defaults import DEFAULTS, TOOL_DEFAULTS
from app.context.skills import skill_tool
from app.context.sources import AgentRevision, CompactionPolicy, Driver, PruningPolicy, RendererSpec, Skill, Tool
from app.models.resolve import Limits, ModelChoice


def normalised(document: Mapping[str, Any]) -> dict[str, Any]:
    """A checked document with every key, left-out ones at their defaults and renderers with their ids: the form that a compile reads.
    What is stored, compared, digested and served is the document as it was put. Normalising twice changes nothing."""
    found: dict[str, Any] = {"model": {"upstream": document["model"]["upstream"], "name": document["model"]["name"]}}
    found["model"]["params"] = dict(document["model"].get("params", {}))
    for key, default in DEFAULTS.items():
        given = document.get(key, default)
        found[key] = {**default, **given} if isinstance(default, dict) else given
    found["context"] = [with_defaults(position, spec) for position, spec in enumerate(found["context"])]
    found["tools"] = [{"name": tool["name"], **TOOL_DEFAULTS, **tool} for tool in found["tools"]]
    return found


def filled(document: Mapping[str, Any], resolved_tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document as it would be if it said itself what tool servers said of its tools: `resolved_tools` are `{name, description?,
    parameters?}`, with the keys that the document leaves out. Without any it is the document."""
    said = {tool["name"]: tool for tool in resolved_tools}
    found = dict(document)
    if said:
        found["tools"] = [
            {**tool, **{key: value for key, value in said.get(tool["name"], {}).items() if key not in tool}} for tool in document["tools"]
        ]
    return found


def read_driver(value: Mapping[str, Any]) -> Driver:
    """The driver of a checked document or request."""
    model = value.get("model")
    choice = None if model is None else ModelChoice(model["upstream"], model["name"], dict(model.get("params", {})))
    return Driver(value["kind"], choice, value.get("fallback") == "excerpt")


def read_agent(name: str, revision: int, document: Mapping[str, Any], limits: Limits, digest: str) -> AgentRevision:
    """The revision that a checked document spells; `limits` are resolved (document, operator, provider or catalogue), `digest` is the stored one."""
    found = normalised(document)
    model, compaction, turn = found["model"], found["compaction"], found["turn"]
    skills = tuple([Skill(skill["name"], skill.get("description", ""), skill["text"]) for skill in found["skills"]])
    loading = (skill_tool(skills, limits.context_window),) if skills else ()
    return AgentRevision(
        name=name,
        revision=revision,
        model=ModelChoice(model["upstream"], model["name"], model["params"]),
        limits=limits,
        renderers=tuple(
            RendererSpec(spec["renderer"], spec["id"], {key: value for key, value in spec.items() if key not in ("renderer", "id")})
            for spec in found["context"]
        ),
        tools=(*[Tool(**tool) for tool in found["tools"]], *loading),
        state_schema=found["state_schema"],
        output_schema=found["output_schema"],
        skills=skills,
        plan_enabled=bool(found["plan"]["enabled"]),
        compaction=CompactionPolicy(
            compaction["max_tokens"], compaction["keep_recent_tokens"], compaction["trigger_fraction"], read_driver(compaction["driver"])
        ),
        pruning=PruningPolicy(**found["pruning"]),
        turn_max_steps=turn["max_steps"],
        partial_answers=turn["partial_answers"],
        document=found,
        digest=digest,
    )
