"""What holds of a session after every step, asked over the public routes and compared with what was told."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from app.formats.registry import FORMATS
from tests.judges.judging import objections
from tests.judges.targets import target_of
from tests.services.long_sessions.providers import Voice
from tests.services.long_sessions.told import Told, words
from tests.services.world import World

_MARK = re.compile(r"[uar]\d+\.")
FIGURES = ("input", "output")


@dataclass
class Laws:
    """`fakes`: nobody may ever refuse a body. `calls`: those of all sessions, as they were first seen at their end."""

    world: World
    voice: Voice
    fakes: dict[str, Any]
    calls: dict[str, Any] = field(default_factory=dict)

    async def get(self, path: str, **query: Any) -> Any:
        return (await self.world.call("GET", path, 200, params=query)).json()

    async def all(self, told: Told, sampled: int) -> None:
        """Every law. `sampled` picks the older call that is derived again."""
        view = await self.get(f"/sessions/{told.id}")
        self.session(told, view)
        await self.transcript(told)
        await self.projection(told, view)
        await self.verified(told, view)
        await self.calls_of(told, sampled)
        await self.usage(told, view)
        assert {dialect: fake.refused for dialect, fake in self.fakes.items() if fake.refused} == {}

    def session(self, told: Told, view: Any) -> None:
        pending = told.pending
        assert (view["head_seq"], view["status"]) == (told.head, "idle" if pending is None else "pending")
        assert view["pending_turn"] == (None if pending is None else pending.id)
        assert (view["checkpoint"], view["running_turn"]) == (told.now.checkpoint, None)
        assert view["message_count"] == told.messages_ever
        held = {seq for piece in view["line"] for seq in range(piece["from_seq"], (piece["through_seq"] or told.head) + 1)}
        assert held == set(told.now.line)

    async def transcript(self, told: Told, at_seq: int | None = None) -> None:
        """Byte for byte what was said on the line, whatever stands for it in a window."""
        state = told.now if at_seq is None else told.states[at_seq]
        shown = await self.world.raw(told.id, **({} if at_seq is None else {"at_seq": at_seq}))
        assert shown == [told.entries[seq] for seq in told.messages(state, shown=True)]

    async def ledger(self, told: Told) -> None:
        assert await self.world.ledger(told.id) == [told.entries[seq] for seq in sorted(told.entries)]

    async def projection(self, told: Told, view: Any, at_seq: int | None = None, checkpoint: str | None = None) -> Any:
        """What is covered and what is decided on are the history of the line, apart; what is sent is valid, and no more than may be."""
        state = told.now if at_seq is None else told.states[at_seq]
        query = {name: value for name, value in (("at_seq", at_seq), ("checkpoint", checkpoint)) if value is not None}
        seen = await self.world.input(told.id, include="body,manifest,source_map,budget,cache", **query)
        if checkpoint is not None:
            chosen = {"none": None, "latest": told.latest(state)}.get(checkpoint, checkpoint)
            state = state.__class__(state.line, chosen, state.turn, state.dialect, state.note)
        covered, history = told.covered(state), told.messages(state)
        rows = seen["manifest"]["decisions"]
        decided = Counter(row["source"]["seq"] for row in rows if row["source"]["kind"] == "entry")
        assert set(decided.values()) <= {1}, "each message is decided once"
        assert covered.isdisjoint(decided)
        assert covered | set(decided) == set(history)
        self.sources(told, state.checkpoint, seen, rows)
        self.bounded(seen)
        assert seen["dialect"] == state.dialect
        body = json.dumps(seen["body"], ensure_ascii=False)
        whole = {row["source"]["seq"] for row in rows if row["source"]["kind"] == "entry" and row["disposition"] == "included"}
        marks = {mark(told, seq): seq for seq in covered | whole}
        assert all((seq in whole) == (word in body) for word, seq in marks.items() if word is not None), (
            "what is stood for is not sent, and the rest is"
        )
        if state.note is not None:
            assert f"Note {state.note}." in body
        if not seen["violations"]:
            assert FORMATS[seen["dialect"]].validate(seen["body"], target_of(seen["dialect"], seen["model"]).rules) == []
        return seen

    def sources(self, told: Told, checkpoint: str | None, seen: Any, rows: list[Any]) -> None:
        sources = seen["source_map"]["sources"]
        assert len(seen["source_map"]["pointers"]) >= len(sources)
        kept = {row["source"]["seq"] for row in rows if row["source"]["kind"] == "entry" and row["disposition"] != "excluded"}
        sent = [one["seq"] for one in sources if one["type"] == "history"]
        assert sent == sorted(set(sent)) or seen["dialect"] in ("anthropic-messages", "bedrock-converse", "gemini"), "each once, in order"
        assert set(sent) == kept
        summaries = [one for one in sources if one["type"] == "compaction"]
        named = [row["source"]["checkpoint_id"] for row in rows if row["source"]["kind"] == "checkpoint" and "checkpoint_id" in row["source"]]
        assert [one["checkpoint_id"] for one in summaries] == named == ([] if checkpoint is None else [checkpoint])
        if checkpoint is not None:
            (row,) = [row for row in rows if row["source"]["kind"] == "checkpoint"]
            known = told.checkpoints[checkpoint]
            assert (row["source"]["seq"], row["source"]["through_seq"]) == (known.seq, known.through)
            first = told.entries[known.through + 1]
            assert summaries[0]["summarized_before"] == first["message_index"]

    def bounded(self, seen: Any) -> None:
        budget = seen["budget"]
        over = budget["total"] * (1 + budget["error_band"]) > budget["input_limit"]
        assert over == (budget["verdict"] == "over")
        assert budget["remaining"] == budget["input_limit"] - budget["total"]

    async def verified(self, told: Told, view: Any) -> None:
        found = await self.get(f"/sessions/{told.id}/verify")
        assert (found["ok"], found["problems"], found["head_digest"]) == (True, [], view["head_digest"])

    async def calls_of(self, told: Told, sampled: int) -> None:
        """Every call is derived again to its digest: each new one, and one of the older ones."""
        calls = (await self.get(f"/sessions/{told.id}/calls", limit=1000))["data"]
        new = [call for call in calls if call["id"] not in told.calls and call["status"] != "running"]
        again = [calls[sampled % len(calls)]] if calls else []
        for call in [*new, *again]:
            told.calls.add(call["id"])
            self.calls[call["id"]] = call
            assert call["status"] == "refused" or call["budget"]["verdict"] != "over", "what is over is not sent"
            seen = await self.get(f"/sessions/{told.id}/calls/{call['id']}/model-input")
            if told.redacted and seen["verified"] == "unverifiable":
                assert seen["reason"] == "erased"
            else:
                assert seen["verified"] is True, (call, seen.get("mismatch"), seen.get("reason"))
                assert seen["digest"] == call["digest"]
            if call["status"] != "refused" and "body" in seen:
                assert seen["violations"] == []
                assert objections(call["dialect"], json.dumps(seen["body"]).encode(), target_of(call["dialect"], call["model"])) == []

    async def usage(self, told: Told, view: Any) -> None:
        """What is summed up is the sum of the session's own calls."""
        calls = [call for call in (await self.get(f"/sessions/{told.id}/calls", limit=1000))["data"] if call["usage"] is not None]
        total = await self.get(f"/sessions/{told.id}/usage")
        for purpose in ("main", "compaction"):
            own = [call["usage"] for call in calls if call["purpose"] == purpose]
            for name in FIGURES:
                assert total[purpose][name] == sum(one[name] or 0 for one in own), (purpose, name)
            assert total[purpose]["calls"] == len(own)
        assert {name: total["total"][name] for name in FIGURES} == {name: total["main"][name] + total["compaction"][name] for name in FIGURES}


def mark(told: Told, seq: int) -> str | None:
    """What tells the text of a message from any other: its first word, which the test numbers; None for the words of others."""
    found = _MARK.match(words(told.entries[seq]))
    return None if found is None else found[0]
