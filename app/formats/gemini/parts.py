"""Neutral parts as parts of a Gemini content, and the results of calls.

What the provider put with a part and wants back (`opaque`) is the rest of the part as it arrived: `{"thoughtSignature": …}` beside a
text, also `"thought": true` beside a thought, `{"functionCall": {"id": …}, "thoughtSignature": …}` beside a call. It goes back on
exactly that part, and parts are never merged with a signed one (wire-format notes 0.3, 5.3).

- The `id` of a call goes back, and with its result, only where Gemini gave one: the endpoint `v1` has refused ids in requests as
  unknown names, and one that stands on a result alone is refused everywhere. Without ids, results pair with calls by their order.
- A thought without a signature is not sent back: it is a summary that Gemini has no use for and charges for.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import orjson

from app.config.limits import JSON_DEPTH_MAX
from app.context.draft import NeutralMessage
from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.gemini.rules import DIALECT, RAW_ARGUMENTS_KEY
from app.formats.protocols import WireLoss
from app.formats.writing import Writing
from app.models.wire_rules import WireRules

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_.:-]")
_INTEGERS_UP_TO = 10**15
_DATA_URL = re.compile(r"data:([^;,]+)(?:;[^;,]*)*;base64,(.*)", re.DOTALL)


Asked = tuple[str, str | None]
"""A call as it stands on the wire, for its result: the name, and the id that Gemini gave it, if it gave one."""


class PartsWriting(Writing):
    """Parts of one request. `asked`: by `tool_call_id`, the calls of the answer that was written last. `known`: names that are taken."""

    __slots__ = ("asked", "blobs", "known", "named", "rules")

    def __init__(self, rules: WireRules, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.rules = rules
        self.blobs = blobs
        self.named = re.compile(rules.name_pattern).fullmatch
        self.known: set[str] = set()
        self.asked: dict[str, Asked] = {}

    def part(self, part: Part, source: int, index: int) -> dict[str, Any] | None:
        """The wire part; None, with a loss, for one that this format has no place for."""
        match part:
            case Text():
                sent: dict[str, Any] = {"text": self.text(part.text, source, index)}
                return sent if part.opaque is None else sent | self.beside(part.opaque, source, index)
            case ToolCall():
                return self.call(part, source, index)
            case Media():
                return self.media(part, source, index)
            case Reasoning(opaque=str()):
                beside = self.beside(part.opaque or "", source, index)
                return {"text": self.text(part.text, source, index)} | beside if beside else None
            case Opaque() if part.format == DIALECT and (block := _object(part.block)):
                return dict(self.value(block, source, index))
        what = "opaque" if isinstance(part, Opaque) else "reasoning"
        self.losses.append(WireLoss(what, "not_in_format", source, index))
        return None

    def beside(self, opaque: str, source: int, index: int) -> dict[str, Any]:
        """What goes back beside a part; empty, with a loss, where the block is of another form than this format keeps."""
        found = _object(opaque)
        if found is None:
            self.losses.append(WireLoss("opaque", "not_in_format", source, index))
            return {}
        found.pop("text", None)
        sent: dict[str, Any] = self.value(found, source, index)
        return sent

    def call(self, call: ToolCall, source: int, index: int) -> dict[str, Any]:
        name = self.name(call.name, source, index)
        arguments = self.arguments(call.arguments, source, index)
        if call.opaque is None:
            self.asked[call.tool_call_id] = (name, None)
            return {"functionCall": {"name": name, "args": arguments}}
        rest = self.beside(call.opaque, source, index)
        inner = rest.pop("functionCall", None)
        inner = inner if isinstance(inner, dict) else {}
        given = inner.get("id")
        self.asked[call.tool_call_id] = (name, given if isinstance(given, str) and given else None)
        return {"functionCall": inner | {"name": name, "args": arguments}} | rest

    def arguments(self, text: str, source: int, index: int) -> dict[str, Any]:
        """The object that the text spells; text that spells none goes under one key, because the call's result needs its call."""
        found = _object(text) if text and not text.isspace() else {}
        if found is None:
            self.losses.append(WireLoss("arguments", "no_object", source, index))
            found = {RAW_ARGUMENTS_KEY: text}
        sent: dict[str, Any] = self.value(found, source, index)
        return sent

    def name(self, name: str, source: int, index: int) -> str:
        """The name, or one of the form that is taken: from an import, or made up by a model."""
        if name in self.known:
            return name
        if self.named(name):
            self.known.add(name)
            return name
        self.losses.append(WireLoss("tool_name", "not_taken", source, index))
        fitted = _UNNAMEABLE.sub("_", name) or "unnamed"
        return (fitted if fitted[0].isalpha() or fitted[0] == "_" else f"_{fitted}")[:64]

    def media(self, media: Media, source: int, index: int) -> dict[str, Any]:
        """Bytes inline, a URL as `fileData`; a blob that is not among `blobs` (erased, or not loaded) is named instead."""
        if media.blob is not None:
            data = self.blobs.get(media.blob.digest)
            if data is not None:
                return {"inlineData": {"mimeType": self.text(media.blob.media_type, source, index), "data": b64encode(data).decode()}}
            self.losses.append(WireLoss(media.kind, "blob_missing", source, index))
            facts = [media.filename] if media.filename else []
            facts += [media.blob.media_type, f"{media.blob.byte_length} bytes"]
            return {"text": self.text(f"[{media.kind} not shown: {', '.join(facts)}]", source, index)}
        url = self.text(media.url or "", source, index)
        inline = _DATA_URL.fullmatch(url)
        return {"fileData": {"fileUri": url}} if inline is None else {"inlineData": {"mimeType": inline[1], "data": inline[2]}}

    def result(self, message: NeutralMessage, source: int, at: str, shape: list[tuple[str, int]]) -> dict[str, Any]:
        """The answer to a call. Texts are joined by line breaks and stay text, whatever they spell; media stand beside them.

        `at` is the pointer of the part inside its content; `shape` gets the pointer of each neutral part that was sent.
        """
        key = "error" if message.is_error else "output"
        texts: list[str] = []
        media: list[dict[str, Any]] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, Text):
                texts.append(self.text(part.text, source, index))
            else:
                sent = self.part(part, source, index)
                if sent is None:
                    continue
                if "text" not in sent:
                    shape.append((f"{at}/functionResponse/parts/{len(media)}", index))
                    media.append(sent)
                    continue
                texts.append(sent["text"])
            shape.append((f"{at}/functionResponse/response/{key}", index))
        asked = self.asked.get(message.tool_call_id or "") or (self.name(message.name or "", source, 0), None)
        sent = answered(asked, {key: "\n".join(texts)})
        if media:
            sent["functionResponse"]["parts"] = media
        return sent


def answered(asked: Asked, response: dict[str, Any]) -> dict[str, Any]:
    """The part that answers a call."""
    name, given = asked
    if given is None:
        return {"functionResponse": {"name": name, "response": response}}
    return {"functionResponse": {"id": given, "name": name, "response": response}}


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text spells, numbers as spelled; of a repeated key the last. None where it spells none."""
    try:
        found = orjson.loads(text)
        if type(found) is dict and _is_flat(found):
            return found
    except ValueError:  # lone surrogates, or no JSON
        pass
    try:
        found = lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson as error:
        if error.code != "duplicate-key":
            return None
        found = lossless.read(text)
    return found if isinstance(found, dict) else None


def _is_flat(value: dict[str, Any]) -> bool:
    """Whether it holds nothing that a fast reader may spell anew (other numbers than small integers), and nothing nested."""
    for item in value.values():
        kind = type(item)
        if kind is not str and kind is not bool and not (kind is int and 0 < item < _INTEGERS_UP_TO):
            return False
    return True
