"""The agent document: what is wrong with it, its defaults, and the revision that a compile reads."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.config.limits import RENDERERS_MAX, STEPS_PER_TURN_MAX, TOOLS_MAX
from app.context.fields import Check
from app.context.model_params import check_model
from app.context.schemas import check_schema, escaped, pattern_properties
from app.context.sources import AgentRevision, CompactionPolicy, RendererSpec, Tool
from app.entries.errors import Fault
from app.models.resolve import Limits, ModelChoice

TOKENS_MAX = 10**9
TEXT_CHARS_MAX = 1_000_000
DESCRIPTION_CHARS_MAX = 16_384

AGENT_NAME = re.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}")
TOOL_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What every provider takes (wire-format notes 0.6)."""

TOOL_CHOICES = ("auto", "none", "required")

_RENDERER_ID = re.compile("[a-zA-Z0-9_.-]{1,64}")
_UNBUILT_RENDERERS = ("prune_reasoning", "select_recent", "limit_tools", "tool_choice", "user")
_UNBUILT_SCOPES = ("direct", "all", "invocation", "ancestors", "agent")
_KEYS = ("model", "limits", "context", "tools", "state_schema", "output_schema", "skills", "plan", "pruning", "compaction", "turn")
_TOOL_KEYS = ("name", "description", "parameters", "enabled", "executor", "approval", "repeatable")

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "limits": None,
        "context": [{"renderer": "history"}],
        "tools": [],
        "state_schema": None,
        "output_schema": None,
        "skills": [],
        "plan": {"enabled": False},
        "pruning": {"trigger_fraction": 0.65, "protect_recent_tokens": 6000},
        "compaction": {"max_tokens": None, "keep_recent_tokens": None, "trigger_fraction": 0.9, "driver": {"kind": "model"}},
        "turn": {"max_steps": 25, "partial_answers": "omit"},
    }
)
"""What keys stand for that a document leaves out (http-api 2)."""

_TOOL_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"description": "", "parameters": {"type": "object"}, "enabled": True, "executor": {"kind": "client"}, "approval": "never", "repeatable": False}
)


def check_document(document: Any) -> list[Fault]:
    """Everything that is wrong with an agent document, in its order; empty where it may be stored.

    Codes: `unknown-key`, `unknown-renderer`, `not-yet-supported`, `missing`, `bad-type`, `bad-value`, `blank`, `too-long`, `too-many`,
    `too-large`, `out-of-range`, `bad-schema`, `bad-id`, `duplicate-id`, `duplicate-renderer`, `bad-tool-name`, `duplicate-tool-name`.
    Whether the model's capacity is known is asked where it is resolved.
    """
    check = Check()
    found = check.object(document, "", _KEYS, ("model",))
    if found is None:
        return check.faults
    if "model" in found:
        check_model(check, found["model"], "/model")
    _limits(check, found.get("limits"))
    _context(check, found.get("context", DEFAULTS["context"]))
    _tools(check, found.get("tools", []))
    _state_schema(check, found.get("state_schema"))
    _later(check, found)
    _turn(check, found.get("turn", {}))
    return check.faults


def _limits(check: Check, value: Any) -> None:
    """A custom deployment declares both limits (S3-05), and the output never exceeds the window."""
    keys = ("context_window", "max_output_tokens")
    if value is None or (found := check.object(value, "/limits", keys, keys)) is None:
        return
    given = [check.integer(found[key], f"/limits/{key}", 1, TOKENS_MAX) for key in keys if key in found]
    if len(given) == 2 and None not in given and (given[1] or 0) > (given[0] or 0):
        check.fault("/limits/max_output_tokens", "out-of-range", "The output limit may not exceed the context window.")


