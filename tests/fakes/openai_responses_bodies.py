"""Bodies for the Responses endpoint, and pairs of them: one that is refused for a rule, and its near twin that is served."""

from typing import Any, NamedTuple

from tests.fakes.openai_responses_rules import breaches

USER: dict[str, Any] = {"role": "user", "content": "How many?"}
SAID: dict[str, Any] = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Seven.", "annotations": []}]}
TOOL: dict[str, Any] = {"type": "function", "name": "count", "strict": False, "parameters": {"type": "object", "properties": {}}}
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "count", "arguments": "{}", **more}


def output(call_id: str, output: Any = "7", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


def thought(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA", **more}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "store": False, "input": list(items), **more}


def tools(*given: Any, **more: Any) -> dict[str, Any]:
    return body(USER, tools=list(given), **more)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    return tools({**TOOL, "strict": True, "parameters": schema})


def shaped(**more: Any) -> dict[str, Any]:
    return body(USER, text={"format": {"type": "json_schema", "name": "count", "schema": {"type": "object"}, **more}})


class Twins(NamedTuple):
    refused: dict[str, Any]
    words: str
    served: dict[str, Any]

    def hold(self) -> None:
        found = breaches(self.refused)
        assert any(self.words in breach.message for breach in found), found
        assert breaches(self.served) == []
