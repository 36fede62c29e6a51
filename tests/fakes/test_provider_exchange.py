"""Against being too strict: what providers accepted is accepted here, each body by itself and each chain with the book of its answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from anthropic import AsyncAnthropic

from tests.fakes.anthropic_messages import KEY, FakeAnthropic, fake_anthropic
from tests.fakes.anthropic_rules import OLD
from tests.fakes.anthropic_stream import read, with_objects
from tests.fakes.bedrock_rules import breaches

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
            found, _ = fake.judge(body, version=OLD, betas=None)
            assert [breach.message for breach in found] == [], name
            fake.remember(body, with_objects(read(told.encode()) if isinstance(told, str) else told)["content"])
            judged += 1
    assert judged > 30


def test_conversations_that_bedrock_accepted_are_accepted(shared: Path):
    judged = 0
    for name, interactions in exchanges(shared):
        for each in interactions:
            if found := CONVERSE.fullmatch(urlsplit(each["uri"]).path):
                assert [breach.message for breach in breaches(each["request"], unquote(found[1]))] == [], name
                judged += 1
    assert judged >= 3


async def test_recorded_streams_tell_the_official_client_what_they_tell_the_fake(shared: Path):
    told = 0
    for path in sorted((shared / "corpus" / "streams" / "anthropic").glob("*.sse.txt")):
        async with (
            fake_anthropic([path.read_bytes()]) as fake,
            AsyncAnthropic(api_key=KEY, base_url=fake.url) as client,
            client.beta.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream,
        ):
            message = await stream.get_final_message()
        own = with_objects(read(path.read_bytes()))
        if message.stop_reason == "max_tokens" and message.content[-1].type == "tool_use":
            message.content.pop()  # the client guesses at arguments that were cut; the fake does not
            own["content"].pop()
        assert [facts(block.model_dump()) for block in message.content] == [facts(block) for block in own["content"]], path.name
        told += 1
    assert told > 20


def facts(block: dict[str, Any]) -> dict[str, Any]:
    return {key: block[key] for key in ("type", "text", "thinking", "signature", "data", "id", "name", "input") if block.get(key) is not None}