def _context(check: Check, value: Any) -> None:
    specs = check.list(value, "/context", RENDERERS_MAX)
    ids: set[str] = set()
    histories = 0
    for position, spec in enumerate(specs or ()):
        pointer = f"/context/{position}"
        if not isinstance(spec, Mapping):
            check.fault(pointer, "bad-type", "A renderer has to be an object.")
            continue
        name = spec.get("renderer")
        if name == "system":
            _system(check, spec, pointer)
        elif name == "history":
            histories += 1
            if histories > 1:
                check.fault(pointer, "duplicate-renderer", "The history stands in a request once.")
            check.object(spec, pointer, ("renderer", "id", "scope"))
            check.word(spec.get("scope", "session"), f"{pointer}/scope", ("session",), _UNBUILT_SCOPES)
        elif isinstance(name, str) and name in _UNBUILT_RENDERERS:
            check.unbuilt(f"{pointer}/renderer", "This renderer")
        elif name is None:
            check.fault(f"{pointer}/renderer", "missing", "This key is required.")
        else:
            check.fault(f"{pointer}/renderer", "unknown-renderer", "Built renderers are system and history.")
        if "id" in spec or name in ("system", "history"):
            _renderer_id(check, spec.get("id", f"{name}-{position}"), f"{pointer}/id", ids)


def _system(check: Check, spec: Mapping[str, Any], pointer: str) -> None:
    check.object(spec, pointer, ("renderer", "id", "text", "template", "when", "placement"))
    for key in ("template", "when"):
        if key in spec:
            check.unbuilt(f"{pointer}/{key}", "A template")
    if "text" in spec:
        check.text(spec["text"], f"{pointer}/text", TEXT_CHARS_MAX)
    elif "template" not in spec:
        check.fault(f"{pointer}/text", "missing", "This key is required.")
    check.word(spec.get("placement", "head"), f"{pointer}/placement", ("head", "tail"))


def _renderer_id(check: Check, value: Any, pointer: str, ids: set[str]) -> None:
    if not isinstance(value, str) or not _RENDERER_ID.fullmatch(value):
        check.fault(pointer, "bad-id", "An id has 1 to 64 letters, digits, `_`, `.` or `-`.")
    elif value in ids:
        check.fault(pointer, "duplicate-id", "Another renderer has this id.")
    else:
        ids.add(value)


def _tools(check: Check, value: Any) -> None:
    names: set[str] = set()
    for position, tool in enumerate(check.list(value, "/tools", TOOLS_MAX) or ()):
        pointer = f"/tools/{position}"
        found = check.object(tool, pointer, _TOOL_KEYS, ("name",))
        if found is None:
            continue
        name = found.get("name")
        if "name" not in found:
            pass
        elif not isinstance(name, str) or not TOOL_NAME.fullmatch(name) or name in TOOL_CHOICES:
            check.fault(f"{pointer}/name", "bad-tool-name", "A name begins with a letter or `_`, has ≤ 64 letters, digits, `_`, `-`, is no choice.")
        elif name in names:
            check.fault(f"{pointer}/name", "duplicate-tool-name", "Another tool has this name.")
        else:
            names.add(name)
        _tool_rest(check, found, pointer)


def _tool_rest(check: Check, found: Mapping[str, Any], pointer: str) -> None:
    check.text(found.get("description", ""), f"{pointer}/description", DESCRIPTION_CHARS_MAX, blank=True)
    parameters = found.get("parameters", _TOOL_DEFAULTS["parameters"])
    faults = check_schema(parameters, f"{pointer}/parameters")
    if not faults and parameters.get("type") != "object":
        check.fault(f"{pointer}/parameters/type", "bad-schema", "The parameters of a tool are an object: `type` has to be `object`.")
    check.faults += faults
    for key in ("enabled", "repeatable"):
        check.boolean(found.get(key, True), f"{pointer}/{key}")
    executor = found.get("executor", _TOOL_DEFAULTS["executor"])
    if isinstance(executor, Mapping) and executor.get("kind") in ("http", "mcp", "agent"):
        check.unbuilt(f"{pointer}/executor/kind", "This executor")
    elif check.object(executor, f"{pointer}/executor", ("kind",), ("kind",)) is not None and "kind" in executor:
        check.word(executor["kind"], f"{pointer}/executor/kind", ("client",), ("http", "mcp", "agent"))
    approval = found.get("approval", "never")
    if isinstance(approval, Mapping) and list(approval) == ["when"]:
        check.unbuilt(f"{pointer}/approval", "This value")
    else:
        check.word(approval, f"{pointer}/approval", ("never",), ("always",))


