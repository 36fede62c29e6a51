"""Turns, each with what has to come of it: steps of the state machine, one method each."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.answers import Answer, Part, Text, Thinking, ToolCall
from tests.fakes.serving import Fault
from tests.judges.targets import MODELS
from tests.services.long_sessions.laws import Laws
from tests.services.long_sessions.providers import GOOD, REASONS, USAGE, WINDOW, Style, Voice
from tests.services.long_sessions.told import Expected, State, Told, Turn
from tests.services.world import World

AGAIN = frozenset({"failed", "interrupted", "cancelled"})
TOOLS = [{"name": "lookup", "description": "Finds a record.", "results": {"target": "id"}}]
NOTE = {"renderer": "system", "id": "note", "template": "Note {{ state.note }}.", "when": "state.note is not none"}
DOCUMENT: dict[str, Any] = {
    "limits": WINDOW,
    "context": [{"renderer": "system", "id": "brief", "text": "Be brief."}, NOTE, {"renderer": "history"}],
    "tools": TOOLS,
    "state_schema": {"session": {"type": "object", "properties": {"note": {"type": "integer"}}}},
    "compaction": {"trigger_fraction": 0.8, "keep_recent_tokens": 600},
    "pruning": {"trigger_fraction": 0.5, "protect_recent_tokens": 100},
}
JSON = {"accept": "application/json"}
OVERFLOWS = {
    "openai-chat": Fault(400, "context_length_exceeded"),
    "openai-responses": Fault(400, "context_length_exceeded"),
    "anthropic-messages": Fault(400, words="prompt is too long: 9999 tokens > 6000 maximum"),
    "gemini": Fault(400, words="The input token count (9999) exceeds the maximum number of tokens allowed (6000)."),
    "bedrock-converse": Fault(400, words="Input is too long for requested model."),
}


def model_of(dialect: str, number: int = 0) -> dict[str, Any]:
    names = MODELS[dialect]
    thinks = {} if number or dialect == "openai-chat" else {"reasoning": {"effort": "high"}}
    return {"upstream": dialect, "name": names[number % len(names)], "params": thinks}


@dataclass
class Talking:
    """One family of sessions: the first and its forks."""

    world: World
    voice: Voice
    laws: Laws
    sessions: list[Told] = field(default_factory=list)
    number: int = 0

    def text(self, who: str, size: int) -> str:
        """A text of about so many tokens that begins with a word of its own."""
        self.number += 1
        return " ".join([f"{who}{self.number}.", *["lorem"] * size])

    def answer(self, kind: str, size: int) -> Answer:
        said: tuple[Part, ...] = (Text(self.text("a", size)),)
        if kind == "think":
            said = (Thinking("I wonder."), *said)
        calls = {"call": 1, "calls": 2}.get(kind, 0)
        return Answer((*said, *[ToolCall("lookup", f'{{"id":"k{(self.number + one) % 5}"}}') for one in range(calls)]), usage=USAGE)

    async def open(self, dialect: str) -> None:
        agent = await self.world.agent(name=f"talker-{dialect}", model=model_of(dialect), **DOCUMENT)
        opened = (await self.world.call("POST", "/sessions", 201, json={"agent": agent})).json()
        told = Told(opened["id"], {0: State(dialect=dialect)})
        told.learn(await self.world.ledger(told.id), [])
        self.sessions.append(told)

    async def new(self, told: Told) -> list[Any]:
        """The entries that were appended since the last look."""
        return await self.world.ledger(told.id, after_seq=told.head)

    async def refused(self, told: Told, method: str, path: str, status: int, *codes: str, **body: Any) -> None:
        """What has to be refused writes nothing."""
        answer = (await self.world.call(method, f"/sessions/{told.id}{path}", status, json=body, headers=JSON)).json()
        assert answer["code"] in codes, answer
        assert await self.new(told) == []

    def prepare(self, style: Style, *answers: tuple[Answer, Fault | None]) -> None:
        self.voice.style = style
        self.voice.answers.clear()
        self.voice.answers.extend(answers)
        self.voice.given.clear()

    async def turn(self, told: Told, kind: str, size: int, answer_size: int, style: Style, follows: str | None = None, **flags: Any) -> None:
        """A turn whose first call is answered so; `follows`: a turn's id, or `start`."""
        text, answer = self.text("u", size), self.answer(kind, answer_size)
        if told.pending is not None:
            await self.refused(told, "POST", "/turns", 409, "pending-action", input=text)
            return
        self.prepare(style, *self.first(told, kind, answer))
        base = None if follows is None else self.left(told, follows)
        more: dict[str, Any] = {} if follows is None else {"follows": follows}
        view = await self.world.turn(told.id, text, **more, **flags)
        turn = Turn(view["id"], view["number"], 0, view["input_seq"], view["status"])
        await self.turned(told, turn, view, [("user_message", text)], base)

    def first(self, told: Told, kind: str, answer: Answer) -> Sequence[tuple[Answer, Fault | None]]:
        """How the first call comes out; one that is too large is made again."""
        match kind:
            case "error":
                return [(answer, Fault(500))]
            case "cut":
                return [(answer, Fault(stop_at_byte=900))]
            case "overflow":
                return [(answer, OVERFLOWS[told.now.dialect]), (answer, None)]
        return [(answer, None)]

    def left(self, told: Told, follows: str) -> State | None:
        """The state that a turn which follows that one goes on from; None where that is the head's."""
        if follows == "start":
            return replace(told.now, line=frozenset(), checkpoint=None, turn=None)
        settled = told.turns[follows].settled
        assert settled is not None
        behind = [seq for seq in told.messages(told.now) if seq > settled]
        if told.now.turn == follows and not behind:
            return None
        then = told.states[settled]
        return replace(told.now, line=then.line, checkpoint=then.checkpoint, turn=follows)

    async def turned(self, told: Told, turn: Turn, view: Any, expected: list[Expected], base: State | None = None) -> None:
        """Takes what became of a turn that was begun or went on: what the model said was said, and the status is what that makes it."""
        new, given = await self.new(told), list(self.voice.given)
        for answer, fault in given:
            if fault is None:
                expected.append(("assistant_message", "".join(part.text for part in answer.parts if isinstance(part, Text))))
            elif fault.status is None and any(entry["body"].get("status") == "failed" for entry in new if entry["kind"] == "assistant_message"):
                expected.append(("assistant_message", None))
        told.turns[turn.id] = turn
        told.learn(new, expected, base, turn)
        turn.status = view["status"]
        if not given and turn.status != "requires_action":
            assert (view["status"], view["error"]["code"]) == ("failed", "context-over-budget"), view
        elif given:
            answer, fault = given[-1]
            calls = any(isinstance(part, ToolCall) for part in answer.parts)
            assert view["status"] == ("failed" if fault is not None else "requires_action" if calls else "completed"), view
        assert (turn.settled is None) == (view["status"] == "requires_action")
        self.attempts(new)

    def attempts(self, new: Sequence[Any]) -> None:
        """Every request has its end, at most two stand before one call, and what did not come of a summary is said in a word of its kind."""
        kinds = [entry["kind"] for entry in new if entry["kind"] in ("compaction_requested", "checkpoint", "compaction_failed")]
        assert kinds[::2] == ["compaction_requested"] * len(kinds[::2])
        assert len(kinds) % 2 == 0
        steps = [entry["body"]["step_index"] for entry in new if entry["kind"] == "compaction_requested"]
        assert all(steps.count(step) <= 3 for step in steps), "two before a call, and one behind it that was too large"
        style = self.voice.style
        for entry in new:
            if entry["kind"] == "compaction_failed":
                assert entry["body"]["reason"] in REASONS.get(style, {"not_smaller"}), (style, entry["body"])
                assert (entry["body"]["outcome"] == "not_smaller") == (entry["body"]["reason"] == "not_smaller")
            assert entry["kind"] != "checkpoint" or style in GOOD, style

    async def results(self, told: Told, size: int, kind: str, style: Style, only_one: bool) -> None:
        turn = told.pending
        if turn is None:
            await self.turn(told, "calls" if only_one else "call", 5, 20, style)
            return
        path = f"/sessions/{told.id}/turns/{turn.id}"
        open_calls = [one["tool_call_id"] for one in (await self.laws.get(path))["pending"]]
        answered = open_calls[:1] if only_one else open_calls
        found = [{"tool_call_id": one, "content": self.text("r", size)} for one in answered]
        self.prepare(style, (self.answer(kind, 5), None))
        view = await self.world.results(told.id, turn.id, found)
        await self.turned(told, turn, view, [("tool_result", one["content"]) for one in found])

    async def cancel(self, told: Told) -> None:
        turn = told.pending or told.turns.get(told.now.turn or "")
        if turn is None:
            return
        path = f"/sessions/{told.id}/turns/{turn.id}"
        open_calls = (await self.laws.get(path))["pending"]
        view = (await self.world.call("POST", f"{path}/cancel", 200, json={})).json()
        was, turn.status = turn.status, view["status"]
        told.learn(await self.new(told), [("tool_result", None) for _ in open_calls], None, turn if was == "requires_action" else None)
        assert view["status"] == ("cancelled" if was == "requires_action" else was)

    async def stop(self, told: Told, size: int) -> None:
        """A turn that is stopped while the model speaks."""
        if told.pending is not None:
            return
        text, answer = self.text("u", size), self.answer("text", 60)
        self.prepare("facts", (answer, Fault(pause_seconds=0.1)))
        view = await self.world.turn(told.id, text, 202, background=True)
        await self.world.call("POST", f"/sessions/{told.id}/stop", 200, json={})
        view = await self.world.until(told.id, view["id"], "cancelled", "completed", "failed")
        new = await self.new(told)
        partial = [("assistant_message", None) for entry in new if entry["kind"] == "assistant_message"]
        assert view["status"] == "cancelled" or view["error"]["code"] == "context-over-budget", view
        turn = Turn(view["id"], view["number"], 0, view["input_seq"], view["status"])
        told.turns[turn.id] = turn
        told.learn(new, [("user_message", text), *partial], None, turn)
        assert turn.settled is not None
