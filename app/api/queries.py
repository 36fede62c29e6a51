"""Query parameters against their schemas: unknown, repeated and ill-formed ones are refused, never ignored."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import QueryParams

from app.api.schemas.basics import Schema
from app.entries.errors import Fault, Invalid

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
METADATA = "metadata."
"""A parameter schema under this name allows `metadata.<key>`, one a key."""


class _NotBuilt(ValueError):
    """A value that the contract names and this version does not have."""


def read_query(params: QueryParams, schemas: Mapping[str, Schema], needed: Sequence[str] = ()) -> dict[str, Any]:
    """The parameters by name: integers, booleans and lists of names read; metadata filters as a mapping under `metadata`.

    Those of `needed` have to be there.

    Raises `Invalid` naming each faulty parameter, never its value. A value under a schema's `x-later` is `not-yet-supported`.
    """
    if not params and not needed:
        return {}
    found: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, value in params.multi_items():
        key = METADATA if name.startswith(METADATA) and len(name) > len(METADATA) else name
        schema = schemas.get(key)
        if schema is None:
            faults.append(Fault("", "unknown-parameter", f"There is no query parameter {_shown(name)} here."))
        elif key == METADATA:
            filters = found.setdefault("metadata", {})
            if _NOT_TEXT.search(name + value):
                faults.append(Fault("", "wrong-form", "A metadata filter is plain text."))
            elif name[len(METADATA) :] in filters:
                faults.append(Fault("", "duplicate", "A metadata key may be given once."))
            else:
                filters[name[len(METADATA) :]] = value
        elif name in found:
            faults.append(Fault("", "duplicate", f"`{name}` may be given once."))
        else:
            try:
                found[name] = _value(value, schema)
            except _NotBuilt:
                faults.append(Fault("", "not-yet-supported", f"The contract names this value of `{name}`, but this version does not have it yet."))
            except ValueError as error:
                faults.append(Fault("", "wrong-form", f"`{name}` {error}"))
    named = {name for name, _ in params.multi_items()}
    faults += [Fault(f"/{name}", "missing", f"`{name}` has to be given.") for name in needed if name not in named]
    if faults:
        raise Invalid(faults, "A query parameter does not fit; `errors` says which.")
    return found


def _shown(name: str) -> str:
    return f"`{name}`" if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) else "of that name"


def _value(text: str, schema: Schema) -> Any:
    kind = schema["type"]
    if kind == "integer":
        if _INTEGER.fullmatch(text) is None:
            raise ValueError("must be an integer.")
        number = int(text)
        if number < schema.get("minimum", number) or number > schema.get("maximum", number):
            raise ValueError(f"must be from {schema.get('minimum', 0)} to {schema.get('maximum', 'any')}.")
        return number
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ValueError("must be true or false.")
        return text == "true"
    if kind == "array":
        return tuple(dict.fromkeys([_word(name, schema["items"], "a list of") for name in text.split(",")]))
    if "enum" in schema:
        return _word(text, schema, "one of")
    if len(text) > schema.get("maxLength", 255) or len(text) < schema.get("minLength", 0) or _NOT_TEXT.search(text):
        raise ValueError("must be plain text of an allowed length.")
    if "pattern" in schema and re.fullmatch(schema["pattern"], text) is None:
        raise ValueError("does not have the form that is asked for.")
    return text


def _word(text: str, schema: Schema, wanted: str) -> str:
    if text in schema.get("x-later", ()):
        raise _NotBuilt
    if text not in schema["enum"]:
        raise ValueError(f"must be {wanted} {', '.join(schema['enum'])}.")
    return text
