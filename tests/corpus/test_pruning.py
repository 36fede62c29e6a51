"""What another client pruned of a session, and what this service prunes of it: the comparison, and why they differ.

The file is one of Claude Code in which the client "microcompacted": it names the calls whose results it left out of later requests. Its words:
60,888 tokens of tool output, 21,091 saved, 42 calls named, so that 39,797 tokens of the newest output were kept. The explanation of what is
asserted here stands in `docs/long-sessions.md`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.context.budget import budget
from app.context.compile import compile_context
from app.context.pruning import decide
from app.context.staleness import results_of
from app.entries.parts import Text, ToolCall
from app.formats.registry import IMPORTERS
from app.models.tokens import Counter
from tests.strategies import Ledger, agent

FILE = "corpus/transcripts/claude_code/entire-v2.1.14-microcompact.jsonl"

TOOLS = [
    {"name": "Read", "results": {"target": "file_path"}},
    {"name": "Write", "results": {"target": "file_path", "effect": "write"}},
    {"name": "Edit", "results": {"target": "file_path", "effect": "write"}},
    {"name": "Bash"},
    {"name": "Grep"},
]
count = Counter().count


OLD = ("shortened", "old")
ONLY_OURS = {
    "toolu_01W9zdNqaazhNHe9YR62WAqz": OLD,  # Bash: git show --stat
    "toolu_013ZSbtg8wUvx2Fv2twW5W79": OLD,  # this one and all below: Read, a hundred lines of a file
    "toolu_01PMFQbMZcTAHiWb4NGAbZgC": OLD,
    "toolu_01T28rJMbpbkKyPoSemHtxC6": OLD,
    "toolu_01XEwUPpnrZkrtvKdHsvCFgu": OLD,
    "toolu_013ahpvZZageunroDhS7Jxi4": OLD,
    "toolu_019r2LWBSQSHafW46CM5KigW": OLD,
}
"""What our marks take before the client's full compaction: whatever weighs 1,000 tokens or more and is older than the newest 6,000."""

READ_BEFORE_EDITS = "toolu_01Qs6kw2AocEWY1FYDY5CjCg"


@dataclass(frozen=True, slots=True)
class Compared:
    """By the ids of calls: whose results the input holds, and what we take of them: form and why."""

    held: frozenset[str]
    ours: dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def raw(shared: Path) -> bytes:
    return (shared / FILE).read_bytes()


def boundaries(raw: bytes, subtype: str) -> Iterator[tuple[int, Any]]:
    """The lines, from 1, on which the client says that it shortened its context, and what it says."""
    for number, line in enumerate(raw.decode().splitlines(), 1):
        record = json.loads(line)
        if record.get("subtype") == subtype:
            yield number, record.get("microcompactMetadata") or record["compactMetadata"]


def before_line(raw: bytes, line: int) -> tuple[Ledger, int]:
    """The session as it stood at that line: each input of a user begins a turn, and the last of them runs."""
    (session,) = IMPORTERS["claude-code"]([raw])
    ledger, turn = Ledger(), 0
    for entry in session.entries:
        places = json.loads(entry.attributes or "{}")["claude_code"]["lines"]
        if int(places[0].removeprefix("line ")) >= line:
            break
        turn += entry.kind == "user_message" and not entry.hidden
        assert not isinstance(entry.body, str)
        message = ledger.add(entry.kind, entry.body, turn=turn)
        ledger.messages[-1] = message._replace(entry=message.entry._replace(tokens=weight(entry.body)))
    return ledger, turn


def weight(body: Any) -> int:
    texts = [part.text for part in body.parts if isinstance(part, Text)]
    asked = [part.name + part.arguments for part in body.parts if isinstance(part, ToolCall)]
    return sum(map(count, texts + asked))


def compared(raw: bytes, line: int, total: int, protect: int) -> Compared:
    """Our decision at that line, for a model of 200,000 tokens and a request as large as the client says that its own was."""
    ledger, turn = before_line(raw, line)
    ours = agent(tools=TOOLS, pruning={"trigger_fraction": 0.65, "protect_recent_tokens": protect})
    found = compile_context(ledger.sources(ours, running_turn=turn), count)
    plain = budget(found.sources.target, ours, found.measured)
    pressed = replace(plain, input_limit=176_000, prune_from=114_400, total=total, verdict="prune")
    pruned = decide(found, pressed, count)
    ids = {one.seq: one.call.tool_call_id for one in results_of(found)}
    return Compared(frozenset(ids.values()), {} if pruned is None else {ids[one.seq]: (one.form, one.why) for one in pruned.results})


def tokens_of_last_request(raw: bytes, line: int) -> int:
    """What the provider reported of the last request before that line."""
    records = [json.loads(text) for text in raw.decode().splitlines()[: line - 1]]
    usage = [record["message"]["usage"] for record in records if record.get("type") == "assistant"][-1]
    return int(usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"])


@pytest.mark.req("X-58")
def test_at_the_clients_own_pruning_both_keep_everything_that_the_file_holds(raw: bytes):
    """The client named 42 calls. All of them were made before the file begins, so that theirs is out of our reach; of the 11 results that
    the file holds by then, neither takes any: to the client they are among the newest 39,797 tokens, to us they are of the turn that runs."""
    ((line, said),) = boundaries(raw, "microcompact_boundary")
    theirs = frozenset(said["compactedToolIds"])
    assert (len(theirs), said["preTokens"], said["tokensSaved"]) == (42, 60_888, 21_091)
    total = tokens_of_last_request(raw, line)
    assert total > 2 * said["preTokens"], "the client's count is of tool output, not of the request"
    for protect in (said["preTokens"] - said["tokensSaved"], 6_000):
        found = compared(raw, line, total, protect)
        assert len(found.held) == 11
        assert theirs & found.held == frozenset(), "both could choose none of theirs"
        assert theirs - found.held == theirs, "only theirs: all 42"
        assert found.ours == {}, "only ours: none"


@pytest.mark.req("X-58", "S0-32")
def test_until_the_clients_compaction_only_our_smaller_protection_prunes(raw: bytes):
    """Later the client prunes no more: less than its 39,797 tokens of tool output are new, and at 155,068 tokens it has all of it summarised.
    With the same protection we take nothing either; with our own of 6,000 tokens the large old results, cut in the middle."""
    ((line, said),) = boundaries(raw, "compact_boundary")
    assert said["preTokens"] == 155_068
    like_theirs, own = (compared(raw, line, said["preTokens"], protect) for protect in (39_797, 6_000))
    assert len(own.held) == 46
    assert (like_theirs.ours, own.ours) == ({}, ONLY_OURS)


@pytest.mark.req("X-58")
def test_what_was_changed_after_it_was_read_is_cleared_first(raw: bytes):
    """A file that the client read and then edited three times: to us the reading is out of date. The client has no such rule."""
    ours = compared(raw, 10**6, 155_068, 6_000).ours
    assert ours[READ_BEFORE_EDITS] == ("cleared", "superseded")
    assert next(why for _, why in ours.values()) == "superseded"
    named = [one for _, said in boundaries(raw, "microcompact_boundary") for one in said["compactedToolIds"]]
    assert READ_BEFORE_EDITS not in named
