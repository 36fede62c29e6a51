"""What Gemini's endpoint remembers of its own answers: the signatures that it made, and on which part, of which model, for which key.

A signature goes back on exactly the part that it arrived on (wire-format notes 0.3, 5.2 and 5.3): parts are not merged with a signed one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from secrets import token_bytes
from typing import Any

from tests.fakes.gemini_proto import Breach, read
from tests.fakes.gemini_turns import STAND_INS


@dataclass(frozen=True, slots=True)
class Minted:
    """What a signature is bound to. `content` is what the part says, see `content_of`."""

    model: str
    key: str
    content: str


def content_of(part: dict[str, Any]) -> str:
    """What a part says, by which it is known again: a call by its name and arguments, text by its letters."""
    call = part.get("functionCall")
    if call is not None:
        return json.dumps(["functionCall", call.get("name"), call.get("args") or {}], sort_keys=True)
    return json.dumps(["text", part.get("text"), bool(part.get("thought"))])


class Book:
    """One endpoint's memory, by signature."""

    def __init__(self) -> None:
        self.minted: dict[bytes, Minted] = {}

    def sign(self, part: dict[str, Any], model: str, key: str) -> bytes:
        """A fresh signature for a part that is about to be sent."""
        signature = b"\x12\xfd\x01\n" + token_bytes(90)
        self.minted[signature] = Minted(model, key, content_of(part))
        return signature

    def remember(self, told: list[Any], model: str, key: str) -> None:
        """Takes down an answer that was recorded: each signature that it tells is good."""
        for response in told:
            for candidate in response.get("candidates") or () if isinstance(response, dict) else ():
                for part in read(candidate.get("content") or {}, "Content")[0].get("parts", ()):
                    if "thoughtSignature" in part:
                        self.minted[part["thoughtSignature"]] = Minted(model, key, content_of(part))

    def breaches(self, contents: list[dict[str, Any]], model: str, key: str) -> Iterator[Breach]:
        """What is wrong with the signatures of a conversation in canonical form, in the light of what was answered before."""
        for content in contents:
            for part in content.get("parts", ()):
                signature = part.get("thoughtSignature")
                stands_in = signature in STAND_INS and "functionCall" in part
                if signature and not stands_in and self.minted.get(signature) != Minted(model, key, content_of(part)):
                    yield Breach("Thought signature is not valid.")
