"""What is known of models, as `GET /models` and the command line show it: the dated catalogue, and each upstream's own."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from app.models.catalogue import CATALOGUE, CATALOGUE_DATE, CATALOGUE_VERSION, SOURCES, CatalogueModel
from app.models.resolve import Limits
from app.models.tokens import Estimate, estimate_by, estimate_for
from app.services.targets import Targets

_UNKNOWN = ("vendor", "shared_window", "encoding", "takes", "tools", "reasoning", "shutdown_date", "notes")
"""What only the catalogue says."""


class ModelList:
    """Reads configuration and data; asks nobody."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets

    def upstreams(self) -> list[dict[str, Any]]:
        """Names, dialects and whether a key is there, by name; nothing else of the operator's configuration is ever shown."""
        upstreams = sorted(self._targets.upstreams.values(), key=lambda one: one.name)
        return [{"name": one.name, "dialect": one.dialect, "has_key": one.has_key} for one in upstreams]

    def models(self, after: str | None = None, limit: int | None = None) -> tuple[list[dict[str, Any]], str | None]:
        """The Model resources behind `after`, the catalogue's before those of upstreams, each by name; and where the next page begins."""
        upstream, _, name = (after or "").partition("/")
        rows = [row for row in self._rows() if after is None or (row["upstream"] or "", row["name"]) > (upstream, name)]
        if limit is None or len(rows) <= limit:
            return rows, None
        return rows[:limit], f"{rows[limit - 1]['upstream'] or ''}/{rows[limit - 1]['name']}"

    def catalogue(self) -> dict[str, Any]:
        """Of which day the catalogue is, and where its figures come from."""
        sources = {name: asdict(source) for name, source in SOURCES.items()}
        return {"catalogue_version": CATALOGUE_VERSION, "catalogue_date": CATALOGUE_DATE, "sources": sources}

    def _rows(self) -> Iterator[dict[str, Any]]:
        for name in sorted(CATALOGUE):
            yield _catalogued(CATALOGUE[name])
        for upstream in sorted(self._targets.upstreams):
            place = self._targets.upstreams[upstream]
            for name in sorted({*place.models, *self._targets.provider_limits.get(upstream, {})}):
                known, tokenizer = self._targets.known(place, name)
                limits = known.operator or known.provider
                if limits is not None:
                    yield _own(upstream, name, limits, estimate_by(tokenizer) if tokenizer else estimate_for(name))


def _catalogued(row: CatalogueModel) -> dict[str, Any]:
    return {
        "object": "model",
        "upstream": None,
        "name": row.name,
        "vendor": row.vendor,
        "context_window": row.context_window,
        "max_input_tokens": row.max_input_tokens,
        "max_output_tokens": row.max_output_tokens,
        "shared_window": row.shared_window,
        "encoding": row.encoding,
        **_counted(estimate_for(row.name)),
        "takes": None if row.takes is None else list(row.takes),
        "tools": row.tools,
        "reasoning": row.reasoning if row.reasoning is None or isinstance(row.reasoning, bool) else dict(row.reasoning),
        "shutdown_date": row.shutdown_date,
        "notes": row.notes,
        "source": "catalogue",
        "figure_sources": {figure: sources.split() for figure, sources in row.sources.items()},
    }


def _own(upstream: str, name: str, limits: Limits, estimate: Estimate) -> dict[str, Any]:
    return {
        "object": "model",
        "upstream": upstream,
        "name": name,
        "context_window": limits.context_window,
        "max_input_tokens": limits.max_input_tokens,
        "max_output_tokens": limits.max_output_tokens,
        **_counted(estimate),
        **dict.fromkeys(_UNKNOWN),
        "source": limits.source,
        "figure_sources": {},
    }


def _counted(estimate: Estimate) -> dict[str, Any]:
    return {"estimator": estimate.estimator, "error_band": estimate.error_band}
