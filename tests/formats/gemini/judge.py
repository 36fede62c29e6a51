"""The official SDK as judge: a closed JSON Schema of the request, and its own client as reader of streams."""

from base64 import b64decode
from functools import cache
from typing import Any, NamedTuple

import httpx
import orjson
from google import genai
from google.genai import types

from tests.judges.gemini import Body, schema
from tests.judges.schemas import found_by


def objections(body: bytes) -> list[str]:
    """What the SDK's types have against a body: as a closed schema, and as its own models read it."""
    found = found_by(schema(), orjson.loads(body))
    if not found:
        Body.model_validate_json(body)
    return found


def sdk_names(name: str) -> set[str]:
    """The names that a type of the SDK has."""
    definitions: dict[str, Any] = Body.model_json_schema(by_alias=True)["$defs"]
    return set(definitions[name]["properties"])


class SdkAnswer(NamedTuple):
    """What the SDK's client reads: texts and thoughts joined, calls, signatures in order, and the last of what comes again and again."""

    text: str
    thoughts: str
    calls: list[tuple[str, str | None, Any]]
    signatures: list[bytes]
    finish_reason: str | None
    block_reason: str | None
    figures: dict[str, int]


class _Canned(httpx.BaseTransport):
    """Answers each request with the stream at hand."""

    stream = b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=self.stream)


@cache
def _client() -> tuple[_Canned, genai.Client]:
    canned = _Canned()
    options = types.HttpOptions(base_url="http://upstream.test", api_version="v1beta", httpx_client=httpx.Client(transport=canned))
    return canned, genai.Client(api_key="none", http_options=options)


def sdk_answer(stream: bytes) -> SdkAnswer:
    """The answer as the SDK's own client reads it from a canned connection. Raises `google.genai.errors.APIError`."""
    canned, client = _client()
    canned.stream = stream
    return _assembled(list(client.models.generate_content_stream(model="m", contents="q")))


def _assembled(chunks: list[types.GenerateContentResponse]) -> SdkAnswer:
    found = SdkAnswer("", "", [], [], None, None, {})
    for chunk in chunks:
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            found = found._replace(block_reason=chunk.prompt_feedback.block_reason.value)
        if chunk.usage_metadata is not None:
            usage = chunk.usage_metadata.model_dump(exclude_none=True, by_alias=True)
            found.figures.update({key: value for key, value in usage.items() if isinstance(value, int)})
        for candidate in chunk.candidates or ():
            if candidate.finish_reason is not None:
                found = found._replace(finish_reason=candidate.finish_reason.value)
            for part in (candidate.content and candidate.content.parts) or ():
                if part.text and part.thought:
                    found = found._replace(thoughts=found.thoughts + part.text)
                elif part.text:
                    found = found._replace(text=found.text + part.text)
                if part.function_call is not None:
                    found.calls.append((part.function_call.name or "", part.function_call.id, part.function_call.args or {}))
                if part.thought_signature:
                    found.signatures.append(part.thought_signature)
    return found


def signature(opaque: str) -> bytes | None:
    """The bytes of the signature that a part's block holds."""
    spelled = orjson.loads(opaque).get("thoughtSignature")
    return None if spelled is None else b64decode(spelled.replace("-", "+").replace("_", "/") + "==")
