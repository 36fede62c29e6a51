"""A service of the kit's own on the test's database, and the triage agent that most scripts are about."""

from collections.abc import Iterator
from typing import Any

import pytest

from app import testing

LOOKUP = {
    "name": "lookup",
    "description": "Look up the recorded allergies of a patient.",
    "parameters": {"type": "object", "properties": {"patient": {"type": "string"}}, "required": ["patient"]},
}

TRIAGE: dict[str, Any] = {
    "model": {"upstream": "openai", "name": "some-model", "params": {"max_output_tokens": 1000}},
    "context": [{"renderer": "system", "text": "You are a triage nurse."}, {"renderer": "history"}],
    "tools": [LOOKUP],
}

CALLS_LOOKUP = testing.model(reasoning="Check the record first.", tool_calls=[testing.tool_call("lookup", {"patient": "ada"})])

WORKED_EXAMPLE = [
    testing.user("Can I take amoxicillin?"),
    CALLS_LOOKUP,
    testing.result("lookup", '{"allergies": ["penicillin"]}'),
    testing.model("Avoid it."),
]
"""The script of the renderers document (S4-13)."""


@pytest.fixture
def service(database_url: str) -> Iterator[testing.Service]:
    with testing.service(database_url=database_url) as found:
        yield found
