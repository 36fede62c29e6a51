"""The README's tables of settings and limits, read off `app/config`. `python -m tests.settings_table` writes them into the README."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from app.config import agent_limits, limits
from app.config.secret import Secret
from app.config.settings import SETTINGS

README = Path(__file__).parent.parent / "README.md"


def settings_table() -> str:
    """The table of settings, a row each, in the order of `Settings`."""
    rows = ["| setting | variable | default | unit | meaning |", "|---|---|---|---|---|"]
    rows += [f"| `{row.name}` | `{row.env}` | {_default(row.default)} | {row.unit} | {row.meaning} |" for row in SETTINGS]
    return "\n".join(rows)


def limits_table() -> str:
    """The table of limits: each constant of `app/config/limits.py` and `agent_limits.py` with the text that stands below it."""
    rows = ["| limit | value | of what |", "|---|---|---|"]
    rows += [f"| `{name}` | {_amount(name, value)} | {meaning} |" for name, value, meaning in documented_limits()]
    return "\n".join(rows)


def documented_limits() -> list[tuple[str, int, str]]:
    """Name, value and text of each limit. Raises `ValueError` for one without a text."""
    return [row for module in (limits, agent_limits) for row in _documented(module)]


def _documented(module: ModuleType) -> Iterator[tuple[str, int, str]]:
    body = ast.parse(Path(str(module.__file__)).read_text("utf-8")).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        text = following.value.value if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) else None
        if not isinstance(text, str):
            raise ValueError(f"{node.target.id}: no text below it says what it bounds")
        yield node.target.id, getattr(module, node.target.id), text


def section(text: str, name: str) -> tuple[int, int]:
    """Where a generated part stands in the README, between its two marks."""
    start, end = f"<!-- {name}: made by `make settings` -->\n", f"\n<!-- end of {name} -->"
    return text.index(start) + len(start), text.index(end)


def _default(value: object) -> str:
    if value is None or value == ():
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Secret):
        raise TypeError("a secret has no default")
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _amount(name: str, value: int) -> str:
    if "_BYTES" in name:
        for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
            if value % size == 0:
                return f"{value // size} {unit}"
    return f"{value:,}"


TABLES = {"settings": settings_table, "limits": limits_table}


def main() -> int:
    """Writes both tables into the README."""
    text = README.read_text("utf-8")
    for name, table in TABLES.items():
        start, end = section(text, name)
        text = text[:start] + table() + text[end:]
    README.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
