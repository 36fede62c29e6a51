"""A value that must not be seen: keys, passwords, URLs that carry them."""

import hmac
from typing import NoReturn

STARS = "********"


class Secret:
    """Holds a text that prints, formats and logs as stars; `reveal()` is the one way to the value (X-86).

    It compares in constant time and refuses to be pickled or copied into JSON, so that it cannot leave the process by accident.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself. Call it where the value is used, and keep no other reference to the result."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({STARS})"

    def __str__(self) -> str:
        return STARS

    def __format__(self, spec: str) -> str:
        return STARS

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode("utf-8", "surrogatepass"), other._value.encode("utf-8", "surrogatepass"))

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be pickled")
