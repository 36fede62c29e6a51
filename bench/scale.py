"""How much a run does: enough for figures that hold, or a smoke of each row in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """`rounds` interleaved rounds; `turns` appends a caller and round; `long_entries` of a long session and `longest_entries` of the one
    that every reading is made of; `seconds` of a paced stream."""

    rounds: int
    turns: int
    long_entries: int
    longest_entries: int
    page_entries: int
    compile_repeats: int
    streams: int
    many_streams: int
    stream_seconds: float
    fast_events: int


FULL = Scale(5, 120, 100_000, 1_000_000, 10_000, 40, 32, 128, 3.0, 10_000)
QUICK = Scale(1, 4, 300, 1_200, 200, 2, 2, 4, 0.2, 200)
EVENT_MS = 20
"""Between two events of a paced stream: 50 tokens a second."""
