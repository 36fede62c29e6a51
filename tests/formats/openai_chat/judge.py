"""The official SDK as judge: a closed JSON Schema of the request, and its own parser of streams."""

import httpx2
import orjson
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion

from tests.judges.openai_chat import schema
from tests.judges.schemas import found_by


def objections(body: bytes) -> list[str]:
    """What the SDK's types have against a body."""
    return found_by(schema(), orjson.loads(body))


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
