"""Bedrock's Converse endpoints, as strict as the real ones.

Each body is judged by rules of their own (`bedrock_rules`), each block of a Claude's thinking by the book of what was given out
(`thinking_book`). A body that passes is answered with the next of the `answers`, written out here, or with the next of the recorded
`streams`, byte for byte.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.config.upstreams import Upstream
from tests.fakes.answers import Answer
from tests.fakes.aws_frames import last_border, write_exception
from tests.fakes.aws_signature import signed_by
from tests.fakes.bedrock_conversation import family
from tests.fakes.bedrock_items import conversation, own_items
from tests.fakes.bedrock_rules import asked, breaches
from tests.fakes.bedrock_stream import message, read, with_objects, write
from tests.fakes.claude_models import claude
from tests.fakes.claude_thinking import misfit_breach
from tests.fakes.serving import FakeServer, Fault, Request, reply, serving
from tests.fakes.shapes import Breach
from tests.fakes.thinking_book import Book

KEY = "bedrock-api-key-made-up-for-the-fake"
ACCESS_KEY, SECRET_KEY = "AKIAMADEUPFORTHEFAKE", "made-up/secret+for-the-fake"
CHARS_PER_TOKEN = 4
_PATH = re.compile(r"/model/(?P<model>.+)/(?P<operation>converse|converse-stream|count-tokens)")
_OPERATIONS = {"converse": "Converse", "converse-stream": "ConverseStream", "count-tokens": "CountTokens"}
_KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


class FakeBedrock(FakeServer):
    """`answers` go before `streams`. `models` are those that the paths of the `served` bodies named; `counted` are bodies that were counted."""

    dialect = "bedrock-converse"
    key = KEY
    segment = ""
    stream_type = "application/vnd.amazon.eventstream"

    def __init__(self, streams: Sequence[bytes] = (), answers: Sequence[Answer] = (), window_tokens: int | None = None) -> None:
        super().__init__(streams)
        self.answers = list(answers)
        self.window_tokens = window_tokens
        self.counted: list[Any] = []
        self.models: list[str] = []
        self.book = Book()

    async def answer(self, request: Request, send: Any) -> None:
        found = _PATH.fullmatch(request.path)
        if request.method != "POST" or found is None:
            await self._error(send, 404, "Unable to determine service/operation name to be authorized", "UnknownOperationException")
        elif "authorization" not in request.headers:
            await self._error(send, 403, "Missing Authentication Token", "MissingAuthenticationTokenException")
        elif request.headers["authorization"] != f"Bearer {KEY}" and not signed_by(request, ACCESS_KEY, SECRET_KEY):
            await self._error(send, 403, "The security token included in the request is invalid.", "UnrecognizedClientException")
        elif not request.headers.get("content-type", "").startswith("application/json"):
            await self._error(send, 400, "Unsupported content type; expected application/json")
        else:
            await self.complete(request, found["model"], _OPERATIONS[found["operation"]], send)

    async def complete(self, request: Request, model: str, operation: str, send: Any) -> None:
        """Judges the body of a request that came to the right place with the right key, and answers it."""
        body = request.document()
        found = self.judge(body, model, operation)
        if found:
            self.refused.append((body, found))
            await self._error(send, 400, found[0].message)
        elif operation == "CountTokens":
            self.counted.append(body)
            await reply(send, 200, {"inputTokens": _tokens(body["input"].get("converse", body))})
        else:
            streams = operation == "ConverseStream"
            headers = {"x-amzn-requestid": f"fake-{len(self.served) + 1:04}", **({} if streams else {"content-type": "application/json"})}
            await self.serve(send, body, headers, lambda: self.written(body, model, streams))

    def judge(self, body: Any, model: str, operation: str = "ConverseStream") -> list[Breach]:
        """What is wrong with a body by the rules and by the book. Only Claude signs its thinking."""
        found = breaches(body, model, operation)
        if found or operation == "CountTokens":
            return found
        misfits = []
        if family(model) == "anthropic":
            misfits = self.book.misfits(conversation(body, model, KEY), asked(body).thinks(claude(model)))
        if asked(body).drops:
            misfits = [misfit for misfit in misfits if misfit.reason not in ("system", "tools", "messages", "missing")]
        return [*map(misfit_breach, misfits), *self._length(body)]

    def _length(self, body: dict[str, Any]) -> list[Breach]:
        if self.window_tokens is None or _tokens(body) <= self.window_tokens:
            return []
        return [Breach("", f"prompt is too long: {_tokens(body)} tokens > {self.window_tokens} maximum")]

    def written(self, body: dict[str, Any], model: str, streams: bool = True) -> bytes:
        """The answer to a body that was put among `served`, as a stream or a document; the book remembers it."""
        self.models.append(model)
        if self.answers:
            number = len(self.served)
            says = asked(body)
            signs = family(model) == "anthropic"
            answer = self.answers[min(number, len(self.answers)) - 1]
            made = message(answer, number, self.book.mint if signs else None, not signs or says.thinks(claude(model)), says.omitted)
            wire = write(made)
        else:
            wire = self.next_stream()
            made = read(wire)
        made = with_objects(made)
        self.remember(body, model, made["output"]["message"]["content"])
        return wire if streams else json.dumps(made).encode()

    def remember(self, body: dict[str, Any], model: str, content: list[dict[str, Any]]) -> None:
        """Takes the blocks for an answer of its own to that body, so that they may come back."""
        self.book.write(conversation(body, model, KEY), own_items(content))

    async def _error(self, send: Any, status: int, words: str, kind: str | None = None, headers: dict[str, str] | None = None) -> None:
        name = kind or _KINDS.get(status, "InternalServerException")
        await reply(send, status, {"message": words}, {"x-amzn-errortype": name, "x-amzn-requestid": "fake-error", **(headers or {})})

    async def fail(self, send: Any, fault: Fault) -> None:
        assert fault.status is not None
        await self._error(send, fault.status, fault.words, fault.kind, dict(fault.headers))

    def error_event(self, fault: Fault) -> bytes:
        return write_exception(fault.kind or "modelStreamErrorException", json.dumps({"message": fault.words}).encode())

    def border(self, stream: bytes, at: int) -> int:
        return last_border(stream[:at])

    def upstream(self, name: str | None = "bedrock", **more: Any) -> Upstream:
        return super().upstream(name, **more)


def _tokens(body: dict[str, Any]) -> int:
    """A count that grows with the body. The real one is nobody's to know."""
    return len(json.dumps([body.get(key) for key in ("system", "toolConfig", "messages")])) // CHARS_PER_TOKEN


@asynccontextmanager
async def fake_bedrock(streams: Sequence[bytes] = (), answers: Sequence[Answer] = (), window_tokens: int | None = None) -> AsyncIterator[FakeBedrock]:
    """The endpoints on a free port of this machine."""
    async with serving(FakeBedrock(streams, answers, window_tokens)) as fake:
        yield fake
