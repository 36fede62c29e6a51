"""Gemini's generateContent endpoints, as strict as the real ones, answering with recorded streams or by script.

Each body is judged by rules of its own (`gemini_rules`) and by the signatures that were given out (`gemini_book`); a breach is a 400 in
Google's error shape. `countTokens` counts a body that is in order: a quarter of its bytes. `v1` and `v1beta` are the same.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs

from tests.fakes.answers import Answer, Redacted, Thinking
from tests.fakes.gemini_book import Book
from tests.fakes.gemini_models import since, thinks, version
from tests.fakes.gemini_proto import Breach
from tests.fakes.gemini_rules import breaches, canonical
from tests.fakes.gemini_stream import Sign, chunks, event, framed, whole
from tests.fakes.server_sent import documents
from tests.fakes.serving import FakeServer, Fault, Request, reply, serving

KEY = "AIza-made-up-for-the-fake-0123456789"
OTHER_KEY = "AIza-made-up-for-another-project-01"
_PATH = re.compile(r"/(?:v1|v1beta)/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)")
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
Form = Literal["whole", "events", "array"]
_TYPES = "type.googleapis.com/google.rpc."


@dataclass(frozen=True, slots=True)
class QuotaFault(Fault):
    """A fault that tells how long to wait, such as `14s`, and of which quota; one whose id has `PerDay` does not come back today."""

    status: int | None = 429
    retry_delay: str | None = "14s"
    quota_id: str = "GenerateRequestsPerMinutePerProjectPerModel"


class FakeGemini(FakeServer):
    """`answers` go before `streams`. `models` has the model of each body among `served`, `counted` the bodies that were counted.

    `late_signatures`: a stream without calls has its signature on an empty last text, not on its last piece. `wrapped_errors`: an error
    comes in a list of one, as Google sometimes sends it.
    """

    dialect = "gemini"
    key = KEY
    segment = "/v1beta"
    stream_type = "text/event-stream"
    late_signatures = True
    wrapped_errors = False

    def __init__(self, streams: Sequence[bytes] = (), answers: Sequence[Answer] = ()) -> None:
        super().__init__(streams)
        self.answers = list(answers)
        self.book = Book()
        self.models: list[str] = []
        self.counted: list[Any] = []

    async def answer(self, request: Request, send: Any) -> None:
        place = _PATH.fullmatch(request.path)
        query = parse_qs(request.query)
        key = request.headers.get("x-goog-api-key") or "".join(query.get("key", []))
        if request.method != "POST" or place is None:
            await self._error(send, 404, f"{request.path} is not found for this API version, or is not supported.")
        elif not key:
            await self._error(send, 403, "Method doesn't allow unregistered callers. Please use API Key to call this API.")
        elif key not in (KEY, OTHER_KEY):
            info = {"@type": f"{_TYPES}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            await self._error(send, 400, "API key not valid. Please pass a valid API key.", details=[info])
        else:
            await self.complete(request, send, place[1], place[2], key, query.get("alt") == ["sse"])

    async def complete(self, request: Request, send: Any, model: str, method: str, key: str, events: bool) -> None:
        """Judges the body of a request that came to the right place with a right key. `events`: it asks for server-sent events."""
        body, counting = request.document(), method == "countTokens"
        found = self.judge(body, model, key, counting)
        if not request.headers.get("content-type", "").startswith("application/json"):
            found.append(Breach("Unsupported content type."))
        if method == "generateContent" and not self.answers:
            found.append(Breach("Recorded streams are for requests that stream."))
        if found:
            self.refused.append((body, found))
            await self._error(send, 400, found[0].message)
        elif counting:
            self.counted.append(body)
            count = tokens(body)
            await reply(send, 200, {"totalTokens": count, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count}]})
        else:
            form: Form = "whole" if method == "generateContent" else "events" if events else "array"
            whole_type = {} if form == "events" else {"content-type": "application/json; charset=UTF-8"}
            await self.serve(send, body, whole_type, lambda: self.written(body, model, key, form))

    def judge(self, body: Any, model: str, key: str = KEY, counting: bool = False) -> list[Breach]:
        """What is wrong with a body, by the rules and by the signatures that were given out."""
        found = breaches(body, model, counting)
        asked = canonical(body, model, counting)[0]
        if not found:
            found = list(self.book.breaches(asked["contents"], model, key))
            if "continuationToken" in asked:
                found.append(Breach("The continuation token is not valid."))
        return found

    def written(self, body: Any, model: str, key: str = KEY, form: Form = "events") -> bytes:
        """The answer to a body that was put among `served`, which the book remembers."""
        self.models.append(model)
        if not self.answers:
            stream = self.next_stream()
            self.book.remember(documents(stream), model, key)
            return stream
        number = len(self.served)
        answer = self.answers[min(number, len(self.answers)) - 1]
        sign = self._sign(model, key, answer)
        config = canonical(body, model)[0].get("generationConfig", {})
        thoughts = config.get("thinkingConfig", {}).get("includeThoughts", False)
        if form == "whole":
            return json.dumps(whole(answer, model, number, sign, thoughts)).encode()
        return framed(chunks(answer, model, number, sign, thoughts, self.late_signatures), form == "events")

    def _sign(self, model: str, key: str, answer: Answer) -> Sign | None:
        """From 3 on each answer is signed, before that one that was thought about, and before 2.5 none."""
        thought = any(isinstance(part, Thinking | Redacted) for part in answer.parts)
        if not thinks(model) or not (thought or since(model, 3) or version(model) is None):
            return None
        return lambda part: self.book.sign(part, model, key)

    def border(self, stream: bytes, at: int) -> int:
        return stream.rfind(b"\r\n\r\n", 0, at) + 4 if b"\r\n\r\n" in stream[:at] else 0

    def error_event(self, fault: Fault) -> bytes:
        code = next((code for code, status in _STATUSES.items() if status == fault.kind), 500)
        return event(self._document(code, fault.words, fault.kind))

    async def fail(self, send: Any, fault: Fault) -> None:
        assert fault.status is not None
        details: list[dict[str, Any]] = []
        if isinstance(fault, QuotaFault):
            details.append({"@type": f"{_TYPES}QuotaFailure", "violations": [{"quotaId": fault.quota_id}]})
            if fault.retry_delay is not None:
                details.append({"@type": f"{_TYPES}RetryInfo", "retryDelay": fault.retry_delay})
        await reply(send, fault.status, self._document(fault.status, fault.words, fault.kind, details), fault.headers)

    def _document(self, code: int, words: str, status: str | None = None, details: Sequence[Any] = ()) -> Any:
        error = {"code": code, "message": words, "status": status or _STATUSES.get(code, "UNKNOWN"), **({"details": [*details]} if details else {})}
        return [{"error": error}] if self.wrapped_errors else {"error": error}

    async def _error(self, send: Any, code: int, words: str, details: Sequence[Any] = ()) -> None:
        await reply(send, code, self._document(code, words, details=details))


def tokens(body: Any) -> int:
    """What the fake takes for the number of tokens of a body."""
    return max(1, len(json.dumps(body)) // 4)


@asynccontextmanager
async def fake_gemini(
    streams: Sequence[bytes] = (), kind: type[FakeGemini] = FakeGemini, answers: Sequence[Answer] = ()
) -> AsyncIterator[FakeGemini]:
    """The endpoints on a free port of this machine; `kind`: one that does more."""
    async with serving(kind(streams, answers)) as fake:
        yield fake
