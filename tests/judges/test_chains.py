"""Recorded chains: what our ledger makes of a request and its recorded answer is the next recorded request, but for what is explained."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.judges.chain_kinds import KINDS, needed
from tests.judges.chains import Link, extends, links
from tests.judges.recorded import exchanges

EXPLAINED = {
    "anthropic-messages": 23,
    "gemini": 18,
    "openai-responses": 16,
    "openai-chat": 8,
    "groq": 3,
    "mistral": 2,
    "openrouter": 1,
}
"""Links that match once the differences of their kinds are out of the way: none matches to the byte, since each client has habits of its own."""


@pytest.fixture(scope="module")
def found(shared: Path) -> list[Link]:
    return list(links(shared))


@pytest.mark.req("X-20", "X-23", "X-24")
def test_every_chain_matches_but_for_differences_of_a_kind_that_has_a_reason(found: list[Link]):
    matched: Counter[tuple[str, str]] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    for link in found:
        wanted = needed(link.recorded, link.compiled, KINDS[link.wire])
        matched[link.wire, "not at all" if wanted is None else "explained" if wanted else "exactly"] += 1
        kinds.update([(link.wire, kind) for kind in wanted or ()])
    print(*[f"{wire}: {count} {how}" for (wire, how), count in sorted(matched.items())], sep="\n")
    print(*[f"  {wire}: {kind} ({count})" for (wire, kind), count in sorted(kinds.items())], sep="\n")
    assert matched == {(wire, "explained"): count for wire, count in EXPLAINED.items()}
    unneeded = [(wire, kind.name) for wire, known in KINDS.items() for kind in known if not kinds[wire, kind.name]]
    assert not unneeded, "a kind that explains nothing hides something"


def test_links_that_are_not_judged_are_known(shared: Path, found: list[Link]):
    """Two exchanges of one file, one extending the other, at an endpoint that has no importer or no preset here, or with a failed answer."""
    files: dict[str, list[Any]] = {}
    for each in exchanges(shared):
        files.setdefault(each.name, []).append(each)
    extending = {
        (each.name, each.number, each.speaks or each.host)
        for group in files.values()
        for place, each in enumerate(group)
        if any(extends(each, earlier) for earlier in group[:place])
    }
    judged = {tuple(link.name.rsplit(" ", 3)[0::3]) for link in found}
    left = Counter(speaks for name, number, speaks in extending if (name, str(number)) not in judged)
    assert left == {
        "bedrock-converse": 1,  # no importer of Converse requests
        "openai-chat": 1,  # Groq's answer ended with an error: a failed answer is no part of what is sent next
        "bedrock-runtime.eu-central-1.amazonaws.com": 1,  # InvokeModel, Cohere, DeepSeek's Responses, Snowflake and Z.ai have no preset
        "api.cohere.com": 1,
        "api.deepseek.com": 1,
        "myorg-myaccount.snowflakecomputing.com": 1,
        "api.z.ai": 1,
    }


def test_a_body_that_says_something_else_matches_nothing(found: list[Link]):
    """The kinds make alike what they name and nothing else: another word anywhere in the conversation shows."""
    for link in found:
        for changed in other_words(link.compiled):
            assert needed(link.recorded, changed, KINDS[link.wire]) is None, link.name


def other_words(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The body without its last message, and with another word in its last one."""
    key = next(key for key in ("messages", "contents", "input") if key in body)
    *rest, last = body[key]
    said: dict[str, Any] = {**last}
    for word in ("content", "output", "parts"):
        if word in said:
            said[word] = [{"text": "other"}] if isinstance(said[word], list) else "other"
    return [{**body, key: rest}, {**body, key: [*rest, said]}]
