"""The table of checks: a case's id to what it expects, what is chosen where it leaves a choice, and the requirements it shows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cases.done import Done

Check = Callable[[Done], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Row:
    """A check, the options of its operation, and the marks of its test."""

    check: Check
    options: dict[str, Any]
    marks: tuple[pytest.MarkDecorator, ...]


CHECKS: dict[str, Row] = {}


def expects(case_id: str, *marks: pytest.MarkDecorator, **options: Any) -> Callable[[Check], Check]:
    """Registers what a case expects. `options` go to the case's operation."""

    def keep(check: Check) -> Check:
        assert case_id not in CHECKS
        CHECKS[case_id] = Row(check, options, marks)
        return check

    return keep
