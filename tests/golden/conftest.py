"""The option of `make golden`."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing with them")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether this run rewrites the files. The option is known only where this folder was named on the command line."""
    return bool(request.config.getoption("--update-golden", default=False))
