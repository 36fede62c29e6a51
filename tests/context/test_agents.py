"""The agent document: every fault with its pointer, defaults, and what a document that passes becomes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.agents.check import check_document
from app.context.agents.read import filled, normalised, read_agent
from app.context.model_params import TOKENS_MAX
from app.models.resolve import Limits
from tests.strategies import MODEL

PARAMS: dict[str, Any] = {"max_output_tokens": 2048, "temperature": 0.2, "reasoning": {"effort": "low"}, "extra": {"seed": 1}}
WHOLE: dict[str, Any] = {
    "model": {"upstream": "openai", "name": "m", "params": PARAMS},
    "limits": {"context_window": 128_000, "max_output_tokens": 16_384},
    "context": [
        {"renderer": "system", "id": "identity", "text": "You are a nurse.", "placement": "head"},
        {"renderer": "history", "scope": "session"},
    ],
    "tools": [
        {
            "name": "lookup",
            "description": "…",
            "parameters": {"type": "object", "properties": {"q": {"$ref": "#/$defs/q"}}, "$defs": {"q": {"type": "string"}}},
            "enabled": True,
            "executor": {"kind": "client"},
            "approval": "never",
            "repeatable": False,
        }
    ],
    "state_schema": {"session": {"type": "object", "properties": {"patient_name": {"type": "string", "writeOnly": True}}}},
    "output_schema": None,
    "skills": [],
    "plan": {"enabled": False},
    "pruning": {"trigger_fraction": 0.65, "protect_recent_tokens": 6000},
    "compaction": {"max_tokens": None, "keep_recent_tokens": None, "trigger_fraction": 0.9, "driver": {"kind": "model"}},
    "turn": {"max_steps": 25, "partial_answers": "omit"},
}
SCRIPT = {
    "text": "hi",
    "reasoning": "hm",
    "tool_calls": [{"id": "c", "name": "lookup", "arguments": "{}"}],
    "chunk_chars": 3,
    "delay_ms": 5,
    "usage": {"input": 3, "output": 4},
    "stop": "length",
    "error": {"status": 503, "code": "x", "retry_after": 0.1, "after_chars": 3, "attempts": 1},
    "cut_after_chars": 0,
}


TOOL_LOOKUP: dict[str, Any] = {"tools": [{"name": "lookup"}]}


def faults(**changes: Any) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in check_document({"model": MODEL, **changes})]


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{"name": "lookup", **changes}]}


def test_the_contracts_example_passes_as_far_as_it_is_built():
    assert check_document(WHOLE) == []
    assert check_document({"model": MODEL}) == []
    assert faults(model={**MODEL, "params": {"script": [SCRIPT], "compaction_script": [{}], "dialect": "openai-chat"}}) == []


@pytest.mark.req("S3-05", "S4-44", "S0-15")
@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"modle": {}}, "/modle", "unknown-key"),
        ({"a/b~c": 1}, "/a~1b~0c", "unknown-key"),
        ({"model": "gpt"}, "/model", "bad-type"),
        ({"model": {"upstream": "u"}}, "/model/name", "missing"),
        ({"model": {"upstream": "", "name": "m"}}, "/model/upstream", "blank"),
        ({"model": {"upstream": "u", "name": "m" * 300}}, "/model/name", "too-long"),
        ({"model": {"upstream": "u", "name": "m", "params": {"top_p": 1}}}, "/model/params/top_p", "unknown-key"),
        ({"model": {"upstream": "u", "name": "m", "params": {"temperature": "hot"}}}, "/model/params/temperature", "bad-type"),
        ({"model": {"upstream": "u", "name": "m", "params": {"temperature": True}}}, "/model/params/temperature", "bad-type"),
        ({"model": {"upstream": "u", "name": "m", "params": {"temperature": 3}}}, "/model/params/temperature", "out-of-range"),
        ({"model": {"upstream": "u", "name": "m", "params": {"max_output_tokens": 0}}}, "/model/params/max_output_tokens", "out-of-range"),
        ({"model": {"upstream": "u", "name": "m", "params": {"max_output_tokens": True}}}, "/model/params/max_output_tokens", "bad-type"),
        ({"model": {"upstream": "u", "name": "m", "params": {"reasoning": {"effort": "huge"}}}}, "/model/params/reasoning/effort", "bad-value"),
        ({"model": {"upstream": "u", "name": "m", "params": {"extra": []}}}, "/model/params/extra", "bad-type"),
        ({"model": {"upstream": "u", "name": "m", "params": {"script": []}}}, "/model/params/script", "unknown-key"),
        ({"model": {**MODEL, "params": {"dialect": 5}}}, "/model/params/dialect", "bad-type"),
        ({"model": {**MODEL, "params": {"script": [{"txt": ""}]}}}, "/model/params/script/0/txt", "unknown-key"),
        ({"model": {**MODEL, "params": {"script": [{"tool_calls": [{"name": "f"}]}]}}}, "/model/params/script/0/tool_calls/0/arguments", "missing"),
        ({"model": {**MODEL, "params": {"script": [{"error": {"status": "x"}}]}}}, "/model/params/script/0/error/status", "bad-type"),
        ({"limits": {"context_window": 10}}, "/limits/max_output_tokens", "missing"),
        ({"limits": {"context_window": 10, "max_output_tokens": 11}}, "/limits/max_output_tokens", "out-of-range"),
        ({"limits": {"context_window": 10.5, "max_output_tokens": 1}}, "/limits/context_window", "bad-type"),
        ({"context": {}}, "/context", "bad-type"),
        ({"context": [{"renderer": "history"}] * 65}, "/context", "too-many"),
        ({"context": ["history"]}, "/context/0", "bad-type"),
        ({"context": [{}]}, "/context/0/renderer", "missing"),
        ({"context": [{"renderer": "magic"}]}, "/context/0/renderer", "unknown-renderer"),
        ({"context": [{"renderer": "prune_reasoning", "n": 2}]}, "/context/0/n", "unknown-key"),
        ({"context": [{"renderer": "select_recent"}]}, "/context/0/n", "missing"),
        ({"context": [{"renderer": "select_recent", "n": 0}]}, "/context/0/n", "out-of-range"),
        ({"context": [{"renderer": "select_recent", "n": True}]}, "/context/0/n", "bad-type"),
        ({"context": [{"renderer": "select_recent", "n": 2, "unit": "tokens"}]}, "/context/0/unit", "bad-value"),
        ({"context": [{"renderer": "prune_tool_results"}]}, "/context/0/keep", "missing"),
        ({"context": [{"renderer": "prune_tool_results", "keep": -1}]}, "/context/0/keep", "out-of-range"),
        ({"context": [{"renderer": "prune_tool_results", "keep": 1, "placeholder": " "}]}, "/context/0/placeholder", "blank"),
        ({"context": [{"renderer": "limit_tools"}]}, "/context/0/names", "missing"),
        ({"context": [{"renderer": "limit_tools", "names": ["lookup"]}]}, "/context/0/names/0", "unknown-tool"),
        ({"context": [{"renderer": "mask_tools", "names": [3]}]}, "/context/0/names/0", "bad-type"),
        ({**TOOL_LOOKUP, "context": [{"renderer": "mask_tools", "names": ["lookup", "lookup"]}]}, "/context/0/names/1", "duplicate-tool-name"),
        ({"context": [{"renderer": "tool_choice"}]}, "/context/0/choice", "missing"),
        ({"context": [{"renderer": "tool_choice", "choice": "lookup"}]}, "/context/0/choice", "unknown-tool"),
        ({"context": [{"renderer": "tool_choice", "choice": 1}]}, "/context/0/choice", "bad-type"),
        ({"context": [{"renderer": "user"}]}, "/context/0/text", "missing"),
        ({"context": [{"renderer": "user", "text": "t", "template": "t"}]}, "/context/0/template", "bad-value"),
        ({"context": [{"renderer": "user", "text": "t", "tag": "a-b"}]}, "/context/0/tag", "bad-value"),
        ({"context": [{"renderer": "tap", "text": "t"}]}, "/context/0/text", "unknown-key"),
        ({"context": [{"renderer": "prune_addressed"}]}, "/context/0/agents", "missing"),
        ({"context": [{"renderer": "prune_addressed", "agents": [""]}]}, "/context/0/agents/0", "blank"),
        ({"context": [{"renderer": "transform_user"}]}, "/context/0/template", "missing"),
        ({"context": [{"renderer": "transform_user", "template": "{{ message.text }}", "as_of": "then"}]}, "/context/0/as_of", "bad-value"),
        ({"context": [{"renderer": "history", "scope": "direct", "agents": ["a"]}]}, "/context/0/agents", "bad-value"),
        ({"context": [{"renderer": "history"}, {"renderer": "history"}]}, "/context/1", "duplicate-renderer"),
        ({"context": [{"renderer": "history", "scope": "world"}]}, "/context/0/scope", "bad-value"),
        ({"context": [{"renderer": "history", "n": 3}]}, "/context/0/n", "unknown-key"),
        ({"context": [{"renderer": "system"}]}, "/context/0/text", "missing"),
        ({"context": [{"renderer": "system", "text": " "}]}, "/context/0/text", "blank"),
        ({"context": [{"renderer": "system", "template": "{{ state.x }}"}]}, "/context/0/template", "template-unknown-key"),
        ({"context": [{"renderer": "system", "template": "{{ state.x"}]}, "/context/0/template", "template-syntax"),
        ({"context": [{"renderer": "system", "template": "{{ output_schema }}"}]}, "/context/0/template", "template-unknown-key"),
        ({"context": [{"renderer": "system", "template": "x" * 70_000}]}, "/context/0/template", "too-long"),
        ({"context": [{"renderer": "system", "text": "t", "when": "state.x"}]}, "/context/0/when", "template-unknown-key"),
        ({"context": [{"renderer": "history", "when": "1 +"}]}, "/context/0/when", "template-syntax"),
        ({"context": [{"renderer": "system", "text": "t", "placement": "middle"}]}, "/context/0/placement", "bad-value"),
        ({"context": [{"renderer": "system", "text": "t", "id": "a b"}]}, "/context/0/id", "bad-id"),
        ({"context": [{"renderer": "system", "text": "t", "id": "history-1"}, {"renderer": "history"}]}, "/context/1/id", "duplicate-id"),
        ({"tools": "lookup"}, "/tools", "bad-type"),
        ({"tools": [{}]}, "/tools/0/name", "missing"),
        ({"tools": [{"name": "look up"}]}, "/tools/0/name", "bad-tool-name"),
        ({"tools": [{"name": "x" * 65}]}, "/tools/0/name", "bad-tool-name"),
        ({"tools": [{"name": "auto"}]}, "/tools/0/name", "bad-tool-name"),
        ({"tools": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, "/tools/2/name", "duplicate-tool-name"),
        (tool(description=3), "/tools/0/description", "bad-type"),
        (tool(enabled="yes"), "/tools/0/enabled", "bad-type"),
        (tool(url="http://x"), "/tools/0/url", "unknown-key"),
        (tool(executor={"kind": "http"}), "/tools/0/executor/server", "missing"),
        (tool(executor={"kind": "http", "server": "https://desk.example"}), "/tools/0/executor/server", "bad-value"),
        (tool(executor={"kind": "http", "server": "s", "url": "https://desk.example"}), "/tools/0/executor/url", "unknown-key"),
        (tool(executor={"kind": "http", "server": "s", "headers": {}}), "/tools/0/executor/headers", "unknown-key"),
        (tool(executor={"kind": "mcp", "server": 3}), "/tools/0/executor/server", "bad-value"),
        (tool(executor={"kind": "mcp", "server": "s", "tool": ""}), "/tools/0/executor/tool", "blank"),
        (tool(executor={"kind": "mcp", "server": "s", "tool": "t" * 256}), "/tools/0/executor/tool", "too-long"),
        (tool(executor={"kind": "mcp", "server": "s", "mode": "call"}), "/tools/0/executor/mode", "unknown-key"),
        (tool(executor={"kind": "agent", "agent": "a"}), "/tools/0/executor/mode", "missing"),
        (tool(executor={"kind": "agent", "mode": "call"}), "/tools/0/executor/agent", "missing"),
        (tool(executor={"kind": "agent", "agent": "/a", "mode": "call"}), "/tools/0/executor/agent", "bad-value"),
        (tool(executor={"kind": "agent", "agent": "a", "mode": "ask"}), "/tools/0/executor/mode", "bad-value"),
        (tool(executor={"kind": ["http"]}), "/tools/0/executor/kind", "bad-value"),
        (tool(executor="http"), "/tools/0/executor", "bad-type"),
        (tool(executor={"kind": "client", "url": "http://x"}), "/tools/0/executor/url", "unknown-key"),
        (tool(executor={"kind": "shell"}), "/tools/0/executor/kind", "bad-value"),
        (tool(executor={}), "/tools/0/executor/kind", "missing"),
        (tool(approval={"when": "state.x"}), "/tools/0/approval/when", "template-unknown-key"),
        (tool(approval={"when": 3}), "/tools/0/approval/when", "bad-type"),
        (tool(approval={"when": "x" * 1001}), "/tools/0/approval/when", "too-long"),
        (tool(approval={}), "/tools/0/approval/when", "missing"),
        (tool(approval={"if": "x", "when": ""}), "/tools/0/approval/if", "unknown-key"),
        (tool(approval="maybe"), "/tools/0/approval", "bad-value"),
        (tool(results="protected"), "/tools/0/results", "bad-type"),
        (tool(results={"of": "path"}), "/tools/0/results/of", "unknown-key"),
        (tool(results={"target": 3}), "/tools/0/results/target", "bad-type"),
        (tool(results={"target": "t" * 256}), "/tools/0/results/target", "too-long"),
        (tool(results={"effect": "write"}), "/tools/0/results/target", "missing"),
        (tool(results={"target": "path", "effect": "append"}), "/tools/0/results/effect", "bad-value"),
        (tool(results={"keep": "always"}), "/tools/0/results/keep", "bad-value"),
        (tool(parameters={"type": "object", "properties": {}}, results={"target": "file"}), "/tools/0/results/target", "bad-value"),
        (tool(parameters={"type": "string"}), "/tools/0/parameters/type", "bad-schema"),
        (tool(parameters=[]), "/tools/0/parameters", "bad-type"),
        ({"state_schema": {"user": {"type": "strin"}}}, "/state_schema/user/type", "bad-schema"),
        ({"state_schema": {"temp": {}}}, "/state_schema/temp", "not-yet-supported"),
        ({"state_schema": {"team": {}}}, "/state_schema/team", "unknown-key"),
        ({"state_schema": []}, "/state_schema", "bad-type"),
        ({"state_schema": {"session": {"type": "strin"}}}, "/state_schema/session/type", "bad-schema"),
        ({"output_schema": {"type": "objec"}}, "/output_schema/type", "bad-schema"),
        ({"output_schema": {"$ref": "https://example.test/s"}}, "/output_schema/$ref", "bad-schema"),
        ({"output_schema": 3}, "/output_schema", "bad-type"),
        ({"skills": [{"name": "s s", "text": "t"}]}, "/skills/0/name", "bad-skill-name"),
        ({"plan": {"enabled": "yes"}}, "/plan/enabled", "bad-type"),
        ({"plan": {"enabled": True}, "tools": [{"name": "update_plan"}]}, "/tools/0/name", "reserved-tool-name"),
        ({"plan": {"on": True}}, "/plan/on", "unknown-key"),
        ({"pruning": {"trigger_fraction": 0}}, "/pruning/trigger_fraction", "out-of-range"),
        ({"pruning": {"trigger_fraction": True}}, "/pruning/trigger_fraction", "bad-type"),
        ({"pruning": {"protect_recent_tokens": -1}}, "/pruning/protect_recent_tokens", "out-of-range"),
        ({"compaction": {"max_tokens": 0}}, "/compaction/max_tokens", "out-of-range"),
        ({"compaction": {"keep_recent_tokens": TOKENS_MAX + 1}}, "/compaction/keep_recent_tokens", "out-of-range"),
        ({"model": MODEL | {"params": {"max_output_tokens": 100_000_001}}}, "/model/params/max_output_tokens", "out-of-range"),
        ({"compaction": {"trigger_fraction": 1.01}}, "/compaction/trigger_fraction", "out-of-range"),
        ({"compaction": {"driver": {"kind": "excerpts"}}}, "/compaction/driver/kind", "bad-value"),
        ({"compaction": {"driver": {}}}, "/compaction/driver/kind", "missing"),
        ({"compaction": {"driver": {"kind": "model", "model": {"name": "m"}}}}, "/compaction/driver/model/upstream", "missing"),
        ({"compaction": {"driver": {"kind": "model", "fallback": "none"}}}, "/compaction/driver/fallback", "bad-value"),
        ({"compaction": {"driver": {"kind": "excerpt", "model": {}}}}, "/compaction/driver/model", "unknown-key"),
        ({"turn": {"max_steps": 0}}, "/turn/max_steps", "out-of-range"),
        ({"turn": {"max_steps": 10**6}}, "/turn/max_steps", "out-of-range"),
        ({"turn": {"partial_answers": "all"}}, "/turn/partial_answers", "bad-value"),
    ],
)
def test_a_fault_says_where_and_what(changes: dict[str, Any], pointer: str, code: str):
    assert (pointer, code) in faults(**changes)


@pytest.mark.parametrize("document", [None, [], "x", 3])
def test_a_document_is_an_object(document: Any):
    assert [(fault.pointer, fault.code) for fault in check_document(document)] == [("", "bad-type")]


def test_the_model_is_required():
    assert [(fault.pointer, fault.code) for fault in check_document({})] == [("/model", "missing")]


def test_faults_never_repeat_what_was_given():
    model = {"upstream": "SECRET" * 50, "name": 3, "SECRET": 1}
    found = check_document({"model": model, "tools": [{"name": "SECRET NAME"}], "turn": {"max_steps": "SECRET"}})
    assert len(found) >= 4
    assert not [fault for fault in found if "SECRET" in fault.detail]


_KEYS = [*WHOLE, "renderer", "name", "kind", "$ref", "type", "params", "script"]
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*WHOLE, "other"]), _ANYTHING))
def test_no_document_breaks_the_check(document: dict[str, Any]):
    if not check_document(document):
        read_agent("a", 1, document, Limits(10, 5, "explicit"), "sha256:x")


def test_keys_left_out_take_the_contracts_values():
    found = normalised({"model": {"upstream": "scripted", "name": "s"}, "tools": [{"name": "f"}], "turn": {"max_steps": 3}})
    assert list(found) == list(WHOLE)
    assert found["model"]["params"] == {}
    assert found["context"] == [{"renderer": "history", "id": "history-0", "scope": "session"}]
    assert found["tools"] == [{**WHOLE["tools"][0], "name": "f", "description": "", "parameters": {"type": "object"}}]
    assert found["turn"] == {"max_steps": 3, "partial_answers": "omit"}
    assert (found["plan"], found["pruning"], found["compaction"]) == (WHOLE["plan"], WHOLE["pruning"], WHOLE["compaction"])
    assert found["limits"] is found["state_schema"] is found["output_schema"] is None
    assert found["skills"] == []
    assert normalised(found) == found
    assert normalised(WHOLE) == WHOLE | {"context": [WHOLE["context"][0], WHOLE["context"][1] | {"id": "history-1"}]}


@pytest.mark.req("S3-07", "S4-48")
def test_a_revision_is_what_its_document_says():
    limits = Limits(128_000, 16_384, "explicit")
    found = read_agent("nurse", 3, WHOLE, limits, "sha256:d")
    assert (found.name, found.revision, found.digest, found.limits) == ("nurse", 3, "sha256:d", limits)
    assert (found.model.upstream, found.model.name, found.model.params) == ("openai", "m", PARAMS)
    assert [(spec.renderer, spec.id) for spec in found.renderers] == [("system", "identity"), ("history", "history-1")]
    assert found.renderers[0].options["text"] == "You are a nurse."
    assert (found.tools[0].name, found.tools[0].executor, found.tools[0].repeatable) == ("lookup", {"kind": "client"}, False)
    assert (found.turn_max_steps, found.partial_answers, found.compaction.trigger_fraction) == (25, "omit", 0.9)
    assert found.state_schema == WHOLE["state_schema"]


@pytest.mark.req("T-23")
def test_every_executor_and_approval_passes():
    executors: list[dict[str, Any]] = [
        {"kind": "client"},
        {"kind": "http", "server": "desk"},
        {"kind": "mcp", "server": "files", "tool": "files/read.v2"},
        {"kind": "agent", "agent": "Researcher", "mode": "transfer"},
        {"kind": "agent", "agent": "a.b", "mode": "call"},
    ]
    tools = [{"name": f"t{at}", "executor": executor, "approval": "always", "repeatable": True} for at, executor in enumerate(executors)]
    assert faults(tools=tools) == []


def test_what_servers_said_fills_in_what_a_document_leaves_out():
    tools = [
        {"name": "a", "executor": {"kind": "mcp", "server": "s"}},
        {"name": "b", "description": "own", "executor": {"kind": "mcp", "server": "s"}},
    ]
    document = {"model": MODEL, "tools": tools}
    said = [{"name": "a", "description": "A.", "parameters": {"type": "object", "title": "a"}}, {"name": "b", "parameters": {"type": "object"}}]
    found = filled(document, said)
    assert [tool.get("description") for tool in found["tools"]] == ["A.", "own"]
    assert [tool["parameters"] for tool in found["tools"]] == [{"type": "object", "title": "a"}, {"type": "object"}]
    assert filled(found, said) == found
    assert filled(document, []) == document
    assert tools[0].keys() == {"name", "executor"}
    agent = read_agent("x", 1, found, Limits(100, 10, "explicit"), "sha256:0")
    assert (agent.tools[0].description, agent.tools[0].parameters) == ("A.", {"type": "object", "title": "a"})
