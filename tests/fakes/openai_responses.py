"""A Responses endpoint that is as strict as the real one and answers with recorded streams or by script.

Each body is judged by rules of its own (`openai_responses_rules`) and by what was answered before (`openai_responses_book`); a breach is
a 400 in OpenAI's error shape. `POST /v1/responses/input_tokens` counts a body that is in order: a quarter of its bytes.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

from tests.fakes.answers import Answer
from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_responses_book import Book
from tests.fakes.openai_responses_rules import breaches
from tests.fakes.openai_responses_stream import events, failure, framed, whole
from tests.fakes.server_sent import documents
from tests.fakes.serving import FakeServer, Fault, Request, reply, serving

KEY = "sk-made-up-for-the-responses-fake-0123456789"
OTHER_KEY = "sk-made-up-for-another-organisation-0123456789"
ORGANISATIONS = {KEY: "org-fake", OTHER_KEY: "org-other"}
_ERRORS = {  # status → type and code; a fault's kind stands in place of the code
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("request_forbidden", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", "server_error"),
    503: ("service_unavailable_error", "server_is_overloaded"),
}


class FakeOpenAIResponses(FakeServer):
    """`answers` go before `streams`. `refused` has with each body its breaches, `counted` has the bodies that were counted.

    `error_shape`: how an error in the middle of a stream is told, as one or two of the events that the endpoint is known to send (12.5).
    """

    dialect = "openai-responses"
    key = KEY
    error_shape: Literal["flat", "nested", "failed"] = "nested"

    def __init__(self, streams: Sequence[bytes] = (), answers: Sequence[Answer] = ()) -> None:
        super().__init__(streams)
        self.answers = list(answers)
        self.book = Book()
        self.counted: list[Any] = []

    async def answer(self, request: Request, send: Any) -> None:
        counting = request.path == "/v1/responses/input_tokens"
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if request.method != "POST" or not (counting or request.path == "/v1/responses"):
            await _refuse(send, 404, Breach(f"Invalid URL ({request.method} {request.path})", None))
        elif not key:
            await _refuse(send, 401, Breach("You didn't provide an API key.", None))
        elif key not in ORGANISATIONS:
            await _refuse(send, 401, Breach("Incorrect API key provided.", None, "invalid_api_key"))
        else:
            await self.complete(request, send, ORGANISATIONS[key], counting)

    async def complete(self, request: Request, send: Any, organisation: str, counting: bool) -> None:
        """Judges the body of a request that came to the right place with a right key."""
        body = request.document()
        found = self.judge(body, organisation, counting)
        if not request.headers.get("content-type", "").startswith("application/json"):
            found.append(Breach("Unsupported content type.", None))
        if not counting and not self.answers and isinstance(body, dict) and body.get("stream") is not True:
            found.append(Breach("Recorded streams are for requests that stream.", "stream"))
        if found:
            self.refused.append((body, found))
            await _refuse(send, 400, found[0])
        elif counting:
            self.counted.append(body)
            await reply(send, 200, {"object": "response.input_tokens", "input_tokens": tokens(body)})
        else:
            kind = {} if body.get("stream") else {"content-type": "application/json"}
            await self.serve(send, body, {"x-request-id": f"req_fake_{len(self.served) + 1}", **kind}, lambda: self.written(body, organisation))

    def judge(self, body: Any, organisation: str = ORGANISATIONS[KEY], counting: bool = False) -> list[Breach]:
        """What is wrong with a body, by the rules and by what was answered before."""
        return breaches(body, counting) or list(self.book.breaches(body, organisation))

    def written(self, body: Any, organisation: str = ORGANISATIONS[KEY]) -> bytes:
        """The answer to a body that was put among `served`, which the book remembers."""
        if not self.answers:
            stream = self.next_stream()
            self.book.remember(documents(stream), body, organisation)
            return stream
        answer = self.answers[min(len(self.served), len(self.answers)) - 1]
        response = whole(answer, body, len(self.served), self.book.token)
        self.book.record(response, organisation, self.book.items(body, organisation))
        if not body.get("stream"):
            return json.dumps(response).encode()
        obfuscated = (body.get("stream_options") or {}).get("include_obfuscation") is not False
        return framed(events(response, self.book.token, self.book.renewed, obfuscated))

    async def play(self, send: Any, stream: bytes, headers: Mapping[str, str], fault: Fault) -> None:
        """An error event has the number after the last whole event's, so it is put in here, where that one is known."""
        if fault.then == "error" and fault.stop_at_byte is not None and fault.stop_at_byte < len(stream):
            stream = stream[: self.border(stream, fault.stop_at_byte)]
            stream += self.error_event(fault, stream.count(b"\ndata: "))
            fault = replace(fault, stop_at_byte=None)
        await super().play(send, stream, headers, fault)

    def error_event(self, fault: Fault, number: int = 0) -> bytes:
        begun = {"id": f"resp_fake{len(self.served):04}", "object": "response", "created_at": 1_790_000_000, "model": self.served[-1]["model"]}
        begun |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return framed(failure(begun, fault.kind or "server_error", fault.words, self.error_shape), number)

    async def fail(self, send: Any, fault: Fault) -> None:
        assert fault.status is not None
        kind, code = _ERRORS.get(fault.status, ("invalid_request_error", None))
        error = {"message": fault.words, "type": kind, "param": None, "code": fault.kind or code}
        await reply(send, fault.status, {"error": error}, {"x-request-id": f"req_fake_failed_{len(self.failed)}", **fault.headers})


def tokens(body: Any) -> int:
    """What the fake takes for the number of tokens of a body."""
    return max(1, len(json.dumps(body)) // 4)


async def _refuse(send: Any, status: int, breach: Breach) -> None:
    error = {"message": breach.message, "type": "invalid_request_error", "param": breach.param, "code": breach.code}
    await reply(send, status, {"error": error}, {"x-request-id": "req_fake_refused"})


@asynccontextmanager
async def fake_openai_responses(
    streams: Sequence[bytes] = (), kind: type[FakeOpenAIResponses] = FakeOpenAIResponses, answers: Sequence[Answer] = ()
) -> AsyncIterator[FakeOpenAIResponses]:
    """The endpoint on a free port of this machine; `kind`: one that does more."""
    async with serving(kind(streams, answers)) as fake:
        yield fake
