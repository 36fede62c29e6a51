"""The official SDK as judge: a closed JSON Schema of the request and of the count, its types of events, and its own client."""

from functools import cache
from typing import Any

import httpx2
import jsonschema_rs
import orjson
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.input_token_count_params import InputTokenCountParams
from pydantic import TypeAdapter

from tests.judges.openai_responses import TOLERANCES, schema
from tests.judges.schemas import closed, found_by


@cache
def _counting() -> jsonschema_rs.Draft202012Validator:
    return closed(InputTokenCountParams, TOLERANCES)


@cache
def event_judge() -> TypeAdapter[Any]:
    """Validates stream events."""
    return TypeAdapter(ResponseStreamEvent)


def objections(body: bytes, counting: bool = False) -> list[str]:
    """What the SDK's types have against a body."""
    return found_by(_counting() if counting else schema(), orjson.loads(body))


def _client(stream: bytes) -> OpenAI:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream))
    return OpenAI(api_key="none", base_url="http://upstream.test/v1", http_client=httpx2.Client(transport=transport), max_retries=0)


def sdk_answer(stream: bytes) -> Response:
    """The answer as the SDK's own client puts it together. Raises for a stream that its assembler does not take, or that has no end."""
    with _client(stream) as client, client.responses.stream(model="m", input="q") as events:
        return events.get_final_response()


def sdk_last(stream: bytes) -> Response:
    """The response of the terminal event, as the SDK's client reads it event by event. Raises `openai.APIError` for an error event."""
    last = None
    with _client(stream) as client:
        for event in client.responses.create(model="m", input="q", stream=True):
            last = event
    assert last is not None
    assert last.type in ("response.completed", "response.incomplete", "response.failed")
    return last.response


def sdk_calls(answer: Response) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each function call."""
    return [(item.call_id, item.name, item.arguments) for item in answer.output if item.type == "function_call"]


def sdk_text(answer: Response) -> str:
    """Everything that the messages say, refusals too."""
    parts = [part for item in answer.output if item.type == "message" for part in item.content]
    return "".join(part.text if part.type == "output_text" else part.refusal for part in parts)


def sdk_reasoning(answer: Response) -> list[str]:
    """What each reasoning item says: its summaries, else itself."""
    thoughts = [item for item in answer.output if item.type == "reasoning"]
    return ["\n\n".join(part.text for part in item.summary) or "\n\n".join(part.text for part in item.content or []) for item in thoughts]
