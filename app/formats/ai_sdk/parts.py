"""Parts of UI messages, of all versions, to neutral parts; what a provider wants back is made again of the `providerMetadata` beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text
from app.entries.producers import imported_producer
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import UNKNOWN_MEDIA_TYPE, mapping, native, store, store_url, word
from app.formats.reading.entries import spare

FORMAT = "ai-sdk"

_DIALECTS = {
    "anthropic": "anthropic-messages",
    "vertexAnthropic": "anthropic-messages",
    "openai": "openai-responses",
    "azure": "openai-responses",
    "google": "gemini",
    "vertex": "gemini",
    "googleVertex": "gemini",
    "bedrock": "bedrock-converse",
    "amazonBedrock": "bedrock-converse",
}
"""The SDK's names of providers → dialect."""
_TEXT = frozenset({"type", "text", "reasoning", "state", "providerMetadata", "providerOptions", "details", "signature"})
_FILE = frozenset({"type", "mediaType", "mimeType", "contentType", "filename", "name", "url", "data"})

_GIVEN = frozenset({"itemId", "phase", "reasoningEncryptedContent", "thoughtSignature", "signature", "redactedData"})

Kept = tuple[str | None, str | None]
"""What stands beside a part, and who made it."""


@dataclass(slots=True)
class Pieces:
    """A reasoning item of OpenAI's, of which the SDK makes a part for each summary."""

    item_id: str
    encrypted: str | None
    texts: list[str]
    state: str | None


class Parts:
    """Reads the parts of one message. `model` is who gave it, where its metadata say so."""

    def __init__(self, session: ImportedSession, place: str, model: str | None = None) -> None:
        self.session = session
        self.place = place
        self.model = model

    def part(self, part: Any) -> Part:
        """A part that is no tool's, of a list that `joined` gave."""
        if isinstance(part, str):
            return Text(part)
        if isinstance(part, Pieces):
            block = native.reasoned(part.item_id, part.encrypted, part.texts)
            return Reasoning("\n\n".join(part.texts), block, imported_producer(_DIALECTS["openai"], self.model))
        found = mapping(part)
        kind = found.get("type")
        text = word(found, "text") or word(found, "reasoning") or ""
        if kind == "text" and isinstance(found.get("text"), str):
            self.change_spare(found, _TEXT)
            opaque, producer = self.beside_text(_metadata(found))
            return Text(text, None, opaque, producer)
        if kind == "reasoning":
            self.change_spare(found, _TEXT)
            return self._thought(text, found)
        media = self.media(found) if kind == "file" else None
        return media if media is not None else self.opaque(part)

    def joined(self, parts: list[Any]) -> list[Any]:
        """The parts, those of one reasoning item as one."""
        found: list[Any] = []
        for part in parts:
            reasoning = mapping(part) if mapping(part).get("type") == "reasoning" else {}
            metadata = _metadata(reasoning)
            given = next((given for dialect, given in _given(metadata) if dialect == "openai-responses"), {})
            item_id = word(given, "itemId")
            if item_id is None:
                found.append(part)
                continue
            self.change_spare(reasoning, _TEXT)
            self._change_others(metadata, given)
            last = found[-1] if found else None
            if not isinstance(last, Pieces) or last.item_id != item_id:
                last = Pieces(item_id, None, [], None)
                found.append(last)
            last.texts += [text] if (text := word(reasoning, "text")) is not None else []
            last.encrypted = word(given, "reasoningEncryptedContent") or last.encrypted
            last.state = word(reasoning, "state")
        return found

    def media(self, found: Mapping[str, Any]) -> Media | None:
        """A file that a part or an attachment holds or names; None where it does neither."""
        media_type = word(found, "mediaType") or word(found, "mimeType") or word(found, "contentType") or UNKNOWN_MEDIA_TYPE
        name, url, data = word(found, "filename") or word(found, "name"), word(found, "url"), word(found, "data")
        media = None
        if url is not None:
            media = store_url(self.session, "image" if media_type.startswith("image/") else "file", url, name)
        elif data is not None:
            media = store(self.session, "image" if media_type.startswith("image/") else "file", media_type, data, name)
        if media is not None:
            self.change_spare(found, _FILE)
        return media

    def opaque(self, part: Any) -> Opaque:
        kind = str(mapping(part).get("type"))[:64]
        self.session.changed.append(Note(self.place, kind, "a part that is not modelled; it is kept as it is and never sent"))
        return Opaque(FORMAT, imported_producer(FORMAT, self.model), lossless.dumps(part), kind)

    def beside_text(self, metadata: Mapping[str, Any]) -> Kept:
        return self._beside(metadata, native.said)

    def beside_call(self, metadata: Mapping[str, Any]) -> Kept:
        return self._beside(metadata, native.called)

    def change_spare(self, found: Mapping[str, Any], known: frozenset[str]) -> None:
        self.session.changed.extend([Note(self.place, str(key)[:64], "a field of a part that is not kept") for key in spare(found, known)])

    def _beside(self, metadata: Mapping[str, Any], make: Any) -> Kept:
        for dialect, given in _given(metadata):
            mark = word(given, "itemId") if dialect == "openai-responses" else word(given, "thoughtSignature")
            if mark is not None and word(given, "phase") is not None and make is native.said:
                mark = lossless.dumps({"id": mark, "phase": given["phase"]})
            if mark is not None and (block := make(dialect, mark)) is not None:
                self._change_others(metadata, given)
                return block, imported_producer(dialect, self.model)
        return self._whole(metadata)

    def _thought(self, text: str, found: Mapping[str, Any]) -> Reasoning:
        metadata, details = _metadata(found), found.get("details")
        if isinstance(details, list) and len(details) > 1:
            return Reasoning(text, lossless.dumps({"details": details}), imported_producer(FORMAT, self.model))
        for dialect, given in _given(metadata):
            producer = imported_producer(dialect, self.model)
            sealed, signature = word(given, "redactedData"), word(given, "signature") or word(given, "thoughtSignature")
            block = native.redacted(dialect, sealed) if sealed is not None else native.thinking(dialect, text, signature) if signature else None
            if block is not None:
                self._change_others(metadata, given)
                return Reasoning(text, block, producer)
        opaque, producer_of = self._whole(metadata)
        return Reasoning(text, opaque, producer_of)

    def _change_others(self, metadata: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        if len(metadata) > 1 or spare(given, _GIVEN):
            self.session.changed.append(Note(self.place, "providerMetadata", "only what the provider wants back is kept"))

    def _whole(self, metadata: Mapping[str, Any]) -> Kept:
        if not metadata:
            return None, None
        return lossless.dumps({"providerMetadata": metadata}), imported_producer(FORMAT, self.model)


def _metadata(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the provider put beside a part; of version 4, the only detail of a thought."""
    metadata = mapping(found.get("providerMetadata")) or mapping(found.get("providerOptions"))
    if metadata:
        return metadata
    details = found.get("details")
    (detail,) = details if isinstance(details, list) and len(details) == 1 else ({},)
    kept = {"signature": word(mapping(detail), "signature") or word(found, "signature"), "redactedData": word(mapping(detail), "data")}
    kept = {key: value for key, value in kept.items() if value is not None}
    return {"anthropic": kept} if kept else {}


def _given(metadata: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(_DIALECTS[name], given) for name, given in metadata.items() if name in _DIALECTS and isinstance(given, Mapping)]
