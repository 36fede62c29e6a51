"""Parts of UI messages, of all versions, to neutral parts; what a provider wants back is made again of the `providerMetadata` beside them."""

from collections.abc import Mapping
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


class Parts:
    """Reads the parts of one message. `model` is who gave it, where its metadata say so."""

    def __init__(self, session: ImportedSession, place: str, model: str | None = None) -> None:
        self.session = session
        self.place = place
        self.model = model
        self._item: tuple[str, str | None, list[str]] | None = None

    def part(self, part: Any, before: Part | None = None) -> Part | None:
        """A part that is no tool's. None for one that was joined to `before`, which the caller then replaces by `joined`."""
        if isinstance(part, str):
            return Text(part)
        found = mapping(part)
        kind = found.get("type")
        text = word(found, "text") or word(found, "reasoning") or ""
        if kind == "text" and isinstance(found.get("text"), str):
            self.change_spare(found, _TEXT)
            opaque, producer = self.beside_text(_metadata(found))
            return Text(text, None, opaque, producer)
        if kind == "reasoning":
            self.change_spare(found, _TEXT)
            return self._thought(text, found, before)
        media = self.media(found) if kind == "file" else None
        return media if media is not None else self.opaque(part)

    def joined(self) -> Reasoning:
        """A reasoning item of which several parts hold a piece each."""
        assert self._item is not None
        item_id, encrypted, texts = self._item
        return Reasoning("\n\n".join(texts), native.reasoned(item_id, encrypted, texts), imported_producer(_DIALECTS["openai"], self.model))

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

    def _thought(self, text: str, found: Mapping[str, Any], before: Part | None) -> Reasoning | None:
        metadata, details = _metadata(found), found.get("details")
        if isinstance(details, list) and len(details) > 1:
            return Reasoning(text, lossless.dumps({"details": details}), imported_producer(FORMAT, self.model))
        for dialect, given in _given(metadata):
            producer = imported_producer(dialect, self.model)
            item_id = word(given, "itemId")
            if dialect == "openai-responses" and item_id is not None:
                self._change_others(metadata, given)
                return self._piece(item_id, word(given, "reasoningEncryptedContent"), text, before)
            sealed, signature = word(given, "redactedData"), word(given, "signature") or word(given, "thoughtSignature")
            block = native.redacted(dialect, sealed) if sealed is not None else native.thinking(dialect, text, signature) if signature else None
            if block is not None:
                self._change_others(metadata, given)
                return Reasoning(text, block, producer)
        opaque, producer_of = self._whole(metadata)
        return Reasoning(text, opaque, producer_of)

    def _piece(self, item_id: str, encrypted: str | None, text: str, before: Part | None) -> Reasoning | None:
        """A summary of a reasoning item; None for another piece of the item that came just before."""
        same = self._item is not None and self._item[0] == item_id and isinstance(before, Reasoning)
        texts = [*(self._item[2] if same and self._item is not None else []), *([text] if text else [])]
        self._item = (item_id, encrypted or (self._item[1] if same and self._item is not None else None), texts)
        return None if same else self.joined()

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