def _state_schema(check: Check, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        check.fault("/state_schema", "bad-type", "This has to be an object of scopes.")
        return
    for scope, schema in value.items():
        pointer = f"/state_schema/{escaped(str(scope))}"
        if scope == "session":
            check.faults += check_schema(schema, pointer) or pattern_properties(schema, pointer)
        else:
            check.fault(pointer, "unknown-key", "The only scope is session.")


def _later(check: Check, found: Mapping[str, Any]) -> None:
    """Keys whose work is not built: their defaults pass, anything else is refused."""
    if found.get("output_schema") is not None:
        check.unbuilt("/output_schema", "An output schema")
    if found.get("skills", []) != []:
        check.unbuilt("/skills", "A skill")
    for key in ("plan", "pruning", "compaction"):
        default = DEFAULTS[key]
        value = check.object(found.get(key, {}), f"/{key}", tuple(default))
        for name, given in (value or {}).items():
            if name in default and (given != default[name] or isinstance(given, bool) is not isinstance(default[name], bool)):
                check.unbuilt(f"/{key}/{name}", "Any other value than the default")


def _turn(check: Check, value: Any) -> None:
    found = check.object(value, "/turn", ("max_steps", "partial_answers"))
    if found is not None:
        check.integer(found.get("max_steps", 25), "/turn/max_steps", 1, STEPS_PER_TURN_MAX)
        check.word(found.get("partial_answers", "omit"), "/turn/partial_answers", ("omit", "text"))


def normalised(document: Mapping[str, Any]) -> dict[str, Any]:
    """A checked document with every key, left-out ones at their defaults and renderers with their ids: the form that a compile reads.
    What is stored, compared, digested and served is the document as it was put. Normalising twice changes nothing."""
    found: dict[str, Any] = {"model": {"upstream": document["model"]["upstream"], "name": document["model"]["name"]}}
    found["model"]["params"] = dict(document["model"].get("params", {}))
    for key, default in DEFAULTS.items():
        given = document.get(key, default)
        found[key] = {**default, **given} if isinstance(default, dict) else given
    found["context"] = [
        {"renderer": spec["renderer"], "id": spec.get("id", f"{spec['renderer']}-{position}"), **_RENDERER_DEFAULTS[spec["renderer"]], **spec}
        for position, spec in enumerate(found["context"])
    ]
    found["tools"] = [{"name": tool["name"], **_TOOL_DEFAULTS, **tool} for tool in found["tools"]]
    return found


_RENDERER_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"system": {"placement": "head"}, "history": {"scope": "session"}})


def read_agent(name: str, revision: int, document: Mapping[str, Any], limits: Limits, digest: str) -> AgentRevision:
    """The revision that a checked document spells; `limits` are resolved (document, operator, provider or catalogue), `digest` is the stored one."""
    found = normalised(document)
    model, compaction, turn = found["model"], found["compaction"], found["turn"]
    return AgentRevision(
        name=name,
        revision=revision,
        model=ModelChoice(model["upstream"], model["name"], model["params"]),
        limits=limits,
        renderers=tuple(
            RendererSpec(spec["renderer"], spec["id"], {key: value for key, value in spec.items() if key not in ("renderer", "id")})
            for spec in found["context"]
        ),
        tools=tuple(Tool(**tool) for tool in found["tools"]),
        state_schema=found["state_schema"],
        compaction=CompactionPolicy(compaction["max_tokens"], compaction["keep_recent_tokens"], compaction["trigger_fraction"]),
        turn_max_steps=turn["max_steps"],
        partial_answers=turn["partial_answers"],
        document=found,
        digest=digest,
    )
