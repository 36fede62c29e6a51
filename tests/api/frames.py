"""A reader of event streams by the WHATWG rules, for tests: it keeps nothing but id, event and data."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx


async def frames(answer: httpx.Response) -> AsyncIterator[tuple[str, str, Any]]:
    """The frames of a stream as (id, event, data); comments are skipped."""
    rest = b""
    async for piece in answer.aiter_bytes():
        rest += piece
        while b"\n\n" in rest:
            block, rest = rest.split(b"\n\n", 1)
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
            if b"data" in fields:
                yield fields[b"id"].decode(), fields[b"event"].decode(), json.loads(fields[b"data"])
