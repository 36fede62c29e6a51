"""One row of the result, and the table that is printed at the end."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import orjson


@dataclass(frozen=True, slots=True)
class Row:
    """`met` is None where the row states a figure without a target. `holds_back` is written by hand and shown where the target is missed."""

    work: str
    target: str
    reached: str
    met: bool | None
    holds_back: str = ""


def skipped(work: str, target: str, why: str) -> Row:
    """A row that could not be measured in this run, and why."""
    return Row(work, target, "not measured", None, why)


def render(rows: Sequence[Row]) -> str:
    """A table in Markdown, columns aligned, a mark before each figure that has a target."""
    marks = {True: "met ", False: "MISSED ", None: ""}
    lines = [("work", "target", "reached", "what holds it back")]
    lines += [(row.work, row.target, marks[row.met] + row.reached, "" if row.met else row.holds_back) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    printed = ["| " + " | ".join([*(line[column].ljust(widths[column]) for column in range(3)), line[3]]) + " |" for line in lines]
    printed.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|---|")
    return "\n".join(printed)


def render_json(rows: Sequence[Row]) -> str:
    """The same rows as one JSON document."""
    return orjson.dumps([asdict(row) for row in rows], option=orjson.OPT_INDENT_2).decode()
