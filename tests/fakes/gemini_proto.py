"""How Gemini reads JSON: as a protocol buffer, closed to what it does not know and open to the ways in which proto JSON may be written.

Accepted besides the canonical form (wire-format notes 12.3): snake_case names, null for what is absent, enum words in any case, numbers
as strings, base64 of either alphabet with padding or without, and one message where a list of them is meant.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from tests.fakes.gemini_messages import ENUMS, MESSAGES, ONE_OF


@dataclass(frozen=True, slots=True)
class Breach:
    """One reason for a 400 INVALID_ARGUMENT."""

    message: str


class _Refused(Exception):
    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.breach = Breach(words)


def read(document: Any, message: str) -> tuple[dict[str, Any], list[Breach]]:
    """The document in canonical form (camelCase, bytes decoded, nulls gone), and why it is none. The form is empty where it is none."""
    if not isinstance(document, dict):
        return {}, [Breach("Invalid JSON payload received. Root element must be a message.")]
    try:
        return _message(document, message, ""), []
    except _Refused as refused:
        return {}, [refused.breach]


def snake(name: str) -> str:
    """A field's name as protocol buffers spell it."""
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def _message(value: Any, message: str, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Refused(f"Invalid value at '{at}' (type.googleapis.com/google.ai.generativelanguage.{message}).")
    fields = MESSAGES[message]
    by_name = {spelled: name for name in fields for spelled in (name, snake(name))}
    found: dict[str, Any] = {}
    for key, content in value.items():
        name = by_name.get(key)
        if name is None:
            where = f" at '{at}'" if at else ""
            raise _Refused(f'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.')
        if name in found:
            raise _Refused(f"Invalid value at '{at}': field '{snake(name)}' is set twice.")
        if content is not None:
            found[name] = _field(content, fields[name], f"{at}.{snake(name)}".lstrip("."))
    given = [name for name in found if name in ONE_OF.get(message, ())]
    if len(given) > 1:
        raise _Refused(f"Invalid value at '{at}' (oneof), oneof field 'data' is already set. Cannot set '{snake(given[1])}'.")
    if message in ONE_OF and not given:
        raise _Refused(f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one initialized field.")
    return found


def _field(value: Any, kind: str, at: str) -> Any:
    if kind.startswith("[]"):
        items = value if isinstance(value, list) else [value]
        return [_field(item, kind[2:], f"{at}[{index}]") for index, item in enumerate(items)]
    if kind == "any":
        return value
    if isinstance(value, list):
        raise _Refused(f"Invalid JSON payload received. Unknown name at '{at}': Proto field is not repeating, cannot start list.")
    if kind.startswith("{}"):
        if not isinstance(value, dict):
            raise _Refused(f"Invalid value at '{at}' (Map), an object is expected.")
        return {key: _field(item, kind[2:], f"{at}[{key}]") for key, item in value.items()}
    if kind in MESSAGES:
        return _message(value, kind, at)
    if kind in ENUMS:
        word = str(value).upper()
        if word not in ENUMS[kind]:
            raise _Refused(f"Invalid value at '{at}' (type.googleapis.com/google.ai.generativelanguage.{kind}), \"{value}\".")
        return word
    return _scalar(value, kind, at)


def _scalar(value: Any, kind: str, at: str) -> Any:
    match kind:
        case "struct" if isinstance(value, dict):
            return value
        case "string" if isinstance(value, str):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "bytes" if isinstance(value, str):
            return _bytes(value, at)
        case "int" | "number" if not isinstance(value, bool | dict):
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = float("nan")
            if number == number and (kind == "number" or number.is_integer()):
                return number
    raise _Refused(f"Invalid value at '{at}' (TYPE_{kind.upper()}), {value!r}")


def _bytes(text: str, at: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise _Refused(f"Invalid value at '{at}' (TYPE_BYTES), Base64 decoding failed.") from None
