"""The cases as they are written: read, expanded, and taken apart where one holds several that are independent."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARTS_MAX = 64
EXPANDED_LENGTH_MAX = 64 * 2**20

_MANY = {"project_many": "cases", "stream_many": "streams"}


@dataclass(frozen=True, slots=True)
class Case:
    """One case, or one part of a case that is many. `input` is expanded; `part` counts from 0, None for a case that is one."""

    id: str
    group: str
    provider: str
    input: Any
    expected: str
    part: int | None = None

    @property
    def name(self) -> str:
        return f"{self.group}-{self.id}" + ("" if self.part is None else f"-{self.part}")

    @property
    def op(self) -> str:
        return str(self.input["op"])

    @property
    def dialects(self) -> set[str]:
        """The dialects that the input names."""
        return set(_dialects(self.input))


def case_file() -> Path:
    """Where the cases are, whether they are there or not."""
    folder = os.environ.get("CONTEXT_LEDGER_SHARED") or Path(__file__).parents[3] / "shared"
    return Path(folder) / "cases" / "cases.jsonl"


def read_cases(text: str) -> list[Case]:
    """The cases of a file in its order, parts in theirs."""
    found: list[Case] = []
    for line in text.splitlines():
        if line.strip():
            found += taken_apart(json.loads(line))
    return found


def taken_apart(row: Any) -> Iterator[Case]:
    """A case, or its independent parts."""
    given = expanded(row["input"])
    key = _MANY.get(given["op"])
    if key is None:
        yield Case(row["id"], row["group"], row["provider"], given, row["expected"])
        return
    assert len(given[key]) <= PARTS_MAX
    for number, part in enumerate(given[key]):
        yield Case(row["id"], row["group"], row["provider"], part, row["expected"], number)


def expanded(value: Any, listed: bool = False) -> Any:
    """The value with `$repeat` and `$concat` carried out. What is repeated where a list stands (`listed`), or is no text, becomes a list."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$repeat"}:
        unit, times = expanded(value["$repeat"][0]), value["$repeat"][1]
        if not isinstance(unit, list) and (listed or not isinstance(unit, str)):
            unit = [unit]
        assert times * max(1, len(unit)) <= EXPANDED_LENGTH_MAX
        return unit * times
    if value.keys() == {"$concat"}:
        return "".join(expanded(item) for item in value["$concat"])
    return {key: expanded(item, key == "chunks") for key, item in value.items()}


_DIALECTS = {"anthropic": "anthropic-messages"}


def dialect_of(name: str) -> str:
    """Our name of a dialect that a case names."""
    return _DIALECTS.get(name, name)


def _dialects(value: Any) -> Iterator[str]:
    """Every dialect under `target`, `project` or `dialect`, wherever it stands."""
    if isinstance(value, list):
        for item in value:
            yield from _dialects(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "dialect" and isinstance(item, str):
                yield dialect_of(item)
            elif key in ("target", "project", "project_auto_compact", "body") and isinstance(item, dict) and "provider" in item:
                yield dialect_of(item["provider"])
            else:
                yield from _dialects(item)
