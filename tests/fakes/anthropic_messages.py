"""Anthropic's Messages endpoints, as strict as the real ones.

Each body is judged by rules of their own (`anthropic_rules`), each block of thinking by the book of what was given out (`thinking_book`).
A body that passes is answered with the next of the `answers`, written out here, or with the next of the recorded `streams`, byte for byte.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.config.upstreams import Upstream
from tests.fakes.answers import Answer
from tests.fakes.anthropic_items import conversation, own_items
from tests.fakes.anthropic_rules import NEW, OLD, asked, breaches
from tests.fakes.anthropic_stream import event, message, read, with_objects, write
from tests.fakes.claude_models import claude
from tests.fakes.claude_thinking import BINDING_BETA, misfit_breach
from tests.fakes.serving import FakeServer, Fault, Request, reply, serving
from tests.fakes.shapes import Breach
from tests.fakes.thinking_book import Book, Misfit

KEY = "sk-ant-made-up-for-the-fake-0123456789"
OTHER_KEY = "sk-ant-made-up-for-another-account-01"
BODY_BYTES_MAX = 32_000_000
CHARS_PER_TOKEN = 4
_PREFIX = ("system", "tools", "messages")
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class FakeAnthropic(FakeServer):
    """`answers` go before `streams`. `counted` are the bodies that were counted, `tokens_factor` makes
    each count so many times as large. Beyond `window_tokens`, a prompt is too long."""

    dialect = "anthropic-messages"
    key = KEY

    def __init__(self, streams: Sequence[bytes] = (), answers: Sequence[Answer] = (), window_tokens: int | None = None) -> None:
        super().__init__(streams)
        self.answers = list(answers)
        self.window_tokens = window_tokens
        self.tokens_factor = 1
        self.body_bytes_max = BODY_BYTES_MAX
        self.counted: list[Any] = []
        self.book = Book()
        self._requests = 0

    async def answer(self, request: Request, send: Any) -> None:
        self._requests += 1
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        version = request.headers.get("anthropic-version", "")
        if request.method != "POST" or request.path not in ("/v1/messages", "/v1/messages/count_tokens"):
            await self._error(send, 404, "Not Found")
        elif key not in (KEY, OTHER_KEY):
            await self._error(send, 401, "invalid x-api-key" if key else "x-api-key header is required")
        elif len(request.raw) > self.body_bytes_max:
            await self._error(send, 413, "Request exceeds the maximum size")
        elif version not in (OLD, NEW):
            gist = f'"{version}" is not a valid version' if version else "header is required"
            await self._error(send, 400, f"anthropic-version: {gist}")
        elif not request.headers.get("content-type", "").startswith("application/json"):
            await self._error(send, 400, "Unsupported content type; expected application/json")
        else:
            await self.complete(request, key, version, send)

    async def complete(self, request: Request, key: str, version: str, send: Any) -> None:
        """Judges the body of a request that came to the right place with the right key, and answers it."""
        body = request.document()
        betas = frozenset(each.strip() for each in request.headers.get("anthropic-beta", "").split(",") if each.strip())
        counting = request.path.endswith("count_tokens")
        found, dropped = self.judge(body, key, version, betas, counting)
        if found:
            self.refused.append((body, found))
            await self._error(send, 400, found[0].message)
        elif counting:
            self.counted.append(body)
            await reply(send, 200, {"input_tokens": self.tokens_factor * _tokens(body)}, self._headers())
        else:
            paths = [misfit.at for misfit in dropped] if BINDING_BETA in betas else None
            streams = body.get("stream") is True
            headers = self._headers() if streams else {**self._headers(), "content-type": "application/json"}
            await self.serve(send, body, headers, lambda: self.written(body, key, streams, paths))

    def judge(
        self, body: Any, account: str = KEY, version: str = NEW, betas: frozenset[str] | None = frozenset(), counting: bool = False
    ) -> tuple[list[Breach], list[Misfit]]:
        """What is wrong with a body by the rules and by the book, and what is dropped from it instead because the body asks for that."""
        if body is None:
            return [Breach("", "The request body is not valid JSON")], []
        if found := breaches(body, version, betas, counting):
            return found, []
        misfits = self.book.misfits(conversation(body, account), asked(body).thinks(claude(body["model"])))
        dropped = [misfit for misfit in misfits if misfit.reason in _PREFIX] if asked(body).drops else []
        if dropped:
            misfits = [misfit for misfit in misfits if misfit not in dropped and misfit.reason != "missing"]
        return [*map(misfit_breach, misfits), *self._length(body)], dropped

    def _length(self, body: dict[str, Any]) -> list[Breach]:
        if self.window_tokens is None or _tokens(body) <= self.window_tokens:
            return []
        return [Breach("", f"prompt is too long: {_tokens(body)} tokens > {self.window_tokens} maximum")]

    def written(self, body: dict[str, Any], account: str = KEY, streams: bool = True, dropped: list[str] | None = None) -> bytes:
        """The answer to a body that was put among `served`, as a stream or a document; the book remembers it.

        `dropped`: the places of blocks that were dropped, None where nobody asked.
        """
        if self.answers:
            number = len(self.served)
            says = asked(body)
            answer = self.answers[min(number, len(self.answers)) - 1]
            made = message(answer, body["model"], number, self.book.mint, says.thinks(claude(body["model"])), says.omitted)
            if dropped is not None:
                made["input_transformations"] = [{"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"} for path in dropped]
            wire = write(made)
        else:
            wire = self.next_stream()
            made = read(wire)
        made = with_objects(made)
        self.remember(body, made["content"], account)
        return wire if streams else json.dumps(made).encode()

    def remember(self, body: dict[str, Any], content: list[dict[str, Any]], account: str = KEY) -> None:
        """Takes the blocks for an answer of its own to that body, so that they may come back."""
        self.book.write(conversation(body, account), own_items(content))

    def _headers(self) -> dict[str, str]:
        limits = {f"anthropic-ratelimit-{what}-{part}": "1000" for what in ("requests", "tokens") for part in ("limit", "remaining")}
        return {"request-id": f"req_fake{self._requests:04}", **limits}

    async def _error(self, send: Any, status: int, words: str, kind: str | None = None, headers: dict[str, str] | None = None) -> None:
        error = {"type": kind or _KINDS.get(status, "api_error"), "message": words}
        document = {"type": "error", "error": error, "request_id": f"req_fake{self._requests:04}"}
        await reply(send, status, document, {"request-id": f"req_fake{self._requests:04}", **(headers or {})})

    async def fail(self, send: Any, fault: Fault) -> None:
        assert fault.status is not None
        await self._error(send, fault.status, fault.words, fault.kind, dict(fault.headers))

    def error_event(self, fault: Fault) -> bytes:
        return event("error", {"type": "error", "error": {"type": fault.kind or "overloaded_error", "message": fault.words}})

    def upstream(self, name: str | None = "anthropic", **more: Any) -> Upstream:
        return super().upstream(name, **more)


def _tokens(body: dict[str, Any]) -> int:
    """A count that grows with the body. The real one is nobody's to know."""
    return len(json.dumps([body.get(key) for key in ("system", "tools", "messages")])) // CHARS_PER_TOKEN


@asynccontextmanager
async def fake_anthropic(
    streams: Sequence[bytes] = (), answers: Sequence[Answer] = (), window_tokens: int | None = None
) -> AsyncIterator[FakeAnthropic]:
    """The endpoints on a free port of this machine."""
    async with serving(FakeAnthropic(streams, answers, window_tokens)) as fake:
        yield fake
