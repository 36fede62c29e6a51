"""Parts of the neutral list as content blocks: text, media, calls, results, and what the provider gets back (wire-format notes 6.1, 6.2)."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from app.context.passes.fitting import stand_in
from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.bedrock.media import block_of, read_source
from app.formats.bedrock.rules import BLANK, ERROR_MARK, FILES_PER_MESSAGE_MAX, IMAGES_PER_MESSAGE_MAX, INVALID_INPUT_KEY
from app.formats.protocols import WireLoss
from app.formats.writing import Writing
from app.models.wire_rules import WireRules

Block = dict[str, Any]

_ODD_NUMBER = re.compile(r"\d[.eE]|\d{16}|[:,\[\s]-0")
"""What the fast reader might spell anew; in a text, as in a number, it only costs the time of the exact one."""

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_IN_ANSWERS = frozenset({"image", "document", "video", "audio"})
_MOST = {"image": IMAGES_PER_MESSAGE_MAX, "file": FILES_PER_MESSAGE_MAX}


class Blocks(Writing):
    """Makes blocks. `used`: names of the calls that were written, in order; `media`: how many images and files the wire message at hand
    has, empty where it has none."""

    __slots__ = ("blobs", "documents", "media", "named", "rules", "used")

    def __init__(self, rules: WireRules, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.rules = rules
        self.blobs = blobs
        self.named = re.compile(rules.name_pattern).fullmatch
        self.used: dict[str, None] = {}
        self.documents = 0
        self.media: dict[str, int] = {}

    def block(self, part: Part, source: int, index: int) -> Block | None:
        """The block of a part of user input or of an answer; None with a loss for what has no place here."""
        if type(part) is ToolCall:
            return self.call(part, source, index)
        match part:
            case Text(text, _, None):
                return self.text_block(text, source, index)
            case Media():
                return self.media_block(part, source, index)
            case Text(opaque=str(block)) | Reasoning(opaque=str(block)):
                return self.given(block, "reasoning" if isinstance(part, Reasoning) else "block", source, index)
            case Opaque():
                return self.given(part.block, "opaque", source, index)
            case _:
                self.losses.append(WireLoss("reasoning", "not_in_format", source, index))
                return None

    def text_block(self, text: str, source: int, index: int) -> Block:
        """A text; where there is nothing but blanks, and none may be sent, a point (6.2)."""
        if not self.rules.blank_texts and (not text or text.isspace()):
            self.losses.append(WireLoss("text", "blank_text", source, index))
            text = BLANK
        return {"text": self.text(text, source, index)}

    def given(self, block: str, what: str, source: int, index: int) -> Block | None:
        """A block as the provider gave it: keys in their order, numbers as spelled. What may not stand in an answer is left out."""
        try:
            found = lossless.loads(block)
        except lossless.InvalidJson:
            found = None
        if not isinstance(found, dict) or len(found) != 1 or not _NOT_IN_ANSWERS.isdisjoint(found):
            self.losses.append(WireLoss(what, "not_taken_back", source, index))
            return None
        blocks: Block = self.value(found, source, index)
        return blocks

    def media_block(self, media: Media, source: int, index: int) -> Block:
        """An image or a document with a neutral name (6.1), or a text that names what is not sent."""
        found = read_source(media, self.blobs)
        if not isinstance(found, str) and self.media.get(media.kind, 0) >= _MOST[media.kind]:
            found = "too_many"
        if isinstance(found, str):
            self.losses.append(WireLoss(media.kind, found, source, index))
            return {"text": self.text(stand_in(media), source, index)}
        self.media[media.kind] = self.media.get(media.kind, 0) + 1
        if media.kind == "file":
            self.documents += 1
            if media.filename:
                self.losses.append(WireLoss("filename", "neutral_name_sent", source, index))
        return block_of(media.kind, found, f"document-{self.documents}")

    def call(self, call: ToolCall, source: int, index: int) -> Block:
        """A call; its input is the object that the model wrote, numbers and key order as written."""
        name = call.name
        if not self.named(name):  # from an import, or made up by a model
            name = _UNNAMEABLE.sub("_", name)[:64] or "unnamed"
            self.losses.append(WireLoss("tool_name", "not_taken", source, index))
        self.used[name] = None
        tool_use = {"toolUseId": self.text(call.tool_call_id, source, index), "name": name, "input": self.arguments(call, source, index)}
        return {"toolUse": tool_use}

    def arguments(self, call: ToolCall, source: int, index: int) -> dict[str, Any]:
        found = _read(call.arguments)
        if not isinstance(found, dict):
            self.losses.append(WireLoss("arguments", "no_object", source, index))
            found = {INVALID_INPUT_KEY: call.arguments}
        arguments: dict[str, Any] = self.value(found, source, index)
        return arguments

    def result(self, tool_call_id: str, parts: tuple[Part, ...], failed: bool, source: int, places: list[int | None]) -> Block:
        """A result; `places` gets, for each block of its content, the part that it is of."""
        content: list[Block] = []
        if failed and not self.rules.result_status:
            content.append({"text": ERROR_MARK})
            places.append(None)
        for index, part in enumerate(parts):
            if isinstance(part, Text | Media):
                content.append(self.text_block(part.text, source, index) if isinstance(part, Text) else self.media_block(part, source, index))
                places.append(index)
            else:
                self.losses.append(WireLoss("opaque", "not_in_results", source, index))
        found: Block = {"toolUseId": self.text(tool_call_id, source), "content": content or [{"text": BLANK}]}
        if failed and self.rules.result_status:
            found["status"] = "error"
        return {"toolResult": found}


def _read(text: str) -> Any:
    """The value of argument text, numbers as spelled; None for what is no JSON. Of a key that comes twice the last counts."""
    if not _ODD_NUMBER.search(text):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass  # a lone surrogate, or no JSON
    try:
        return lossless.loads(text)
    except lossless.InvalidJson:
        try:  # JSON still, but with a key twice or nested too deep to be judged
            return lossless.read(text)
        except (ValueError, RecursionError):
            return None
