"""A provider that speaks the OpenAI chat stream at a set pace, as thin as a server in Python can be, so that it is never what is measured.

The model's name sets the pace: `<anything>-<events>-<milliseconds>`; 0 ms sends as fast as the socket takes it. Each event's
text is the monotonic clock in nanoseconds and a blank, so that a reader on the same machine knows how long it was under way.
"""

import asyncio
import time

import orjson

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_HEAD = b'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench",'
BEFORE = _HEAD + b'"choices":[{"index":0,"delta":{"content":"'
AFTER = b' "},"finish_reason":null}]}\n\n'
STOP = _HEAD + b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
USAGE = _HEAD + b'"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}\n\n'
DONE = b"data: [DONE]\n\n"
WRITE_BYTES_MAX = 256 * 1024
FAST_EVENTS_A_WRITE = 20  # one HTTP chunk an event all the same


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


ENDING = b"".join(map(_chunk, (STOP, USAGE, DONE))) + b"0\r\n\r\n"


def _event() -> bytes:
    return _chunk(b"%s%d%s" % (BEFORE, time.monotonic_ns(), AFTER))


async def _request(reader: asyncio.StreamReader) -> bytes | None:
    """The body of the next request on a kept connection; None when the peer is gone."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
    except asyncio.IncompleteReadError:
        return None
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return await reader.readexactly(length)


async def _answer(writer: asyncio.StreamWriter, events: int, interval_seconds: float) -> None:
    writer.write(HEAD)
    if not interval_seconds:
        for sent in range(0, events, FAST_EVENTS_A_WRITE):
            writer.write(_event() * min(FAST_EVENTS_A_WRITE, events - sent))
            if writer.transport.get_write_buffer_size() > WRITE_BYTES_MAX:
                await writer.drain()
    else:
        due = time.monotonic()
        for _ in range(events):
            writer.write(_event())
            due += interval_seconds
            await asyncio.sleep(max(0.0, due - time.monotonic()))
    writer.write(ENDING)
    await writer.drain()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while (body := await _request(reader)) is not None:
            _, events, interval_ms = orjson.loads(body)["model"].rsplit("-", 2)
            await _answer(writer, int(events), int(interval_ms) / 1000)
    except (ConnectionError, asyncio.IncompleteReadError):
        return  # a reader that leaves is no failure of the measurement
    finally:
        writer.close()


async def serve() -> None:
    """Listens on a free loopback port, prints it, and serves until it is ended."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()
