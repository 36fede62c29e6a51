"""The fakes are no stricter than the providers: what these accepted, and then accepted as its continuation, passes here too."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fakes.gemini_book import Book as GeminiBook
from tests.fakes.gemini_book import Minted, content_of
from tests.fakes.gemini_proto import read
from tests.fakes.gemini_rules import breaches as gemini_breaches
from tests.fakes.openai_responses_book import Book as ResponsesBook
from tests.fakes.openai_responses_rules import breaches as responses_breaches

RESPONSES = re.compile(r"https://api\.openai\.com/v1/responses")
GEMINI = re.compile(r"https://[a-z]+\.googleapis\.com/.*/models/([^:]+):(?:streamG|g)enerateContent.*")


def exchanges(shared: Path, place: re.Pattern[str]) -> Iterator[list[dict[str, Any]]]:
    """Of each recorded chain the exchanges with that place that went well."""
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        found = [one for one in json.loads(path.read_text("utf-8"))["interactions"] if place.fullmatch(one["uri"]) and one["status"] == 200]
        if found:
            yield found


def documents(answer: Any) -> list[Any]:
    """The documents of a recorded answer: its events, the items of its array, or itself."""
    if not isinstance(answer, str):
        return answer if isinstance(answer, list) else [answer]
    return [json.loads(line.removeprefix("data: ")) for line in answer.splitlines() if line.startswith("data: ")]


def test_responses_that_openai_accepted(shared: Path):
    judged = 0
    for chain in exchanges(shared, RESPONSES):
        book = ResponsesBook()
        for exchange in chain:
            body = exchange["request"]
            assert responses_breaches(body) == []
            assert list(book.breaches(body, "org")) == []
            *told, last = documents(exchange["response"])
            response = last.get("response", last)
            closed = [event["item"] for event in told if event["type"] == "response.output_item.done"] or response["output"]
            output = [{"encrypted_content": "none", **item} if item["type"] == "reasoning" else item for item in closed]
            book.record({**response, "output": output, "model": body["model"]}, "org", book.items(body, "org"))
            judged += 1
    assert judged > 25


def test_contents_that_google_accepted(shared: Path):
    judged = signed = 0
    for chain in exchanges(shared, GEMINI):
        book = GeminiBook()
        for exchange in chain:
            place = GEMINI.fullmatch(exchange["uri"])
            assert place is not None
            model, body = place[1], exchange["request"]
            assert gemini_breaches(body, model) == []
            assert list(book.breaches(read(body, "GenerateContentRequest")[0]["contents"], model, "key")) == []
            for response in documents(exchange["response"]):
                content, faults = read(response["candidates"][0].get("content", {}), "Content")
                assert faults == []
                for part in content.get("parts", ()):
                    if "thoughtSignature" in part:
                        book.minted[part["thoughtSignature"]] = Minted(model, "key", content_of(part))
                        signed += 1
            judged += 1
    assert judged > 25
    assert signed > 15
