"""What reading a provider's stream costs: bytes to deltas, in multiples of `json.loads` of the same events in the same round."""

import json
from collections.abc import Iterator
from statistics import median

from app.entries.deltas import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted, Usage, UsageReport
from app.formats.framing.aws import FrameReader
from app.formats.framing.sse import SseReader
from app.formats.protocols import Format
from app.formats.registry import FORMATS
from bench.rounds import median_ms
from bench.scale import Scale
from bench.table import Row

TARGET = 1.5
DELTAS, CHUNK_BYTES, WORDS = 2_000, 1_400, "a few words of it "


def answer() -> Iterator[Delta]:
    """An answer of that many pieces: some thinking, mostly text, two calls."""
    for _ in range(DELTAS // 10):
        yield ReasoningDelta(0, WORDS)
    for _ in range(DELTAS):
        yield TextDelta(1, WORDS)
    for part in (2, 3):
        yield ToolCallStarted(part, "lookup", f"call_{part}")
        yield ToolCallDelta(part, '{"key":"patient-0001","limit":10}')
    yield UsageReport(Usage(1_000, 0, 0, 500, 50))
    yield Finished("tool_calls")


def streamed(form: Format) -> bytes:
    """The answer as a server of the dialect sends it."""
    writer = form.new_writer("bench-model", "bench", 0)
    return b"".join([*(writer.write(delta) for delta in answer()), writer.end()])


def _events(form: Format, stream: bytes) -> list[str]:
    """The JSON texts of the stream's events."""
    if form.accept == "application/vnd.amazon.eventstream":
        return [frame.payload.decode() for frame in FrameReader().feed(stream)]
    return [event.data for event in SseReader().feed(stream) if event.data != "[DONE]"]


def measure(scale: Scale) -> list[Row]:
    """A row for each dialect."""
    return [_measured(form, scale) for form in FORMATS.values()]


def _measured(form: Format, scale: Scale) -> Row:
    stream = streamed(form)
    events = _events(form, stream)
    chunks = [stream[at : at + CHUNK_BYTES] for at in range(0, len(stream), CHUNK_BYTES)]

    def read() -> int:
        reader = form.new_reader("bench")
        return sum(len(reader.feed(chunk)) for chunk in chunks) + len(reader.end())

    def loads() -> int:
        return len([json.loads(event) for event in events])

    repeats = max(3, scale.compile_repeats // 20)
    ratios = [median_ms(repeats, read) / median_ms(repeats, loads) for _ in range(scale.rounds)]
    return Row(
        f"{form.dialect}: a stream of {len(events):,} events, bytes to deltas",
        "≤ 1.5 × json.loads of them",
        f"{median(ratios):.2f} ×",
        median(ratios) <= TARGET,
        "framing, a delta object an event, and numbers kept as they are spelled",
    )
