"""The fakes are no stricter than the providers: what these accepted, and then accepted as its continuation, passes here too."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fakes.gemini import KEY as GEMINI_KEY
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai_chat_rules import breaches
from tests.fakes.openai_responses import FakeOpenAIResponses
from tests.fakes.server_sent import documents

CHAT = re.compile(r"https://api\.openai\.com/v1/chat/completions")
RESPONSES = re.compile(r"https://api\.openai\.com/v1/responses")
GEMINI = re.compile(r"https://[a-z]+\.googleapis\.com/.*/models/([^:]+):(?:streamG|g)enerateContent.*")


def exchanges(shared: Path, place: re.Pattern[str]) -> Iterator[list[dict[str, Any]]]:
    """Of each recorded chain the exchanges with that place that went well."""
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        found = [one for one in json.loads(path.read_text("utf-8"))["interactions"] if place.fullmatch(one["uri"]) and one["status"] == 200]
        if found:
            yield found


def told(answer: Any) -> list[Any]:
    """The documents of a recorded answer: its events, the items of its array, or itself."""
    if isinstance(answer, str):
        return documents(answer.encode())
    return answer if isinstance(answer, list) else [answer]


def test_what_openai_accepted_on_chat_is_accepted(shared: Path):
    bodies = [exchange["request"] for chain in exchanges(shared, CHAT) for exchange in chain]
    assert [breaches(body) for body in bodies] == [[]] * len(bodies)
    assert len(bodies) > 12


def test_what_openai_accepted_is_accepted_and_so_is_what_went_on_from_it(shared: Path):
    judged = 0
    for chain in exchanges(shared, RESPONSES):
        fake = FakeOpenAIResponses()
        for exchange in chain:
            assert fake.judge(exchange["request"]) == []
            fake.book.remember(told(exchange["response"]), exchange["request"], "org-fake")
            judged += 1
    assert judged > 25


def test_what_google_accepted_is_accepted_and_so_is_what_went_on_from_it(shared: Path):
    judged = signed = 0
    for chain in exchanges(shared, GEMINI):
        fake = FakeGemini()
        for exchange in chain:
            place = GEMINI.fullmatch(exchange["uri"])
            assert place is not None
            assert fake.judge(exchange["request"], place[1]) == []
            fake.book.remember(told(exchange["response"]), place[1], GEMINI_KEY)
            judged += 1
        signed += len(fake.book.minted)
    assert judged > 25
    assert signed > 15
