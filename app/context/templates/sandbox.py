"""What runs: Jinja's sandbox with every way out closed, filters and tests of our own, and a meter on their work."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import StrictUndefined, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment

from app.config.agent_limits import TEMPLATE_OUTPUT_CHARS_MAX, TEMPLATE_WORK_MAX
from app.entries import lossless

LOOP_KEYS = ("index", "index0", "first", "last", "length")
METER = "_meter"
"""The name of the meter among the values; no template can say it."""

DIGITS_MAX = 10


class TooMuchError(Exception):
    """A rendering asks for more work or output than it may."""


class Meter:
    """What is left of one rendering's work and output."""

    def __init__(self) -> None:
        self._work = TEMPLATE_WORK_MAX
        self._chars = TEMPLATE_OUTPUT_CHARS_MAX

    def work(self, amount: int) -> None:
        self._work -= amount
        if self._work < 0:
            raise TooMuchError

    def say(self, chars: int) -> None:
        self._chars -= chars
        if self._chars < 0:
            raise TooMuchError


class Sandbox(SandboxedEnvironment):
    """Keys of objects and places of lists, a loop's own few words, and nothing else: no attribute, no call, no global.

    A key that is not there is none, and so is everything inside of none.
    """

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, cache_size=0, finalize=spelled)
        self.globals.clear()
        self.filters.clear()
        self.tests.clear()
        self.filters.update(FILTERS)
        self.tests.update(TESTS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is LoopContext:
            return getattr(obj, attribute) if attribute in LOOP_KEYS else None
        return obj.get(attribute) if isinstance(obj, Mapping) else None

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        if type(argument) is int and isinstance(obj, list) and 0 <= argument < len(obj):
            return obj[argument]
        return None

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return False

    def is_safe_callable(self, obj: Any) -> bool:
        return False


def spelled(value: Any) -> str:
    """How a value is put out: texts as they are, none as nothing, anything else as JSON."""
    if value is None:
        return ""
    return value if type(value) is str else lossless.dumps(value)


def weight(value: Any) -> int:
    """How much there is of a value: characters and elements."""
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, Mapping):
        return 1 + sum(len(key) + weight(inner) for key, inner in value.items())
    return 1 + sum(map(weight, value)) if isinstance(value, (list, tuple)) else 1


def _metered(context: Context, value: Any) -> None:
    context[METER].work(weight(value))


def _text(context: Context, value: Any) -> str:
    _metered(context, value)
    return spelled(value)


@pass_context
def _join(context: Context, value: Any, separator: Any = "") -> str:
    items = value if isinstance(value, (list, tuple)) else [value]
    context[METER].work(len(items) * weight(separator))
    return spelled(separator).join([_text(context, item) for item in items])


@pass_context
def _upper(context: Context, value: Any) -> str:
    return _text(context, value).upper()


@pass_context
def _lower(context: Context, value: Any) -> str:
    return _text(context, value).lower()


@pass_context
def _trim(context: Context, value: Any) -> str:
    return _text(context, value).strip()


def _default(value: Any, other: Any = "", boolean: bool = False) -> Any:
    return other if value is None or (boolean and not value) else value


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, tuple, Mapping)) else 0


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (str, list, tuple)) and value else None


def _last(value: Any) -> Any:
    return value[-1] if isinstance(value, (str, list, tuple)) and value else None


def _round(value: Any, digits: Any = 0) -> Any:
    if not _number(value) or not math.isfinite(value):
        return value
    places = min(max(digits, 0), DIGITS_MAX) if type(digits) is int else 0
    return round(float(value), places) if places else round(value)


@pass_context
def _tojson(context: Context, value: Any) -> str:
    _metered(context, value)
    return lossless.dumps(value)


@pass_context
def _items(context: Context, value: Any, cost: int) -> list[Any]:
    """What a loop goes over: a list's elements; nothing of any other value. Its rounds are paid for before the first."""
    items = list(value) if isinstance(value, (list, tuple)) else []
    context[METER].work(len(items) * cost)
    return items


@pass_context
def _compare(context: Context, left: Any, word: str, right: Any) -> bool:
    """Numbers with numbers and texts with texts; nothing is less than what it cannot be compared with."""
    context[METER].work(weight(left) + weight(right))
    if word in ("in", "notin"):
        return _contains(right, left) is (word == "in")
    if word in ("eq", "ne"):
        return _equal(left, right) is (word == "eq")
    if not (_number(left) and _number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        return False
    return bool({"lt": left < right, "lteq": left <= right, "gt": left > right, "gteq": left >= right}[word])


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return isinstance(part, str) and part in whole
    if isinstance(whole, Mapping):
        return isinstance(part, str) and part in whole
    return isinstance(whole, (list, tuple)) and any(_equal(part, item) for item in whole)


def _equal(left: Any, right: Any) -> bool:
    """JSON's equality: true is not 1."""
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


ITEMS, COMPARE = "_items", "_compare"

SAID_FILTERS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "default": (2, _default),
    "first": (0, _first),
    "join": (1, _join),
    "last": (0, _last),
    "length": (0, _length),
    "lower": (0, _lower),
    "round": (1, _round),
    "tojson": (0, _tojson),
    "trim": (0, _trim),
    "upper": (0, _upper),
}
"""The filters that a template may name, and how many arguments each takes at most."""

FILTERS: Mapping[str, Callable[..., Any]] = {**{name: made for name, (_, made) in SAID_FILTERS.items()}, ITEMS: _items, COMPARE: _compare}

TESTS: Mapping[str, Callable[[Any], bool]] = {
    "none": lambda value: value is None,
    "defined": lambda value: value is not None,
    "undefined": lambda value: value is None,
    "string": lambda value: isinstance(value, str),
    "number": _number,
    "boolean": lambda value: isinstance(value, bool),
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "mapping": lambda value: isinstance(value, Mapping),
    "sequence": lambda value: isinstance(value, (list, tuple)),
}
SANDBOX = Sandbox()
