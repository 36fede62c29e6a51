"""Content blocks of a Messages request: which types a role takes, and what each needs (wire-format notes 4.1, 4.3)."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.formats.anthropic.rules import IMAGE_TYPES, THINKING_BLOCKS
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        kind: frozenset(("type", *keys.split()))
        for kind, keys in {
            "text": "text citations cache_control",
            "image": "source transformations cache_control",
            "document": "source title context citations cache_control",
            "search_result": "content source title citations cache_control",
            "thinking": "thinking signature",
            "redacted_thinking": "data",
            "tool_use": "id name input caller toolset_name cache_control",
            "tool_result": "tool_use_id content is_error toolset_name cache_control",
        }.items()
    }
)
_OF_USER = frozenset({"image", "document", "search_result", "tool_result", "container_upload", "browser_state"})
_IN_RESULTS = ("text", "image", "document", "search_result", "tool_reference")
_IN_SYSTEM = ("text", "tool_addition", "tool_removal")
_TTLS = (None, "5m", "1h")


class Blocks:
    """Checks blocks, and gathers what is counted over the whole body: cache marks in the order of the prefix, and images."""

    def __init__(self, found: list[Violation], rules: WireRules) -> None:
        self._found = found
        self._rules = rules
        self._call_id = re.compile(rules.call_id_pattern).fullmatch
        self._name = re.compile(rules.name_pattern).fullmatch
        self._checks: dict[str, Callable[[Mapping[str, Any], str], None]] = {
            "text": self._text,
            "image": self._image,
            "document": self._document,
            "thinking": self._thinking,
            "redacted_thinking": self._redacted,
            "tool_use": self._call,
            "tool_result": self._result,
        }
        self.marks: list[tuple[str, Any]] = []
        self.images = 0

    def check(self, block: Mapping[str, Any], role: str, at: str) -> bool:
        """One block of a message. False where it has no type, so that nothing more can be said of it."""
        kind = block.get("type")
        if not isinstance(kind, str):
            self._say(f"{at}/type", "block-type-missing", "A block has a type.")
            return False
        if not _may_stand(kind, role):
            self._say(f"{at}/type", "block-type-not-taken", f"This block does not stand in a message of the {role}.")
        elif role == "user" and kind == "text" and block.get("citations"):
            self._say(f"{at}/citations", "key-unknown", "Texts of the user have no citations.")
        self._inner(kind, block, at)
        return True

    def words(self, text: Any, at: str) -> None:
        """A text, wherever it stands: said, and not blank."""
        if not isinstance(text, str):
            self._say(at, "text-missing", "A text is a string.")
        elif not text:
            self._say(at, "text-empty", "A text is not empty.")
        elif text.isspace():
            self._say(at, "text-blank", "A text has more than blanks.")

    def mark(self, holder: Mapping[str, Any], at: str) -> None:
        """The cache mark of a tool, a block or the body, if it has one."""
        mark = holder.get("cache_control")
        if mark is None:
            return
        if not isinstance(mark, Mapping) or mark.get("type") != "ephemeral" or mark.get("ttl") not in _TTLS:
            self._say(f"{at}/cache_control", "mark-invalid", "A cache mark is `{type: ephemeral}`, with a `ttl` of 5m or 1h.")
        else:
            self.marks.append((f"{at}/cache_control", mark.get("ttl") or "5m"))

    def _inner(self, kind: str, block: Mapping[str, Any], at: str) -> None:
        known = _KEYS.get(kind)
        if known is not None and not known.issuperset(block):
            unknown = [key for key in block if key not in known]
            if "cache_control" in unknown:
                self._say(f"{at}/cache_control", "mark-not-taken", "Thinking bears no cache mark.")
            if unknown != ["cache_control"]:
                self._say(at, "key-unknown", f"A {kind} block has no other keys than {', '.join(sorted(known))}.")
        if "cache_control" in block and kind not in THINKING_BLOCKS:
            self.mark(block, at)
        check = self._checks.get(kind)
        if check is not None:
            check(block, at)

    def _text(self, block: Mapping[str, Any], at: str) -> None:
        self.words(block.get("text"), f"{at}/text")

    def _thinking(self, block: Mapping[str, Any], at: str) -> None:
        if not isinstance(block.get("thinking"), str):
            self._say(f"{at}/thinking", "text-missing", "`thinking` is a string; it may be empty.")
        if not isinstance(block.get("signature"), str) or not block["signature"]:
            self._say(f"{at}/signature", "signature-missing", "Thinking goes back with the signature that came with it.")

    def _redacted(self, block: Mapping[str, Any], at: str) -> None:
        if not isinstance(block.get("data"), str) or not block["data"]:
            self._say(f"{at}/data", "data-missing", "`data` is a non-empty string.")

    def _call(self, block: Mapping[str, Any], at: str) -> None:
        self._id(block.get("id"), f"{at}/id")
        name = block.get("name")
        if not isinstance(name, str) or not self._name(name):
            self._say(f"{at}/name", "name-invalid", f"A tool name matches {self._rules.name_pattern}.")
        if not isinstance(block.get("input"), Mapping):
            self._say(f"{at}/input", "input-no-object", "`input` is an object.")

    def _result(self, block: Mapping[str, Any], at: str) -> None:
        self._id(block.get("tool_use_id"), f"{at}/tool_use_id")
        failed, content = block.get("is_error"), block.get("content")
        if failed is not None and not isinstance(failed, bool):
            self._say(f"{at}/is_error", "flag-invalid", "`is_error` is true or false.")
        if content is None or isinstance(content, str):
            return
        if not isinstance(content, list):
            self._say(f"{at}/content", "content-invalid", "The content of a result is a string or a list of blocks.")
            return
        for number, inner in enumerate(content):
            place = f"{at}/content/{number}"
            kind = inner.get("type") if isinstance(inner, Mapping) else None
            if kind not in _IN_RESULTS:
                self._say(f"{place}/type", "block-type-not-taken", f"A result holds blocks of type {', '.join(_IN_RESULTS)}.")
                continue
            if failed is True and kind != "text":
                self._say(f"{place}/type", "error-not-text", "A result that failed holds text alone.")
            self._inner(kind, inner, place)

    def _id(self, value: Any, at: str) -> None:
        if not isinstance(value, str) or not self._call_id(value):
            self._say(at, "call-id-invalid", f"A tool call id matches {self._rules.call_id_pattern}.")
        elif len(value) > self._rules.call_id_chars_max:
            self._say(at, "call-id-too-long", f"A tool call id takes at most {self._rules.call_id_chars_max} characters.")

    def _image(self, block: Mapping[str, Any], at: str) -> None:
        self.images += 1
        source = self._source(block.get("source"), at, ("base64", "url", "file"))
        if source is None:
            return
        if source["type"] == "base64":
            if str(source.get("media_type")) not in IMAGE_TYPES:
                self._say(f"{at}/source/media_type", "media-type-not-taken", f"An image is one of {', '.join(sorted(IMAGE_TYPES))}.")
            self._data(source.get("data"), f"{at}/source/data", self._rules.image_bytes_max)

    def _document(self, block: Mapping[str, Any], at: str) -> None:
        source = self._source(block.get("source"), at, ("base64", "text", "url", "file", "content"))
        if source is None:
            return
        expected = {"base64": "application/pdf", "text": "text/plain"}.get(source["type"])
        if expected is not None and source.get("media_type") != expected:
            self._say(f"{at}/source/media_type", "media-type-not-taken", f"A document of this kind is {expected}.")
        if source["type"] == "base64":
            self._data(source.get("data"), f"{at}/source/data", self._rules.file_bytes_max)
        elif source["type"] == "text" and not isinstance(source.get("data"), str):
            self._say(f"{at}/source/data", "data-missing", "`data` is a string.")

    def _source(self, source: Any, at: str, kinds: tuple[str, ...]) -> Mapping[str, Any] | None:
        """The source, where its type is one of these."""
        kind = source.get("type") if isinstance(source, Mapping) else None
        if not isinstance(source, Mapping) or kind not in kinds:
            self._say(f"{at}/source/type", "source-invalid", f"A source is of type {', '.join(kinds)}.")
            return None
        if kind == "url" and not str(source.get("url")).startswith(("https://", "http://")):
            self._say(f"{at}/source/url", "url-invalid", "A source of type url has an http URL.")
        elif kind == "file" and not isinstance(source.get("file_id"), str):
            self._say(f"{at}/source/file_id", "file-invalid", "A source of type file has a `file_id`.")
        return source

    def _data(self, data: Any, at: str, bytes_max: int) -> None:
        if not isinstance(data, str) or not data:
            self._say(at, "data-missing", "`data` is base64 text.")
        elif bytes_max and len(data) * 3 // 4 - data.count("=", -2) > bytes_max:
            self._say(at, "media-too-large", f"At most {bytes_max} bytes are taken.")

    def _say(self, at: str, code: str, detail: str) -> None:
        self._found.append(Violation(at, code, detail))


def _may_stand(kind: str, role: str) -> bool:
    """Whether a block may stand in a message of a role. Types that we do not know come from the provider, in its answers."""
    if role == "assistant":
        return kind not in _OF_USER or kind == "container_upload"
    if role == "system":
        return kind in _IN_SYSTEM
    return kind == "text" or kind in _OF_USER
