"""Any request body against the rules of a dialect."""

from collections.abc import Mapping
from typing import Any

from app.entries.errors import NotFound
from app.formats.registry import FORMATS
from app.services.input_views import violation_json


def validate(dialect: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Every rule of a dialect that a request body breaks, by what its model takes where it names one.

    Raises `NotFound` for a dialect that is not built.
    """
    form = FORMATS.get(dialect)
    if form is None:
        raise NotFound(f"No wire format has this name; known are {', '.join(FORMATS)}.")
    model = body.get("model")
    rules = form.rules_for(model if isinstance(model, str) else "")
    found = [violation_json(violation) for violation in form.validate(body, rules)]
    return {"object": "validation", "dialect": dialect, "valid": not found, "violations": found}
