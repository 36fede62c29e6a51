"""The parts of a Gemini content: what each needs, and which role takes which (wire-format notes 5.1, 5.2)."""

import re
from collections.abc import Mapping
from typing import Any

from app.formats.gemini import names
from app.formats.gemini.names import Found, members, under
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_DATA = frozenset(names.DATA.split())
_SIGNATURE = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def check_part(value: Any, at: str, role: str, rules: WireRules, found: Found) -> Mapping[str, Any] | None:
    """Its members, for whoever judges the conversation; None for what is no part."""
    part = members(value, names.PART, at, found)
    if part is None:
        return None
    data = [name for name in part if name in _DATA]
    if len(data) != 1:
        found.append(Violation(at, "part-data", f"A part has exactly one of {', '.join(sorted(_DATA))}."))
    if not isinstance(part.get("text", ""), str):
        found.append(Violation(under(at, value, "text"), "text-invalid", "`text` is a string."))
    if not isinstance(part.get("thought", False), bool):
        found.append(Violation(under(at, value, "thought"), "flag-invalid", "`thought` is true or false."))
    signature = part.get("thoughtSignature")
    if signature is not None and not (isinstance(signature, str) and _SIGNATURE.fullmatch(signature)):
        found.append(Violation(under(at, value, "thoughtSignature"), "signature-invalid", "A signature is base64 text."))
    for name, taken_by, check in (("functionCall", "model", _call), ("functionResponse", "user", _response)):
        if name in part:
            place = under(at, value, name)
            if role != taken_by:
                found.append(Violation(place, "part-not-taken", f"`{name}` stands in contents of the role {taken_by}."))
            check(part[name], place, rules, found)
    _media(part, value, at, rules, found)
    return part


def _media(part: Mapping[str, Any], value: Any, at: str, rules: WireRules, found: Found) -> None:
    if "inlineData" in part:
        place = under(at, value, "inlineData")
        blob = members(part["inlineData"], names.BLOB, place, found)
        if blob is not None:
            _bytes(blob, part["inlineData"], place, rules, found)
    if "fileData" in part:
        place = under(at, value, "fileData")
        file = members(part["fileData"], names.FILE, place, found)
        if file is not None and not (isinstance(file.get("fileUri"), str) and file["fileUri"]):
            found.append(Violation(under(place, part["fileData"], "fileUri"), "uri-missing", "`fileUri` is a non-empty string."))


def _bytes(blob: Mapping[str, Any], value: Any, at: str, rules: WireRules, found: Found) -> None:
    kind, data = blob.get("mimeType"), blob.get("data")
    if not isinstance(kind, str) or not kind:
        found.append(Violation(under(at, value, "mimeType"), "media-type-missing", "`mimeType` is a non-empty string."))
    elif kind.startswith("image/") and kind not in rules.image_types.split() and rules.image_types != "*":
        found.append(Violation(under(at, value, "mimeType"), "media-type-not-taken", f"Images are of {rules.image_types}."))
    if not isinstance(data, str) or not data or data.startswith("data:"):
        found.append(Violation(under(at, value, "data"), "data-invalid", "`data` is non-empty base64 text, without the head of a data URL."))


def _call(value: Any, at: str, rules: WireRules, found: Found) -> None:
    call = members(value, names.CALL, at, found)
    if call is None:
        return
    _name(call, value, at, rules, found)
    if not isinstance(call.get("args", {}), Mapping):
        found.append(Violation(under(at, value, "args"), "arguments-no-object", "`args` is an object."))


def _response(value: Any, at: str, rules: WireRules, found: Found) -> None:
    answer = members(value, names.RESPONSE, at, found)
    if answer is None:
        return
    _name(answer, value, at, rules, found)
    if not isinstance(answer.get("response"), Mapping):
        found.append(Violation(under(at, value, "response"), "response-no-object", "`response` is an object."))
    if "parts" not in answer:
        return
    place = under(at, value, "parts")
    if not (rules.result_images or rules.result_files):
        found.append(Violation(place, "media-in-result", "This model takes no media in a function response."))
    for below, item in names.elements(answer["parts"], place, found):
        part = members(item, names.RESPONSE_PART, below, found)
        if part is not None:
            _media(part, item, below, rules, found)


def _name(holder: Mapping[str, Any], value: Any, at: str, rules: WireRules, found: Found) -> None:
    name, given = holder.get("name"), holder.get("id", "")
    if not isinstance(name, str) or not re.fullmatch(rules.name_pattern, name):
        found.append(Violation(under(at, value, "name"), "name-invalid", f"A tool name matches {rules.name_pattern}."))
    if not isinstance(given, str):
        found.append(Violation(under(at, value, "id"), "id-invalid", "`id` is a string."))
