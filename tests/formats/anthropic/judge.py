"""The official SDK as judge: a closed JSON Schema of the request, and its own parser of streams."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx2
import jsonschema_rs
import orjson
from anthropic import Anthropic
from anthropic.types.beta.parsed_beta_message import ParsedBetaMessage
from anthropic.types.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.message_create_params import MessageCreateParamsStreaming

from tests.judges.schemas import closed, found_by


@cache
def _judge(kind: Any) -> jsonschema_rs.Draft202012Validator:
    return closed(kind)


def objections(body: bytes, kind: Any = MessageCreateParamsStreaming) -> list[str]:
    """What the SDK's types have against a body."""
    return found_by(_judge(kind), orjson.loads(body))


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
