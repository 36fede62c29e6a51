"""What a document breaks of its JSON Schema, fault by fault, in our own sentences.

The checker's messages repeat the input, and so are never shown; pointers name fields, and only names of unknown fields are
the client's own words.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from app.config.limits import FAULTS_MAX
from app.context.schemas import escaped
from app.entries.errors import Fault
from app.services.bounded_schemas import TooSlow, begin

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def pointer(path: Sequence[object]) -> str:
    """RFC 6901 of a path of keys and indexes."""
    return "".join("/" + escaped(str(step)) for step in path)


def schema_faults(validator: Draft202012Validator, document: Any) -> list[Fault]:
    """Every fault, in the order of the schema, at most `FAULTS_MAX`; empty for a document that fits. Bounded in time."""
    found: list[Fault] = []
    begin()
    try:
        for error in validator.iter_errors(document):
            for fault in _faults(error):
                if fault not in found:
                    found.append(fault)
                if len(found) >= FAULTS_MAX:
                    return found
    except (TooSlow, RecursionError):
        found.append(Fault("", "too-slow", "The schema takes too long on this document; make its patterns and references simpler."))
    return found


def _faults(error: ValidationError) -> Iterator[Fault]:
    at, value = list(error.absolute_path), _value(error)
    keyword = str(error.validator)
    if keyword in ("anyOf", "oneOf"):
        yield from _branch_faults(error, at)
    elif keyword == "required":
        instance = error.instance if isinstance(error.instance, dict) else {}
        for name in value:
            if name not in instance:
                yield Fault(pointer([*at, name]), "missing", "This is required.")
    elif keyword == "additionalProperties" and isinstance(error.instance, dict):
        yield from _unknown(error, at)
    else:
        yield Fault(pointer(at), *_sentence(keyword, error))


def _unknown(error: ValidationError, at: list[Any]) -> Iterator[Fault]:
    schema, instance = _schema(error), dict(error.instance) if isinstance(error.instance, dict) else {}
    for name in instance:
        if name not in schema.get("properties", {}):
            yield Fault(pointer([*at, name]), "unknown-field", "There is no such field.")


def _branch_faults(error: ValidationError, at: list[Any]) -> Iterator[Fault]:
    """The faults of the alternative that was meant: the one whose type and constants fit and that lacks least; else one sentence for all."""
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    typed = [inner for inner in branches.values() if not any(_wrong_whole(one) for one in inner)]
    meant = sorted((inner for inner in typed if not any(_wrong_mark(one) for one in inner)), key=len)
    if meant and (len(meant) == 1 or len(meant[0]) < len(meant[1])):
        for one in meant[0]:
            yield from _faults(one)
        return
    marks = [one for inner in typed for one in inner if _wrong_mark(one)]
    if not meant and marks:
        allowed = dict.fromkeys(str(one.validator_value) for one in marks)
        yield Fault(pointer(list(marks[0].absolute_path)), "not-allowed", f"This must be one of {', '.join(allowed)}.")
        return
    shared = [list(_all_faults(inner)) for inner in meant]
    common = [fault for fault in shared[0] if all(fault in other for other in shared)] if shared else []
    yield from common or [Fault(pointer(at), "no-such-form", "This fits none of the forms that are allowed here.")]


def _all_faults(errors: list[ValidationError]) -> Iterator[Fault]:
    for error in errors:
        yield from _faults(error)


def _wrong_whole(error: ValidationError) -> bool:
    """Whether the value is of another type than this alternative is for."""
    return not error.relative_path and error.validator == "type"


def _wrong_mark(error: ValidationError) -> bool:
    """Whether a constant that tells the alternatives apart says that another one was meant."""
    return len(error.relative_path) <= 1 and error.validator == "const"


def _schema(error: ValidationError) -> Mapping[str, Any]:
    """The schema that the broken keyword stands in."""
    return error.schema if isinstance(error.schema, Mapping) else {}


def _value(error: ValidationError) -> Any:
    """What the broken keyword says in the schema."""
    return error.validator_value


def _sentence(keyword: str, error: ValidationError) -> tuple[str, str]:
    value = _value(error)
    match keyword:
        case "type":
            wanted = [value] if isinstance(value, str) else value
            return "wrong-type", f"This must be {' or '.join(_TYPES[name] for name in wanted)}."
        case "enum":
            return "not-allowed", f"This must be one of {', '.join('null' if name is None else str(name) for name in value)}."
        case "const":
            return "not-allowed", f"This must be {value}."
        case "minLength" | "minItems" | "minProperties":
            return "too-short", f"This must have at least {value}."
        case "maxLength" | "maxItems" | "maxProperties":
            return "too-long", f"This may have at most {value}."
        case "minimum":
            return "out-of-range", f"This must be at least {value}."
        case "maximum":
            return "out-of-range", f"This may be at most {value}."
        case "exclusiveMinimum":
            return "out-of-range", f"This must be more than {value}."
        case "exclusiveMaximum":
            return "out-of-range", f"This must be less than {value}."
        case "pattern":
            return "wrong-form", "This does not have the form that is asked for; the OpenAPI document shows it."
        case "uniqueItems":
            return "duplicate", "The items must differ."
        case _:
            return "invalid", "This does not fit its schema."
