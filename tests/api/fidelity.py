"""JSON as text: documents to send whose every spelling matters, and an exact reading to compare what comes back."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.strategies import HOSTILE

TEXTS = [
    *HOSTILE,
    "<|endoftext|><|fim_prefix|>",
    "😀 whole",
    "\udead\ud83d",
    "\x7f\x1f\x85",
    "a" * 300_000,
    "\u2028" * 40_000,
    "\x00\ud800é" * 30_000,
]
NUMBERS = [
    *("0", "-0", "0.0", "-0.0", "1", "1.0", "1.00", "1e2", "1E2", "1e+2", "100", "100.0", "0.1", "1e-7", "0.0000001"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809"),
    *("1e400", "-1e400", "5e-324", "0.30000000000000004", "3.14159265358979323846264338327950288", "1e16", "10000000000000000.0"),
    *("123456789012345678901234567890", "1" + "0" * 400),
]


def exact(text: str | bytes) -> Any:
    """A document as (key, value) pairs in their order, numbers by their spelling, strings by their code points."""
    return json.loads(text, parse_int=_number, parse_float=_number, object_pairs_hook=lambda pairs: ("object", *pairs))


def _number(text: str) -> tuple[str, str]:
    return ("number", text)


def member(found: Any, *path: str | int) -> Any:
    """What stands at a path of an exact document."""
    for step in path:
        found = dict(found[1:])[step] if isinstance(step, str) else found[step]
    return found


def spelled(value: str) -> str:
    """A string as JSON, escaped as far as ASCII goes."""
    return json.dumps(value)


def obj(**members: str) -> str:
    """An object of members that are JSON texts already."""
    return "{" + ",".join(f"{spelled(key)}:{value}" for key, value in members.items()) + "}"


def array(items: list[str]) -> str:
    return "[" + ",".join(items) + "]"


any_text = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()), max_size=30))
_SPELLING = r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?"
any_number = st.one_of(st.sampled_from(NUMBERS), st.from_regex(_SPELLING, fullmatch=True, alphabet="0123456789.eE+-"))
any_document = st.recursive(
    st.one_of(any_number, any_text.map(spelled), st.sampled_from(["true", "false", "null"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(array),
        st.dictionaries(any_text, inner, max_size=4).map(lambda found: obj(**found)),
    ),
    max_leaves=8,
)
