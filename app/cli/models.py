"""`context-ledger models`: the catalogue and each upstream's own models; with `--accuracy`, how well calls were estimated."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.cli.configured import read_settings
from app.cli.console import DONE, WRONG, Console
from app.cli.database import database_url, open_database
from app.config.settings import Settings
from app.services.model_list import ModelList
from app.services.scope import LOCAL_TENANT
from app.services.targets import Targets
from app.storage.rows import AccuracyRow

DAYS_DEFAULT, DAYS_MAX = 30, 3_650


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds what to show."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--ask", action="store_true", help="first ask each upstream with `metadata = true` for the limits of its models")
    what.add_argument("--accuracy", action="store_true", help="compare the estimates of past calls with the input that providers reported")
    parser.add_argument("--days", type=_days, default=DAYS_DEFAULT, help=f"with --accuracy: of the calls of so many days (default: {DAYS_DEFAULT})")
    parser.add_argument(
        "--tenant", type=UUID, default=LOCAL_TENANT, help="with --accuracy: whose calls (default: those of the tenant of `auth = local`)"
    )


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= DAYS_MAX:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {DAYS_MAX}")
    return days


def run(arguments: argparse.Namespace, console: Console) -> int:
    """With `--accuracy`, exit code 1 where more than one call in twenty was larger than its estimate and band together."""
    settings = read_settings(arguments)
    if arguments.accuracy:
        return _accuracy(settings, arguments, console)
    targets = Targets(settings.upstreams)
    if arguments.ask:
        asyncio.run(_ask(targets, settings))
    models = ModelList(targets)
    rows, _ = models.models()
    console.result({"data": rows, **models.catalogue()})
    console.show(f"catalogue of {models.catalogue()['catalogue_date']}; tokens; ? is unknown")
    heads = ("upstream", "model", "window", "input", "output", "counted by", "band", "until", "from")
    for line in _table(heads, [_shown(row) for row in rows]):
        console.show(line)
    return DONE


async def _ask(targets: Targets, settings: Settings) -> None:
    from app.outbound.outbound import Outbound

    outbound = Outbound(connections_max=settings.upstream_connections)
    try:
        for upstream, limits in (await outbound.listed_limits(targets.upstreams.values())).items():
            targets.learn(upstream, limits)
    finally:
        await outbound.aclose()


def _shown(row: dict[str, Any]) -> tuple[str, ...]:
    lengths = ("context_window", "max_input_tokens", "max_output_tokens")
    return (
        row["upstream"] or "",
        row["name"],
        *("?" if row[length] is None else f"{row[length]:,}" for length in lengths),
        row["estimator"],
        f"{row['error_band']:.0%}",
        row["shutdown_date"] or "",
        row["source"],
    )


def _accuracy(settings: Settings, arguments: argparse.Namespace, console: Console) -> int:
    since = datetime.now(UTC) - timedelta(days=arguments.days)
    with database_url(settings, console) as url:
        rows = asyncio.run(_read(url, arguments.tenant, since))
    found = [{**asdict(row), "ok": _covered(row)} for row in rows]
    console.result({"ok": all(row["ok"] for row in found), "days": arguments.days, "data": found})
    console.show(f"calls of {arguments.days} days: input as providers reported it, over its estimate")
    heads = ("upstream", "model", "counted by", "method", "calls", "mean", "p95", "band", "within")
    for line in _table(heads, [_compared(row) for row in rows]):
        console.show(line)
    return DONE if all(map(_covered, rows)) else WRONG


async def _read(url: str, tenant: UUID, since: datetime) -> list[AccuracyRow]:
    async with open_database(url) as store:
        return await store.calls.accuracy(tenant, since)


def _covered(row: AccuracyRow) -> bool:
    """Whether the estimate with its band covers nineteen calls of twenty."""
    return row.within * 20 >= row.calls * 19


def _compared(row: AccuracyRow) -> tuple[str, ...]:
    return (
        row.upstream,
        row.model,
        row.estimator or "?",
        row.method,
        str(row.calls),
        f"{row.mean_ratio:.3f}",
        f"{row.p95_ratio:.3f}",
        f"{1 + row.error_band:.2f}",
        f"{row.within / row.calls:.0%}" + ("" if _covered(row) else "  too low"),
    )


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines with the columns below one another."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)]
