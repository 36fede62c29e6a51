"""The dated catalogue: what is known of models by name. Data and one look-up; an unknown model has no row, and none is guessed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CATALOGUE_DATE = "2026-11-29"
"""The day on which the figures below were read from their sources."""


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model. Tokens; `encoding` is None where no public tokenizer is known. `sources` says where the figures come from."""

    name: str
    vendor: str
    context_window: int
    max_output_tokens: int
    encoding: str | None
    sources: tuple[str, ...]
    shutdown_date: str | None = None


_LITELLM = "LiteLLM's price table, read 2026-11-29"
_PRICES = "genai-prices, read 2026-11-29"
_GATEWAY = "a gateway's model page, read 2026-11-29; not confirmed by the vendor"
_SDK = "docstrings of the openai SDK 3.57.0"
_TIKTOKEN = "tiktoken 0.14.0"


def _rows() -> list[CatalogueModel]:
    rows: list[CatalogueModel] = []

    def add(names: str, window: int, output: int, encoding: str | None, *sources: str, vendor: str = "openai", until: str | None = None) -> None:
        cited = sources + ((_TIKTOKEN,) if encoding else ())
        rows.extend(CatalogueModel(name, vendor, window, output, encoding, cited, until) for name in names.split())

    add("gpt-6.2-astra gpt-6.2-sol", 1_050_000, 128_000, None, _GATEWAY)
    add("gpt-6-astra gpt-6.1-sol gpt-6.1-terra gpt-6-sol gpt-6-luna", 1_050_000, 128_000, None, _LITELLM, _PRICES)
    add("gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna", 1_050_000, 128_000, "o200k_base", _LITELLM, _PRICES)
    add("gpt-5.5", 1_000_000, 128_000, "o200k_base", _LITELLM, _PRICES)  # the sources disagree; the smaller window is taken
    add("gpt-5.4", 1_050_000, 128_000, "o200k_base", _LITELLM, _PRICES)
    add("gpt-5.4-mini", 400_000, 128_000, "o200k_base", _LITELLM, _PRICES)
    add("gpt-5 gpt-5-mini", 400_000, 128_000, "o200k_base", _LITELLM, _SDK, until="2026-12-11")
    add("gpt-4.1 gpt-4.1-mini", 1_047_576, 32_768, "o200k_base", _LITELLM, _SDK, until="2027-01-14")
    add("gpt-4o gpt-4o-mini", 128_000, 16_384, "o200k_base", _LITELLM, _SDK, until="2027-01-14")
    add("o3", 200_000, 100_000, "o200k_base", _LITELLM, _SDK, until="2026-12-11")
    add("o4-mini", 200_000, 100_000, "o200k_base", _LITELLM, _SDK, until="2026-10-23")
    add("openai/gpt-oss-120b openai/gpt-oss-20b", 131_072, 65_536, "o200k_harmony", _LITELLM, _PRICES, vendor="groq")
    return rows


CATALOGUE: Mapping[str, CatalogueModel] = MappingProxyType({row.name: row for row in _rows()})

_DATED = re.compile(r"(.+?)-(\d{4}-\d{2}-\d{2}|\d{8})")


def lookup(name: str) -> CatalogueModel | None:
    """The row of a model, or of the model that a dated name (`…-2025-04-14`) is a snapshot of; None for one that is not known."""
    found = CATALOGUE.get(name)
    if found is None and (dated := _DATED.fullmatch(name)):
        found = CATALOGUE.get(dated[1])
    return found
