"""The official SDK as judge: a closed JSON Schema of the request, and its own parser of streams."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx2
import orjson
from anthropic import Anthropic
from anthropic.types.beta.parsed_beta_message import ParsedBetaMessage
from anthropic.types.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


class _Loose(GenerateJsonSchema):
    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {"not": {}}


@cache
def _judge(kind: Any) -> Draft202012Validator:
    schema = TypeAdapter(kind).json_schema(schema_generator=_Loose)
    _close(schema)
    return Draft202012Validator(schema)


def _close(value: Any) -> None:
    """No object takes a key that the SDK's types do not name, but for those that are a user's own (`input`, a schema)."""
    if isinstance(value, dict):
        if "properties" in value and value.get("title") not in ("InputSchemaTyped", "InputSchema"):
            value["additionalProperties"] = False
        for item in value.values():
            _close(item)
    elif isinstance(value, list):
        for item in value:
            _close(item)


def objections(body: bytes, kind: Any = MessageCreateParamsStreaming) -> list[str]:
    """What the SDK's types have against a body."""
    return [f"{error.json_path}: {error.message[:200]}" for error in _judge(kind).iter_errors(orjson.loads(body))]


def count_objections(body: bytes) -> list[str]:
    """The same against a body for the counting endpoint."""
    return objections(body, MessageCountTokensParams)


def sdk_answer(stream: bytes) -> ParsedBetaMessage[None]:
    """The answer as the SDK's own client reads it from a canned connection and puts it together. Raises `anthropic.APIError`.

    By its beta client, which knows all blocks; for the others it does the same as the plain one.
    """
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream))
    with (
        Anthropic(api_key="none", base_url="http://upstream.test", http_client=httpx2.Client(transport=transport), max_retries=0) as client,
        client.beta.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "q"}]) as answer,
    ):
        for _ in answer:
            pass
        return answer.current_message_snapshot


def plain(value: Any) -> Any:
    """A JSON value without nulls, as the SDK's models add them for what did not come."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value
