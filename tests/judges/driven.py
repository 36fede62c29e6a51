"""Sessions that were imported long and are driven on, and what has to hold of each call that they make on the way."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.models.tokens import Counter
from tests.judges.judging import objections
from tests.judges.targets import MODELS, target_of
from tests.services.world import World

WINDOWS = {"200k": (200_000, 8_192), "32k": (32_768, 4_096), "8k": (8_192, 1_024)}
"""Window and the most that an answer takes, in tokens."""

TOOLS = [{"name": "look", "description": "Looks something up.", "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}}]
CONTEXT = [{"renderer": "system", "text": "You help with code."}, {"renderer": "history"}]
SCRIPT = [
    step
    for number in range(60)
    for step in (
        {"text": f"Let me look, {number}.", "tool_calls": [{"id": f"call_look_{number}", "name": "look", "arguments": f'{{"at": {number}}}'}]},
        {"text": f"That is what I found, {number}. " + "It is as it was. " * 12},
    )
]

SUMMARIES = ("structured", "plain")
WORDS_OF_SUMMARY = "The user and the assistant worked on the project, read its files and changed some of them."

_count = Counter().count
_OPAQUE = frozenset({"signature", "encrypted_content", "thoughtSignature", "data", "bytes", "redactedContent"})
_DATA_URL = re.compile("data:[^,]*;base64,")


def summary(form: str, first_seq: int) -> dict[str, Any]:
    """A step of `compaction_script`: facts that cite the line's first message, which stays in the range of every later summary, or prose."""
    if form == "plain":
        return {"text": f"{WORDS_OF_SUMMARY} " * 3}
    facts = {
        "summary": [{"text": WORDS_OF_SUMMARY, "cites": [first_seq]}],
        "objective": [{"text": "To make the project better.", "cites": [first_seq]}],
        "decisions": [{"text": "Small steps, each with a test.", "cites": [first_seq]}],
    }
    return {"text": json.dumps(facts)}


def texts_of(value: Any, key: str = "") -> Iterator[str]:
    """Every text of a body but sealed blocks and bytes of media."""
    if isinstance(value, str):
        if key not in _OPAQUE and not _DATA_URL.match(value):
            yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts_of(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, key)


def weight(body: Any) -> int:
    """The tokens of a body's texts, counted by nothing of the service's budget but the encoding."""
    return sum(map(_count, texts_of(body)))


@dataclass
class Drive:
    """One session on its way. `seen`: ids of calls that were looked at; `rounds`: how often results were given."""

    world: World
    session: str
    dialect: str
    model: str = ""
    seen: set[str] = field(default_factory=set)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.model = self.model or MODELS[self.dialect][0]

    async def switch(self, agent: str) -> None:
        await self.world.call("PATCH", f"/sessions/{self.session}", 200, json={"agent": agent})

    async def bytes(self, view: str = "transcript") -> bytes:
        """The session as it is stored, an entry a line."""
        path = f"/sessions/{self.session}/raw"
        return (await self.world.call("GET", path, 200, params={"view": view}, headers={"accept": "application/x-ndjson"})).content

    async def turn(self, text: str, result: str = "found it") -> Any:
        """A turn with its tool calls answered until it ends; all that has to hold of it holds. Gives the turn."""
        before = {view: await self.bytes(view) for view in ("transcript", "ledger")}
        turn = await self.world.turn(self.session, text)
        while turn["status"] == "requires_action":
            self.rounds += 1
            results = [{"tool_call_id": each["tool_call_id"], "content": f"{self.rounds}: {result}"} for each in turn["pending"]]
            turn = await self.world.results(self.session, turn["id"], results)
        for view, was in before.items():
            assert (await self.bytes(view)).startswith(was), f"{view}: what was said stays as it was, byte by byte"
        await self.checked()
        return turn

    async def checked(self) -> list[Any]:
        """The calls that were not looked at yet, each derived again to the byte, within its limits, valid, and whole."""
        page = (await self.world.call("GET", f"/sessions/{self.session}/calls", 200, params={"limit": 1_000})).json()
        assert not page["has_more"]
        entries = await self.messages()
        found = []
        for call in page["data"]:
            if call["id"] in self.seen:
                continue
            self.seen.add(call["id"])
            if not call["attempts"]:
                continue
            sent = (await self.world.call("GET", f"/sessions/{self.session}/calls/{call['id']}/model-input", 200)).json()
            self.holds(call, sent)
            if call["purpose"] == "main":
                self.whole(sent, entries)
            found.append((call, sent))
        return found

    async def messages(self) -> list[int]:
        """The seqs of all messages."""
        lines = (await self.bytes("ledger")).splitlines()
        return [entry["seq"] for entry in map(json.loads, lines) if entry["message_index"] is not None]

    def holds(self, call: Any, sent: Any) -> None:
        """What was sent is derived again, is within its limit by the budget and by the text, and nobody objects to it."""
        assert sent["verified"] is True, (call["purpose"], sent.get("reason"), sent.get("mismatch"))
        assert sent["digest"] == call["digest"]
        limits = sent["budget"]
        assert limits["total"] * (1 + limits["error_band"]) <= limits["input_limit"], (call["purpose"], limits)
        assert weight(sent["body"]) <= limits["input_limit"], (call["purpose"], weight(sent["body"]), limits)
        assert sent["violations"] == []
        target = target_of(self.dialect, self.model)
        assert objections(self.dialect, json.dumps(sent["body"]).encode(), target) == [], (call["purpose"], self.dialect)

    def whole(self, sent: Any, entries: list[int]) -> None:
        """What is covered and what has a row are all that was said until then, and nothing is both. What is sent has a place, the rest a reason."""
        decisions = sent["manifest"]["decisions"]
        through = [row["source"]["through_seq"] for row in decisions if row["source"]["kind"] == "checkpoint" and "through_seq" in row["source"]]
        said = [seq for seq in entries if seq <= sent["head_seq"]]
        covered = {seq for seq in said if seq <= max(through, default=0)}
        rows = {row["source"]["seq"]: row for row in decisions if row["source"]["kind"] == "entry"}
        assert covered & rows.keys() == set()
        assert sorted(covered | rows.keys()) == said
        assert len(through) <= 1
        sources = sent["source_map"]["sources"]
        placed = {source["seq"] for source in sources if source["type"] in ("history", "rendered") and "seq" in source}
        assert placed == {seq for seq, row in rows.items() if row["disposition"] != "excluded"}
        assert all(row["reason"] for row in rows.values())
        assert [source["type"] for source in sources].count("compaction") == len(through)
