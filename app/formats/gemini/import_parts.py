"""Parts of Gemini contents, as requests hold them, to neutral parts.

What the provider put with a part and wants back is the rest of the part as it arrived: `{"thoughtSignature": …}` beside a text, also
`"thought": true` beside a thought, `{"functionCall": {"id": …}, "thoughtSignature": …}` beside a call (notes 0.3).
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import UNKNOWN_MEDIA_TYPE, mapping, store, store_url, word
from app.formats.reading.entries import spare

DIALECT = "gemini"

_PROTO = re.compile(r"_([a-z])")
_TEXT = frozenset({"text"})
_CALL = frozenset({"functionCall"})
_MEDIA = frozenset({"inlineData", "fileData", "mimeType", "data", "fileUri", "displayName"})
_HANDLES = re.compile(r"https?://([^/]*\.)?googleapis\.com/", re.IGNORECASE)
"""Files that the provider keeps: their addresses are for its own eyes."""


def camel(key: str) -> str:
    """A field's name as Google's JSON spells it."""
    return _PROTO.sub(lambda match: match[1].upper(), key)


def said_part(part: Any) -> dict[str, Any]:
    """A part with the names of its fields and of those of what it holds as Google's JSON spells them; fields without a value are left out.

    What a call or a result holds is the user's own and stays as it is.
    """
    if isinstance(part, str):
        return {"text": part}
    found = {camel(str(key)): value for key, value in mapping(part).items() if value is not None}
    for key in ("inlineData", "fileData", "functionCall", "functionResponse"):
        if isinstance(found.get(key), Mapping):
            found[key] = {camel(str(name)): value for name, value in found[key].items() if value is not None}
    return found


class Waiting:
    """Calls that have no result yet, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._order: deque[str] = deque()
        self._by_name: dict[str, deque[str]] = {}

    def ask(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            self._names[call.tool_call_id] = call.name
            self._order.append(call.tool_call_id)
            self._by_name.setdefault(call.name, deque()).append(call.tool_call_id)

    def answer(self, given: str | None, name: str | None) -> tuple[str | None, str | None]:
        """Id and name of the call that a result is of, as far as they are known; the call waits no longer."""
        tool_call_id = given or self._first(self._by_name.get(name or "", deque())) or self._first(self._order)
        known = self._names.pop(tool_call_id, None) if tool_call_id is not None else None
        return tool_call_id, name or known

    def _first(self, ids: deque[str]) -> str | None:
        while ids and ids[0] not in self._names:
            ids.popleft()
        return ids[0] if ids else None


class Parts:
    """Reads the parts of one session."""

    def __init__(self, session: ImportedSession, producer: str) -> None:
        self.session = session
        self.producer = producer
        self._made_up = 0

    def answer(self, part: Any, place: str) -> Part:
        """A part of a model's content."""
        found = said_part(part)
        text = found.get("text")
        if isinstance(text, str):
            beside = spare(found, _TEXT)
            if found.get("thought") is True:
                return Reasoning(text, lossless.dumps(beside), self.producer) if "thoughtSignature" in beside else Reasoning(text)
            return Text(text, None, lossless.dumps(beside), self.producer) if beside else Text(text)
        call = mapping(found.get("functionCall"))
        if isinstance(call.get("name"), str):
            return self._call(found, call, place)
        media = self._media(found)
        if media is None:
            return self._opaque(found if isinstance(part, Mapping) else part, place)
        self._change_spare(found, place)
        return media

    def input(self, part: Any, place: str) -> Part:
        """A part of a user's content that is no result."""
        found = said_part(part)
        text = found.get("text")
        if isinstance(text, str):
            self._change_spare({key: value for key, value in found.items() if key != "text"}, place)
            return Text(text)
        media = self._media(found)
        if media is None:
            return self._opaque(found if isinstance(part, Mapping) else part, place)
        self._change_spare(found, place)
        return media

    def result(self, response: Mapping[str, Any], place: str) -> tuple[tuple[Part, ...], bool]:
        """What a `functionResponse` says, and whether it says that the call failed."""
        found = response.get("response")
        said, error = mapping(found).get("output"), mapping(found).get("error")
        single = isinstance(found, Mapping) and len(found) == 1
        if single and isinstance(error if said is None else said, str):
            parts: list[Part] = [Text(str(error if said is None else said))]
        else:
            parts = [Text("" if found is None else lossless.dumps(found))]
            self.session.changed.append(Note(place, "response", "an object was spelled out as text"))
        beside = response.get("parts")
        parts += [self.input(part, place) for part in (beside if isinstance(beside, list) else [])]
        return tuple(parts), error is not None and said is None

    def made_up_id(self, place: str) -> str:
        """An id for a call or a result that has none."""
        self._made_up += 1
        self.session.changed.append(Note(place, "id", "a call or its result has none; one was made up"))
        return f"call_import_{self._made_up}"

    def _call(self, found: Mapping[str, Any], call: Mapping[str, Any], place: str) -> ToolCall:
        given = word(call, "id")
        inner = {key: value for key, value in call.items() if key not in ("name", "args")}
        beside = ({"functionCall": inner} if inner else {}) | spare(found, _CALL)
        kept = (lossless.dumps(beside), self.producer) if beside else (None, None)
        arguments = lossless.dumps(call.get("args", {}))
        return ToolCall(given or self.made_up_id(place), call["name"], arguments, opaque=kept[0], producer=kept[1])

    def _media(self, found: Mapping[str, Any]) -> Media | None:
        """None for what is no base64, too large, or a file that the provider keeps."""
        inline, file = mapping(found.get("inlineData")), mapping(found.get("fileData"))
        media_type = word(inline or file, "mimeType") or UNKNOWN_MEDIA_TYPE
        name = word(inline or file, "displayName")
        data, url = inline.get("data"), word(file, "fileUri")
        image = media_type.startswith("image/")
        if isinstance(data, str):
            return store(self.session, "image" if image else "file", media_type, data, name)
        if url is None or not url.startswith(("http://", "https://")) or _HANDLES.match(url):
            return None
        return store_url(self.session, "image" if image else "file", url, name)

    def _opaque(self, part: Any, place: str) -> Opaque:
        kind = next(iter(part), "part")[:64] if isinstance(part, Mapping) else "part"
        self.session.changed.append(Note(place, kind, "a part that is not modelled; it is kept as it is, for nobody but who made it"))
        return Opaque(DIALECT, self.producer, lossless.dumps(part), kind)

    def _change_spare(self, found: Mapping[str, Any], place: str) -> None:
        self.session.changed.extend([Note(place, str(key)[:64], "a field of a part that is not kept") for key in spare(found, _MEDIA)])
