"""Checks of single fields of a document, each fault with its RFC 6901 pointer; a detail never repeats what was given."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.context.schemas import escaped
from app.entries.errors import Fault

TEXT_CHARS_MAX = 1_000_000
"""One text of a document."""


@dataclass(slots=True)
class Check:
    """Gathers the faults of one document. Every method returns the value when it fits, else None and a fault."""

    faults: list[Fault] = field(default_factory=list)

    def fault(self, pointer: str, code: str, detail: str) -> None:
        self.faults.append(Fault(pointer, code, detail))

    def unbuilt(self, pointer: str, what: str) -> None:
        """A documented key or value that this build does not have: refused, never ignored."""
        self.fault(pointer, "not-yet-supported", f"{what} is documented and not built yet.")

    def object(self, value: Any, pointer: str, known: Collection[str], required: Collection[str] = ()) -> Mapping[str, Any] | None:
        """An object of known keys alone, the required ones present."""
        if not isinstance(value, Mapping):
            self.fault(pointer, "bad-type", "This has to be an object.")
            return None
        for key in value:
            if key not in known:
                self.fault(f"{pointer}/{escaped(str(key))}", "unknown-key", f"Known keys are {', '.join(known) or 'none'}.")
        for key in required:
            if key not in value:
                self.fault(f"{pointer}/{key}", "missing", "This key is required.")
        return value

    def list(self, value: Any, pointer: str, items_max: int) -> list[Any] | None:
        if not isinstance(value, list):
            self.fault(pointer, "bad-type", "This has to be a list.")
            return None
        if len(value) > items_max:
            self.fault(pointer, "too-many", f"At most {items_max} are taken.")
            return None
        return value

    def text(self, value: Any, pointer: str, chars_max: int, blank: bool = False) -> str | None:
        if not isinstance(value, str):
            self.fault(pointer, "bad-type", "This has to be a string.")
            return None
        if len(value) > chars_max:
            self.fault(pointer, "too-long", f"At most {chars_max} characters are taken.")
            return None
        if not blank and not value.strip():
            self.fault(pointer, "blank", "This may not be blank.")
            return None
        return value

    def integer(self, value: Any, pointer: str, least: int, most: int) -> int | None:
        if type(value) is not int:
            self.fault(pointer, "bad-type", "This has to be an integer.")
            return None
        if not least <= value <= most:
            self.fault(pointer, "out-of-range", f"This has to be between {least} and {most}.")
            return None
        return value

    def number(self, value: Any, pointer: str, least: float, most: float) -> float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fault(pointer, "bad-type", "This has to be a number.")
            return None
        if not least <= value <= most:
            self.fault(pointer, "out-of-range", f"This has to be between {least} and {most}.")
            return None
        return float(value)

    def boolean(self, value: Any, pointer: str) -> bool | None:
        if not isinstance(value, bool):
            self.fault(pointer, "bad-type", "This has to be true or false.")
            return None
        return value

    def word(self, value: Any, pointer: str, built: Collection[str], documented: Collection[str] = ()) -> str | None:
        """One of the built words; a documented one is `not-yet-supported`."""
        if isinstance(value, str) and value in built:
            return value
        if isinstance(value, str) and value in documented:
            self.unbuilt(pointer, "This value")
        else:
            self.fault(pointer, "bad-value", f"This has to be one of {', '.join((*built, *documented))}.")
        return None
