"""The parts of a Gemini content: what each needs, and which role takes which (wire-format notes 5.1, 5.2)."""

import re
from collections.abc import Mapping
from typing import Any

from app.formats.gemini import names
from app.formats.gemini.names import Found, members, under
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_DATA = frozenset(names.DATA.split())
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_CALL_NAMES = frozenset({"name", "args"})
_RESPONSE_NAMES = frozenset({"name", "response"})


class PartJudge:
    """Holds parts against what one model takes. Violations go to `found`."""

    __slots__ = ("_found", "_images", "_named", "_rules")

    def __init__(self, rules: WireRules, found: Found) -> None:
        self._rules = rules
        self._found = found
        self._named = re.compile(rules.name_pattern).fullmatch
        self._images = frozenset(rules.image_types.split())

    def check(self, value: Any, at: str, role: str) -> Mapping[str, Any] | None:
        """The part's members, for whoever judges the conversation; None for what is no part."""
        if type(value) is dict and len(value) == 1 and self.is_plain(value, role):
            return value
        part = members(value, names.PART, at, self._found)
        if part is None:
            return None
        if len(_DATA & part.keys()) != 1:
            self._say(at, "part-data", f"A part has exactly one of {', '.join(sorted(_DATA))}.")
        if not isinstance(part.get("text", ""), str):
            self._say(under(at, value, "text"), "text-invalid", "`text` is a string.")
        if not isinstance(part.get("thought", False), bool):
            self._say(under(at, value, "thought"), "flag-invalid", "`thought` is true or false.")
        signature = part.get("thoughtSignature")
        if signature is not None and not (isinstance(signature, str) and _is_base64(signature)):
            self._say(under(at, value, "thoughtSignature"), "signature-invalid", "A signature is base64 text.")
        if "functionCall" in part:
            self._taken_by("model", role, under(at, value, "functionCall"))
            self._call(part["functionCall"], under(at, value, "functionCall"))
        if "functionResponse" in part:
            self._taken_by("user", role, under(at, value, "functionResponse"))
            self._response(part["functionResponse"], under(at, value, "functionResponse"))
        self._media(part, value, at)
        return part

    def is_plain(self, part: dict[str, Any], role: str) -> bool:
        """Whether a part of one member is a text, or a call or response of nothing but what it needs: no rule is left for it to break."""
        call, response = part.get("functionCall"), part.get("functionResponse")
        if type(call) is dict and role == "model":
            name = call.get("name")
            return call.keys() == _CALL_NAMES and type(name) is str and self._named(name) is not None and type(call["args"]) is dict
        if type(response) is dict and role == "user":
            name = response.get("name")
            return response.keys() == _RESPONSE_NAMES and type(name) is str and self._named(name) is not None and type(response["response"]) is dict
        return type(part.get("text")) is str

    def _taken_by(self, taker: str, role: str, at: str) -> None:
        if role != taker:
            self._say(at, "part-not-taken", f"This stands in contents of the role {taker}.")

    def _media(self, part: Mapping[str, Any], value: Any, at: str) -> None:
        if "inlineData" in part:
            place = under(at, value, "inlineData")
            blob = members(part["inlineData"], names.BLOB, place, self._found)
            if blob is not None:
                self._bytes(blob, part["inlineData"], place)
        if "fileData" in part:
            place = under(at, value, "fileData")
            file = members(part["fileData"], names.FILE, place, self._found)
            if file is not None and not (isinstance(file.get("fileUri"), str) and file["fileUri"]):
                self._say(under(place, part["fileData"], "fileUri"), "uri-missing", "`fileUri` is a non-empty string.")

    def _bytes(self, blob: Mapping[str, Any], value: Any, at: str) -> None:
        kind, data = blob.get("mimeType"), blob.get("data")
        if not isinstance(kind, str) or not kind:
            self._say(under(at, value, "mimeType"), "media-type-missing", "`mimeType` is a non-empty string.")
        elif kind.startswith("image/") and kind not in self._images and "*" not in self._images:
            self._say(under(at, value, "mimeType"), "media-type-not-taken", f"Images are of {self._rules.image_types}.")
        if not isinstance(data, str) or not data or data.startswith("data:"):
            self._say(under(at, value, "data"), "data-invalid", "`data` is non-empty base64 text, without the head of a data URL.")

    def _call(self, value: Any, at: str) -> None:
        call = members(value, names.CALL, at, self._found)
        if call is None:
            return
        self._name(call, value, at)
        if not isinstance(call.get("args", {}), Mapping):
            self._say(under(at, value, "args"), "arguments-no-object", "`args` is an object.")

    def _response(self, value: Any, at: str) -> None:
        answer = members(value, names.RESPONSE, at, self._found)
        if answer is None:
            return
        self._name(answer, value, at)
        if not isinstance(answer.get("response"), Mapping):
            self._say(under(at, value, "response"), "response-no-object", "`response` is an object.")
        if "parts" not in answer:
            return
        place = under(at, value, "parts")
        if not (self._rules.result_images or self._rules.result_files):
            self._say(place, "media-in-result", "This model takes no media in a function response.")
        for below, item in names.elements(answer["parts"], place, self._found):
            part = members(item, names.RESPONSE_PART, below, self._found)
            if part is not None:
                self._media(part, item, below)

    def _name(self, holder: Mapping[str, Any], value: Any, at: str) -> None:
        name, given = holder.get("name"), holder.get("id", "")
        if not isinstance(name, str) or not self._named(name):
            self._say(under(at, value, "name"), "name-invalid", f"A tool name matches {self._rules.name_pattern}.")
        if not isinstance(given, str):
            self._say(under(at, value, "id"), "id-invalid", "`id` is a string.")

    def _say(self, at: str, code: str, detail: str) -> None:
        self._found.append(Violation(at, code, detail))


def _is_base64(text: str) -> bool:
    """Whether it is of base64's letters, of either alphabet, padded or not. By bytes, since signatures are long."""
    letters = text.rstrip("=")
    return bool(letters) and letters.isascii() and not letters.encode().translate(None, _BASE64)
