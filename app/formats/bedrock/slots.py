"""One content block of an answer as it streams: what of it becomes a part, and what the provider wants back with that part.

A block that we model becomes text, reasoning or a call; what came with it (a signature, redacted thinking, citations) is kept as the
whole block, spelled as it will be sent back. Calls that the provider runs itself, their results and pictures are blocks of their own.
"""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any, Literal

from app.entries import lossless
from app.entries.deltas import Delta, OpaqueBlock, PartBlock
from app.formats.bedrock.rules import DIALECT, INVALID_INPUT_KEY

Kind = Literal["text", "reasoning", "call", "server", "result", "image"]


@dataclass(slots=True)
class Slot:
    """A block. `part` is -1 until something of it is said. `pieces`: its text; `given`: redacted pieces, citations, or pieces of a result."""

    kind: Kind
    part: int = -1
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    left: bool = True

    @property
    def owed(self) -> bool:
        """Whether something of it is still to be said when it ends."""
        return not self.left and self.kind != "call" and (self.kind in ("server", "result", "image") or bool(self.signature or self.given))

    def leave(self, producer: str) -> Delta:
        """What the provider gets back of it."""
        self.left = True
        text = "".join(self.pieces)
        match self.kind:
            case "reasoning":
                said: dict[str, Any] = {"reasoningText": {"text": text, "signature": "".join(self.signature)}}
                if self.given:
                    said = {"redactedContent": _joined(self.given)}
                return PartBlock(self.part, lossless.dumps({"reasoningContent": said}), producer)
            case "text":
                block = {"citationsContent": {"content": [{"text": text}], "citations": self.given}}
                return PartBlock(self.part, lossless.dumps(block), producer)
            case "server":
                block_text = f'{{"toolUse":{lossless.dumps(self.start)[:-1]},"input":{_object(text)}}}}}'
                return OpaqueBlock(self.part, DIALECT, producer, block_text, str(self.start.get("name", ""))[:200])
            case "result":
                block = {"toolResult": {**self.start, "content": self.given}}
                return OpaqueBlock(self.part, DIALECT, producer, lossless.dumps(block), str(self.start.get("type", ""))[:200])
            case _:
                return OpaqueBlock(self.part, DIALECT, producer, lossless.dumps({"image": self.start}), "image")


def _object(text: str) -> str:
    """The input of a call as it streamed, where it is an object; no text at all stands for an empty one."""
    if not text.strip():
        return "{}"
    try:
        return text if isinstance(json.loads(text), dict) else lossless.dumps({INVALID_INPUT_KEY: text})
    except (ValueError, RecursionError):
        return lossless.dumps({INVALID_INPUT_KEY: text})


def _joined(pieces: list[str]) -> str:
    """One piece stays as received; of several, which no provider has sent yet, the bytes are put together."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(b64decode(piece) for piece in pieces)).decode()
    except ValueError:
        return "".join(pieces)
