"""JSON Schemas that users give: well-formed, bounded, and with local references alone, so that nothing is ever fetched."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for

from app.config.limits import SCHEMA_BYTES_MAX
from app.entries import lossless
from app.entries.errors import Fault

CODE = "bad-schema"

_DATA = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose values are data: a `$ref` in there is no reference."""

_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose values hold schemas under names: such a name is no keyword."""

_POSITION_CHARS_MAX = 9
"""Of a position in a list, which no list of a schema comes near: `int` reads no text of thousands of digits."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECTS = frozenset(
    {"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema"}
)


def escaped(key: str) -> str:
    """A key as a token of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def check_schema(schema: Any, pointer: str) -> list[Fault]:
    """What is wrong with a schema that stands at `pointer`: no object, too large, not a schema, a reference that is not local,
    does not resolve or only leads back to itself, a pattern that is no regular expression. Never reads anything but `schema`."""
    if not isinstance(schema, Mapping):
        return [Fault(pointer, "bad-type", "A JSON Schema has to be an object.")]
    if len(lossless.dumps(schema).encode()) > SCHEMA_BYTES_MAX:
        return [Fault(pointer, "too-large", f"A JSON Schema may have {SCHEMA_BYTES_MAX} bytes.")]
    declared = schema.get("$schema")
    if declared is not None and (not isinstance(declared, str) or declared.rstrip("#") not in _DIALECTS):
        return [Fault(f"{pointer}/$schema", CODE, "Known are JSON Schema 2020-12, 2019-09 and draft 7.")]
    kind = validator_for(schema, default=Draft202012Validator)
    error = best_match(kind(kind.META_SCHEMA).iter_errors(schema))
    if error is not None:
        place = "".join(f"/{escaped(str(key))}" for key in error.absolute_path)
        return [Fault(pointer + place, CODE, f"This is no JSON Schema: it breaks the rule `{error.validator}`.")]
    return list(_walk(schema, schema, pointer, {}, root=True))


def _walk(node: Any, schema: Mapping[str, Any], pointer: str, ends: dict[str, str | None], root: bool = False) -> Iterator[Fault]:
    if isinstance(node, Mapping):
        if not root and isinstance(node.get("$id"), str):
            yield Fault(f"{pointer}/$id", CODE, "Only the root of a schema may have an `$id`.")
        for keyword in _REFERENCES:
            reference = node.get(keyword)
            if isinstance(reference, str):
                yield from _reference(reference, schema, f"{pointer}/{keyword}", ends)
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not _is_pattern(pattern):
            yield Fault(f"{pointer}/pattern", CODE, "The pattern is no regular expression.")
        for key, value in node.items():
            if key not in _DATA:
                yield from _walk(value, schema, f"{pointer}/{escaped(str(key))}", ends)
    elif isinstance(node, list):
        for position, value in enumerate(node):
            yield from _walk(value, schema, f"{pointer}/{position}", ends)


def pattern_properties(schema: Any, pointer: str) -> list[Fault]:
    """Every `patternProperties` of a schema that states are checked against: they could not be stopped where they take too long."""
    found: list[Fault] = []
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "patternProperties":
                found.append(Fault(f"{pointer}/{key}", CODE, "A state's schema names its properties; patterns of names are not taken."))
            elif key in _NAMED and isinstance(value, Mapping):
                for name, inner in value.items():
                    found += pattern_properties(inner, f"{pointer}/{key}/{escaped(str(name))}")
            elif key not in _DATA:
                found += pattern_properties(value, f"{pointer}/{escaped(str(key))}")
    elif isinstance(schema, list):
        for position, value in enumerate(schema):
            found += pattern_properties(value, f"{pointer}/{position}")
    return found


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):  # also a count beyond all counts, brackets too deep to read
        return False
    return True


def _reference(reference: str, schema: Mapping[str, Any], pointer: str, ends: dict[str, str | None]) -> Iterator[Fault]:
    if not reference.startswith("#"):
        yield Fault(pointer, CODE, "References have to be local, beginning with `#`; nothing is fetched.")
        return
    why = _end(reference, schema, ends)
    if why is not None:
        yield Fault(pointer, CODE, why)


def _end(reference: str, schema: Mapping[str, Any], ends: dict[str, str | None]) -> str | None:
    """Why a local reference leads to no schema; None where it does. `ends` keeps what was found, so that each one is followed once."""
    why: str | None = "The reference only leads back to itself."
    seen: set[str] = set()
    while reference not in seen:
        if reference in ends:
            why = ends[reference]
            break
        seen.add(reference)
        target = resolved(reference, schema)
        if target is None:
            why = "The reference does not lead to a schema in this document."
            break
        following = target.get("$ref") if isinstance(target, Mapping) else None
        if not isinstance(following, str) or not following.startswith("#"):
            why = None
            break
        reference = following
    ends.update(dict.fromkeys(seen, why))
    return why


def resolved(reference: str, schema: Mapping[str, Any]) -> Any:
    """The schema that a local reference names, or None."""
    if reference == "#":
        return schema
    if not reference.startswith("#/"):
        return _anchored(schema, reference[1:])
    node: Any = schema
    for token in reference[2:].split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and len(key) <= _POSITION_CHARS_MAX and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node if isinstance(node, (Mapping, bool)) else None


def _anchored(node: Any, name: str) -> Any:
    if isinstance(node, Mapping):
        if name in (node.get("$anchor"), node.get("$dynamicAnchor")):
            return node
        node = list(node.values())
    if isinstance(node, list):
        return next((found for value in node if (found := _anchored(value, name)) is not None), None)
    return None
