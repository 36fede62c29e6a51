"""Against being too strict: what providers accepted is accepted here, each body by itself and each chain with the book of its answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.fakes import anthropic_rules, bedrock_rules
from tests.fakes.anthropic_items import conversation
from tests.fakes.anthropic_messages import KEY, FakeAnthropic
from tests.fakes.anthropic_rules import OLD
from tests.fakes.anthropic_stream import read, with_objects
from tests.fakes.claude_models import claude

CONVERSE = re.compile(r"/model/([^/]+)/(converse|converse-stream)")


def exchanges(shared: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        yield path.name, [each for each in json.loads(path.read_text())["interactions"] if each["status"] == 200]


def test_messages_that_anthropic_accepted_are_accepted(shared: Path):
    judged = 0
    for name, interactions in exchanges(shared):
        fake = FakeAnthropic()
        for each in interactions:
            if urlsplit(each["uri"])._replace(query="", fragment="").geturl() != "https://api.anthropic.com/v1/messages":
                continue
            body, told = each["request"], each["response"]
            # The headers were not recorded: the older version takes what each of the two takes, and any beta may have been asked for.
            assert [breach.message for breach in anthropic_rules.breaches(body, OLD, None)] == [], name
            thinks = anthropic_rules.asked(body).thinks(claude(body["model"]))
            assert fake.book.misfits(conversation(body, KEY), thinks) == [], name
            fake.remember(body, with_objects(read(told.encode()) if isinstance(told, str) else told)["content"])
            judged += 1
    assert judged > 30


def test_conversations_that_bedrock_accepted_are_accepted(shared: Path):
    judged = 0
    for name, interactions in exchanges(shared):
        for each in interactions:
            if found := CONVERSE.fullmatch(urlsplit(each["uri"]).path):
                assert [breach.message for breach in bedrock_rules.breaches(each["request"], unquote(found[1]))] == [], name
                judged += 1
    assert judged >= 3
