"""What is done to a session beside its turns, each with what has to come of it: steps of the state machine, one method each."""

from dataclasses import replace
from typing import Any

from tests.services.long_sessions.providers import GOOD, Style
from tests.services.long_sessions.talking import AGAIN, JSON, Talking, model_of
from tests.services.long_sessions.told import MESSAGES, State, Told, Turn

SESSIONS_MAX = 4


class Changing(Talking):
    """All steps."""

    async def compact(self, told: Told, style: Style, keep: int | None) -> None:
        """A compaction on request: only one that comes to something changes what is sent."""
        body: dict[str, Any] = {} if keep is None else {"keep_recent_tokens": keep}
        if told.pending is not None:
            await self.refused(told, "POST", "/compactions", 409, "pending-action", **body)
            return
        self.prepare(style)
        before, asked = await self.world.input(told.id, include="body"), self.voice.summaries
        done = (await self.world.call("POST", f"/sessions/{told.id}/compactions", 200, json=body)).json()
        new = await self.new(told)
        told.learn(new, [])
        self.attempts(new)
        outcome, kinds = done["outcome"], [entry["kind"] for entry in new]
        if outcome in ("nothing_to_compact", "declined_floor"):
            assert kinds == []
        else:
            assert kinds == ["compaction_requested", "checkpoint" if outcome == "compacted" else "compaction_failed"]
        assert self.voice.summaries - asked <= len(kinds[:1]), "one attempt, where anything is requested at all"
        if outcome == "compacted":
            assert style in GOOD
            assert (told.now.checkpoint, new[1]["body"]["covers_through_seq"]) == (done["checkpoint_id"], done["covers_through_seq"])
            assert done["tokens_after"] < done["tokens_before"]
        else:
            assert done["checkpoint_id"] is None
            after = await self.world.input(told.id, include="body")
            assert (after["digest"], after["body"]) == (before["digest"], before["body"])

    async def clear(self, told: Told) -> None:
        if told.pending is not None:
            await self.refused(told, "POST", "/clear", 409, "pending-action")
            return
        await self.world.call("POST", f"/sessions/{told.id}/clear", 200, json={})
        told.learn(await self.new(told), [], replace(told.now, line=frozenset(), checkpoint=None, turn=None))

    async def fork(self, told: Told, back: int | None) -> None:
        """A fork at the head, or so many entries before it; the parent has no part in it."""
        if len(self.sessions) >= SESSIONS_MAX:
            return
        at = told.head if back is None else max(1, told.head - back)
        body = {} if back is None else {"at_seq": at}
        if told.inside(at) is not None:
            await self.refused(told, "POST", "/fork", 422, "invalid-request", **body)
            return
        made = (await self.world.call("POST", f"/sessions/{told.id}/fork", 201, json=body)).json()
        assert made["forked_from"] == {"session_id": told.id, "at_seq": at}
        assert made["usage"]["input"] == 0
        fork = told.fork(made["id"], at)
        new = await self.new(fork)
        assert [entry["kind"] for entry in new] == ["session_forked"]
        fork.learn(new, [])
        self.sessions.append(fork)
        assert await self.new(told) == []
        shown = await self.world.raw(fork.id)
        assert shown == await self.world.raw(told.id, at_seq=at), "the parent's prefix"

    async def switch(self, told: Told, dialect: str, number: int) -> None:
        view = (await self.world.call("PATCH", f"/sessions/{told.id}", 200, json={"model": model_of(dialect, number)})).json()
        assert view["model"]["upstream"] == dialect
        new = await self.new(told)
        assert [entry["kind"] for entry in new] == ["model_switched"]
        told.learn(new, [])

    async def note(self, told: Told, value: int) -> None:
        await self.world.call("PATCH", f"/sessions/{told.id}/state", 200, json={"session": {"note": value}})
        new = await self.new(told)
        assert [entry["kind"] for entry in new] in (["state_changed"], [] if told.now.note == value else ["state_changed"])
        told.learn(new, [])

    async def append(self, told: Told, size: int, answered: bool) -> None:
        texts = [("user_message", self.text("u", size)), *([("assistant_message", self.text("a", size))] if answered else [])]
        entries = [{"kind": kind, "parts": [{"type": "text", "text": text}]} for kind, text in texts]
        if told.pending is not None:
            await self.refused(told, "POST", "/entries", 409, "pending-action", entries=entries)
            return
        await self.world.call("POST", f"/sessions/{told.id}/entries", 201, json={"entries": entries})
        told.learn(await self.new(told), [*texts])

    async def select(self, told: Told, number: int) -> None:
        """`none`, `latest`, or one of the checkpoints, whether it fits or not."""
        choices = ["none", "latest", *told.checkpoints]
        chosen = choices[number % len(choices)]
        if told.pending is not None:
            await self.refused(told, "PATCH", "", 409, "pending-action", checkpoint=chosen)
            return
        known = told.checkpoints.get(chosen)
        if known is not None and not told.fits(known, told.now.line):
            await self.refused(told, "PATCH", "", 422, "invalid-request", checkpoint=chosen)
            return
        wanted = {"none": None, "latest": told.latest(told.now)}.get(chosen, chosen)
        was = told.now.checkpoint
        await self.world.call("PATCH", f"/sessions/{told.id}", 200, json={"checkpoint": chosen})
        new = await self.new(told)
        assert [entry["kind"] for entry in new] == ([] if wanted == was else ["checkpoint_selected"])
        told.learn(new, [])
        assert told.now.checkpoint == wanted

    async def rewind(self, told: Told, number: int) -> None:
        settled = [turn for turn in told.turns.values() if turn.settled is not None]
        if not settled:
            return
        turn = settled[number % len(settled)]
        if told.pending is not None:
            await self.refused(told, "PUT", "/line", 409, "pending-action", turn=turn.id)
            return
        await self.world.call("PUT", f"/sessions/{told.id}/line", 200, json={"turn": turn.id})
        new = await self.new(told)
        if turn.settled == told.head and told.now.turn == turn.id:
            assert new == []
            return
        then = told.states[turn.settled or 0]
        told.learn(new, [], replace(told.now, line=then.line, checkpoint=then.checkpoint, turn=turn.id))
        assert [entry["kind"] for entry in new] == ["rewound"]

    async def travel(self, told: Told, back: int, number: int) -> None:
        """The session as it stood at an earlier entry, with what was in force then or with what is chosen."""
        at = max(1, told.head - back)
        await self.laws.transcript(told, at)
        view = await self.laws.get(f"/sessions/{told.id}")
        await self.laws.projection(told, view, at)
        fitting = [id for id, known in told.checkpoints.items() if known.seq <= at and told.fits(known, told.states[at].line)]
        choices = ["none", "latest", *fitting]
        if all(known.seq <= at for known in told.checkpoints.values()) or choices[number % len(choices)] != "latest":
            await self.laws.projection(told, view, at, choices[number % len(choices)])

    async def again(self, told: Told, number: int, kind: str, size: int, style: Style, sibling: bool) -> None:
        """`retry` of the last turn, or `regenerate` of any."""
        settled = [turn for turn in told.turns.values() if turn.settled is not None]
        if not settled:
            return
        turn = settled[number % len(settled)] if sibling else told.turns.get(told.now.turn or "")
        if turn is None:
            return
        path = f"/turns/{turn.id}/{'regenerate' if sibling else 'retry'}"
        if told.pending is not None or turn.input_seq in told.redacted:
            return
        if not sibling and turn.status not in AGAIN:
            await self.refused(told, "POST", path, 409, "not-retryable")
            return
        self.prepare(style, *self.first(told, kind, self.answer(kind, size)))
        view = (await self.world.call("POST", f"/sessions/{told.id}{path}", 200, json={}, headers=JSON)).json()
        assert (view["retry_of"], view["input_seq"]) == (turn.id, turn.input_seq)
        base: State | None = None
        if sibling:
            then = told.states[turn.input_seq or 0]
            base = replace(told.now, line=then.line, checkpoint=then.checkpoint)
        await self.turned(told, Turn(view["id"], view["number"], 0, view["input_seq"], view["status"]), view, [], base)

    async def redact(self, told: Told, number: int) -> None:
        """One message of the session's own: it is gone wherever it is shared, with every checkpoint that covers it."""
        own = [seq for seq, entry in told.entries.items() if entry["kind"] in MESSAGES and seq > told.at_seq and seq not in told.redacted]
        if not own or told.pending is not None or any(one.pending for one in self.sessions):
            return
        seq = own[number % len(own)]
        await self.world.call("POST", f"/sessions/{told.id}/entries/{seq}/redact", 200, json={"reason": "asked for"})
        for one in self.sessions:
            if one.entries.get(seq, {}).get("digest") == told.entries[seq]["digest"] and (one is told or one.at_seq >= seq):
                await self._redacted(one, seq)

    async def _redacted(self, one: Told, seq: int) -> None:
        """What the redaction left of a session that shares the entry."""
        one.redacted.add(seq)
        seen = {entry["seq"]: entry for entry in await self.world.ledger(one.id)}
        gone = {id for id, known in one.checkpoints.items() if seq in known.covers}
        changed = {at for at, entry in one.entries.items() if seen[at] != entry}
        assert seq in changed
        kinds = {one.entries[at]["kind"] for at in changed - {seq}}
        assert kinds <= {"checkpoint", "sections_recorded", "model_call_started", "plan_changed"}, kinds
        assert {one.checkpoints[id].seq for id in gone} <= changed
        one.entries |= {at: seen[at] for at in changed}
        new = [seen[at] for at in sorted(seen) if at > one.head]
        was = one.now.checkpoint
        one.learn(new, [])
        assert one.now.checkpoint == (None if was in gone else was)
        for id in gone:
            del one.checkpoints[id]
        one.states |= {at: replace(state, checkpoint=None) for at, state in one.states.items() if state.checkpoint in gone}
