"""The dated catalogue: what is known of models by name. Data (`catalogue.json`) and one look-up; nothing unknown is ever filled in.

Each figure of a row names its source, with an address and the day on which it was read (X-44). A figure that no source gives is null:
a model whose window or output limit is null is listed and, as far as the catalogue goes, of unknown capacity.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """Where figures come from: `what`, its address, whether it is the model's own vendor, and the day on which it was read."""

    what: str
    url: str
    vendor: bool
    read: str


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model. Tokens; None is unknown.

    max_input_tokens    the greatest input where one is stated beside the window
    shared_window       whether input and output share the window
    encoding, family    the public tokenizer, or the family that an estimate is made for (`families`)
    takes               what user input may hold: `text`, `image`, `pdf`, `video`
    reasoning           False: none; else what is known: `mode`, `efforts`, `default`, `can_disable`, `forced_tool_choice`, `prefix_bound`
    sources             figure → names of `SOURCES`, separated by blanks; a figure without a source is unknown
    """

    name: str
    vendor: str
    context_window: int | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    shared_window: bool | None
    encoding: str | None
    family: str
    takes: tuple[str, ...] | None
    tools: bool | None
    reasoning: Mapping[str, Any] | bool | None
    shutdown_date: str | None
    notes: str | None
    sources: Mapping[str, str]

    @property
    def efforts(self) -> tuple[str, ...] | None:
        """The words of effort that it takes, as far as they are known."""
        found = self.reasoning.get("efforts") if isinstance(self.reasoning, Mapping) else None
        return None if found is None else tuple(found)

    @property
    def always_reasons(self) -> bool:
        """Whether it is known that its reasoning cannot be switched off."""
        return isinstance(self.reasoning, Mapping) and self.reasoning.get("can_disable") is False


_DATA: Mapping[str, Any] = json.loads(files("app.models").joinpath("catalogue.json").read_text("utf-8"))

CATALOGUE_VERSION: str = _DATA["version"]
CATALOGUE_DATE: str = _DATA["date"]
"""The day on which the figures were read from their sources."""

SOURCES: Mapping[str, Source] = MappingProxyType({name: Source(**facts) for name, facts in _DATA["sources"].items()})


def _row(facts: Mapping[str, Any]) -> CatalogueModel:
    takes, reasoning = facts["takes"], facts["reasoning"]
    frozen: Mapping[str, Any] = {
        "takes": None if takes is None else tuple(takes),
        "reasoning": MappingProxyType(reasoning) if isinstance(reasoning, dict) else reasoning,
        "sources": MappingProxyType(facts["sources"]),
    }
    return CatalogueModel(**{**facts, **frozen})


CATALOGUE: Mapping[str, CatalogueModel] = MappingProxyType({row.name: row for row in map(_row, _DATA["models"])})

_SPELLINGS = tuple((re.compile(row["pattern"]), str(row["replacement"])) for row in _DATA["spellings"])

NAMES_REMEMBERED_MAX = 1_024


@lru_cache(maxsize=NAMES_REMEMBERED_MAX)
def lookup(name: str) -> CatalogueModel | None:
    """The row of a model, under its own name or another spelling of it: behind a vendor's prefix, of a region, a dated snapshot.

    The spellings are rows of the data, tried in their order, each on what the ones before it left. None for one that is not known.
    """
    found = CATALOGUE.get(name)
    for pattern, replacement in _SPELLINGS:
        if found is not None:
            break
        name = pattern.sub(replacement, name, count=1)
        found = CATALOGUE.get(name)
    return found


def plain_name(name: str) -> str:
    """A name without what `lookup` takes off: what rules by name look at for models that have no row."""
    row = lookup(name)
    if row is not None:
        name = row.name
    for pattern, replacement in _SPELLINGS:
        name = pattern.sub(replacement, name, count=1)
    return name
