"""Pieces of Converse bodies, and bodies put together from them."""

from typing import Any

Body = dict[str, Any]

TEXT: Body = {"text": "x"}
CALL: Body = {"toolUse": {"toolUseId": "t1", "name": "lookup", "input": {}}}
IMAGE: Body = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
FILE: Body = {"document": {"format": "pdf", "name": "document-1", "source": {"bytes": "JVBERi0="}}}
MARK: Body = {"cachePoint": {"type": "default"}}
THOUGHT: Body = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}}
SPEC: Body = {"name": "lookup", "description": "d", "inputSchema": {"json": {"type": "object"}}}
TOOL: Body = {"toolSpec": SPEC}
TOOLS: Body = {"tools": [TOOL]}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def answer(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def chat(*messages: Body, **more: Any) -> Body:
    return {"messages": list(messages), **more}


def asked(**more: Any) -> Body:
    """One question, and whatever else."""
    return chat(user(TEXT), **more)


def called(*behind: Body, calls: tuple[Body, ...] = (CALL,), **more: Any) -> Body:
    """A question, calls, and what comes back."""
    return chat(user(TEXT), answer(*calls), user(*behind), toolConfig=TOOLS, **more)


def named(name: str) -> Body:
    return {"document": {**FILE["document"], "name": name}}


def result(*content: Body, **more: Any) -> Body:
    return {"toolResult": {"toolUseId": "t1", "content": list(content), **more}}


def call(**changes: Any) -> Body:
    return {"toolUse": {**CALL["toolUse"], **changes}}


def choosing(**choice: Any) -> Body:
    return asked(toolConfig={**TOOLS, "toolChoice": choice})


def thinking(budget_tokens: int, cap: int) -> Body:
    fields = {"thinking": {"type": "enabled", "budget_tokens": budget_tokens}}
    return asked(inferenceConfig={"maxTokens": cap}, additionalModelRequestFields=fields)


def formatted(schema: str) -> Body:
    return asked(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema}}}})


RESULT: Body = result(TEXT)
