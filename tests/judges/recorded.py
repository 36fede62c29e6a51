"""Bodies that providers accepted and what they answered, out of recorded exchanges: whose endpoint, which model, which request."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

_HOSTS: Mapping[str, str] = MappingProxyType(
    {
        "api.openai.com/v1/chat/completions": "openai-chat",
        "api.openai.com/v1/responses": "openai-responses",
        "api.anthropic.com/v1/messages": "anthropic-messages",
    }
)
_SERVERS: Mapping[str, str] = MappingProxyType({"api.groq.com": "groq", "api.mistral.ai": "mistral", "openrouter.ai": "openrouter"})
"""Hosts that speak Chat under a preset of ours."""
_GEMINI = re.compile(r".*/models/([^/:]+):(generateContent|streamGenerateContent)")
_CONVERSE = re.compile(r"/model/([^/]+)/(converse|converse-stream)")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `dialect` is None for an endpoint that speaks none of ours under its vendor's own name.

    `preset`: the server's name where it speaks Chat in its own way.
    """

    name: str
    number: int
    host: str
    dialect: str | None
    model: str
    request: dict[str, Any]
    response: Any
    preset: str | None = None

    @property
    def speaks(self) -> str | None:
        return "openai-chat" if self.preset else self.dialect

    @property
    def streamed_request(self) -> dict[str, Any]:
        """The request as one for a stream, which is what we send: where the body says so, it says so."""
        says = self.speaks in ("openai-chat", "openai-responses", "anthropic-messages")
        return {**self.request, "stream": True} if says else self.request


def exchanges(shared: Path) -> Iterator[Exchange]:
    """Every exchange that ended well, in the order of the files."""
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        for number, each in enumerate(json.loads(path.read_text())["interactions"]):
            if each["status"] == 200:
                yield _exchange(path.name, number, each)


def _exchange(name: str, number: int, each: dict[str, Any]) -> Exchange:
    parts = urlsplit(each["uri"])
    dialect, model = _HOSTS.get(parts.netloc + parts.path), str(each["request"].get("model", ""))
    if found := _GEMINI.fullmatch(parts.path):
        dialect, model = "gemini", found[1]
    elif found := _CONVERSE.fullmatch(parts.path):
        dialect, model = "bedrock-converse", unquote(found[1])
    return Exchange(name, number, parts.netloc, dialect, model, each["request"], each["response"], _SERVERS.get(parts.netloc))
