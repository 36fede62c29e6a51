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
_GEMINI = re.compile(r".*/models/([^/:]+):(generateContent|streamGenerateContent)")
_CONVERSE = re.compile(r"/model/([^/]+)/(converse|converse-stream)")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `dialect` is None for an endpoint that speaks none of ours under its vendor's own name."""

    name: str
    number: int
    host: str
    dialect: str | None
    model: str
    request: dict[str, Any]
    response: Any

    @property
    def streamed_request(self) -> dict[str, Any]:
        """The request as one for a stream, which is what we send: where the body says so, it says so."""
        says = self.dialect in ("openai-chat", "openai-responses", "anthropic-messages")
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
    return Exchange(name, number, parts.netloc, dialect, model, each["request"], each["response"])
