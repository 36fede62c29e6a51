"""Which requirements the tests show. `python -m tests.requirements` prints those that are asked for and that no test names."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
IDS_FILE = TESTS / "requirement-ids.txt"
ASKED, LATER, NOT_ASKED = "asked for", "later", "not asked for"


def read_ids(path: Path = IDS_FILE) -> dict[str, tuple[str, ...]]:
    """Heading to ids, in the file's order. Raises `ValueError` when an id stands twice."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
        elif line and not line.startswith("#"):
            found.setdefault(heading, []).extend(line.split())
    every = [one for ids in found.values() for one in ids]
    if twice := sorted({one for one in every if every.count(one) > 1}):
        raise ValueError(f"twice: {', '.join(twice)}")
    return {heading: tuple(ids) for heading, ids in found.items()}


def named_ids(source: str) -> Iterator[tuple[int, str | None]]:
    """Line and id of each argument of a `pytest.mark.req(…)` in a file; None for an argument that is not a plain text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func).endswith("mark.req"):
            for argument in node.args:
                value = argument.value if isinstance(argument, ast.Constant) else None
                yield argument.lineno, value if isinstance(value, str) else None


def shown_by(folder: Path = TESTS) -> dict[str, list[str]]:
    """Id to the places that name it, as `file:line`."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        for line, one in named_ids(path.read_text("utf-8")):
            found.setdefault(str(one), []).append(f"{path.relative_to(folder)}:{line}")
    return found


def main() -> int:
    """Prints the report; 1 while something that is asked for is shown by no test."""
    ids, shown = read_ids(), shown_by()
    missing = [one for one in ids[ASKED] if one not in shown]
    early = [one for one in ids[LATER] if one in shown]
    print(f"asked for: {len(ids[ASKED])}, shown by a test: {len(ids[ASKED]) - len(missing)}")
    print(f"shown before they are asked for: {', '.join(early) or 'none'}")
    print(f"not asked for at all: {', '.join(ids[NOT_ASKED])}")
    print(f"missing: {', '.join(missing) or 'none'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
