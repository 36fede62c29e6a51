"""The key `skills`: instruction documents that are selected or loaded on demand."""

from typing import Any

from app.context.fields import Check


def check_skills(check: Check, value: Any) -> None:
    if value != []:
        check.unbuilt("/skills", "A skill")
