"""The official SDK as judge: a closed JSON Schema of the request, and its own parser of streams."""

from functools import cache
from typing import Any

import httpx2
import orjson
from jsonschema import Draft202012Validator
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


class _Loose(GenerateJsonSchema):
    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {"not": {}}


@cache
def request_judge() -> Draft202012Validator:
    """Validates request bodies; no object takes a key that the SDK's types do not name."""
    schema = TypeAdapter(CompletionCreateParamsStreaming).json_schema(schema_generator=_Loose)
    _close(schema)
    return Draft202012Validator(schema)


def _close(value: Any) -> None:
    if isinstance(value, dict):
        if "properties" in value:
            value["additionalProperties"] = False
        for item in value.values():
            _close(item)
    elif isinstance(value, list):
        for item in value:
            _close(item)


def objections(body: bytes) -> list[str]:
    """What the SDK's types have against a body."""
    return [f"{error.json_path}: {error.message[:200]}" for error in request_judge().iter_errors(orjson.loads(body))]


def sdk_calls(answer: ChatCompletion) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each function call."""
    calls = answer.choices[0].message.tool_calls or []
    return [(call.id, call.function.name, call.function.arguments) for call in calls if call.type == "function"]


def sdk_answer(stream: bytes) -> ChatCompletion:
    """The answer as the SDK's own client reads it from a canned connection and puts it together. Raises `openai.APIError`."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream))
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    with OpenAI(api_key="none", base_url="http://upstream.test/v1", http_client=httpx2.Client(transport=transport), max_retries=0) as client:
        for chunk in client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}], stream=True):
            state.handle_chunk(chunk)
    return state.current_completion_snapshot
