"""A Chat Completions endpoint that is as strict as the real one and answers with recorded streams or by script.

It checks each request by rules of its own (`openai_chat_rules`), answers a breach with 400 in OpenAI's error shape, and otherwise
writes the next of its answers, or plays the next of its streams, byte for byte.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.config.upstreams import Upstream
from tests.fakes.answers import Answer
from tests.fakes.openai_chat_rules import Breach, breaches
from tests.fakes.openai_chat_stream import write_stream
from tests.fakes.serving import FakeServer, Fault, Request, reply, serving

KEY = "sk-made-up-for-the-fake-0123456789"

OTHERS_KEYS = ("reasoning_details", "extra_content")
"""Keys of messages and calls that OpenAI does not know, and that a server which sends them takes back."""


class FakeOpenAI(FakeServer):
    """`answers` go before `streams`. `refused` has with each body the breaches that were found in it.

    A recorded stream of another server makes this one take back what that server gives: `gave` has the keys.
    """

    dialect = "openai-chat"
    key = KEY

    def __init__(self, streams: Sequence[bytes] = (), answers: Sequence[Answer] = ()) -> None:
        super().__init__(streams)
        self.answers = list(answers)
        self.gave: set[str] = set()

    async def answer(self, request: Request, send: Any) -> None:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            await _error(send, 404, Breach(f"Invalid URL ({request.method} {request.path})", None))
        elif request.headers.get("authorization") != f"Bearer {KEY}":
            await _error(send, 401, Breach("Incorrect API key provided.", None, "invalid_api_key"))
        else:
            await self.complete(request, send)

    async def complete(self, request: Request, send: Any) -> None:
        """Judges the body of a request that came to the right place with the right key."""
        body = request.document()
        found = breaches(self.plain(body))
        if not request.headers.get("content-type", "").startswith("application/json"):
            found.append(Breach("Unsupported content type.", None))
        if isinstance(body, dict) and body.get("stream") is not True:
            found.append(Breach("This endpoint streams alone.", "stream"))
        if found:
            self.refused.append((body, found))
            await _error(send, 400, found[0])
        else:
            await self.serve(send, body, {"x-request-id": f"req_fake_{len(self.served) + 1}"}, lambda: self.written(body))

    def plain(self, body: Any) -> Any:
        """The body without what this endpoint gave and OpenAI's does not know, in its messages and their calls."""
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not self.gave:
            return body
        return body | {"messages": [self._plain(message) for message in body["messages"]]}

    def _plain(self, message: Any) -> Any:
        if not isinstance(message, dict):
            return message
        kept = {key: value for key, value in message.items() if key not in self.gave}
        return kept | {"tool_calls": [self._plain(call) for call in kept["tool_calls"]]} if isinstance(kept.get("tool_calls"), list) else kept

    def written(self, body: Any) -> bytes:
        """The answer to a body that was put among `served`."""
        if not self.answers:
            stream = self.next_stream()
            self.gave |= {key for key in OTHERS_KEYS if f'"{key}"'.encode() in stream}
            return stream
        answer = self.answers[min(len(self.served), len(self.answers)) - 1]
        include_usage = (body.get("stream_options") or {}).get("include_usage") is True
        return write_stream(answer, body["model"], len(self.served), include_usage)

    async def fail(self, send: Any, fault: Fault) -> None:
        assert fault.status is not None
        await reply(send, fault.status, _document(Breach(fault.words, None), fault.kind or "server_error"), fault.headers)

    def error_event(self, fault: Fault) -> bytes:
        return b"data: " + json.dumps(_document(Breach(fault.words, None), fault.kind or "server_error")).encode() + b"\n\n"

    def upstream(self, name: str | None = "openai", **more: Any) -> Upstream:
        return super().upstream(name, **more)


def _document(breach: Breach, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": breach.message, "type": kind, "param": breach.param, "code": breach.code}}


async def _error(send: Any, status: int, breach: Breach) -> None:
    await reply(send, status, _document(breach))


async def refuse(send: Any, status: int, words: str) -> None:
    """An answer in OpenAI's error shape."""
    await _error(send, status, Breach(words, None))


@asynccontextmanager
async def fake_openai(
    streams: Sequence[bytes] = (), kind: type[FakeOpenAI] = FakeOpenAI, answers: Sequence[Answer] = ()
) -> AsyncIterator[FakeOpenAI]:
    """The endpoint on a free port of this machine; `kind`: one that does more."""
    async with serving(kind(streams, answers)) as fake:
        yield fake
