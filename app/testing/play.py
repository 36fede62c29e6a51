"""Plays a script against a service, step by step, and reads what came of it.

After each step that runs a turn the model steps that follow it are held against the calls that were made: one too many, or one
that nobody asked for, ends the run with the step's number.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from app.config.limits import STEPS_PER_TURN_MAX
from app.testing.faults import RunTimeout, ScriptFault, StepRefused
from app.testing.functions import Function, ran
from app.testing.renders import Render
from app.testing.run import Run
from app.testing.script import Script
from app.testing.steps import Decision, Model, Result, SetState, Step, User
from app.testing.talk import Talk

STOP_SECONDS_MAX = 10
"""For ending what still runs, and for looking at it, once a run has failed."""

KINDS_SHOWN_MAX = 60


@dataclass(frozen=True, slots=True)
class Opening:
    """What a run begins with: documents by name, the last one the session's own, and the fields of a new session or the id of an old one."""

    tenant: UUID
    documents: Mapping[str, Mapping[str, Any]]
    dialect_of: Callable[[Mapping[str, Any]], str]
    fields: Mapping[str, Any]
    session_id: str | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    """The test's own, by the names of the client's tools that they are."""


class Player:
    """One run in one session. `client` has the scopes of the run, `reader` all of them: what it reads is for the test, not for the agent."""

    def __init__(self, client: Talk, reader: Talk, steps: Sequence[Step], opening: Opening) -> None:
        self._client = client
        self._reader = reader
        self._opening = opening
        self._script = Script(steps)
        self._functions = {name: function for name, function in opening.functions.items() if name not in self._script.mocked}
        self._session_id = opening.session_id
        self._played = 0
        self._at = 0
        self._turn: Mapping[str, Any] | None = None

    async def run(self, timeout_seconds: float) -> Run:
        """All steps in order, and what came of them. Raises `ScriptFault`; a turn that still runs or waits is stopped then."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._open()
                for at, step in enumerate(self._script.steps):
                    if not isinstance(step, Model):
                        self._at, self._client.doing = at, self._script.named(at)
                        await self._do(step)
                self._client.doing = self._reader.doing = "reading what came of the run"
                return await self._read()
        except TimeoutError:
            raise RunTimeout(await self._after(f"{self._client.doing} was not over {timeout_seconds:g} s after the run began")) from None
        except StepRefused as fault:
            raise StepRefused(await self._after(str(fault)), fault.problem) from None
        except ScriptFault as fault:
            raise ScriptFault(await self._after(str(fault))) from None

    @property
    def _session(self) -> str:
        return f"/sessions/{self._session_id}"

    async def _open(self) -> None:
        """Puts the agents, whose models play the script from where the session stands, and opens the session or goes on in it."""
        opening = self._opening
        if self._session_id is not None:
            self._played = await self._calls_made()
        put: dict[str, Any] = {}
        for name, document in opening.documents.items():
            chosen = self._script.document(document, opening.dialect_of(document), self._played)
            put = await self._reader.ask("PUT", f"/agents/{name}", chosen)
        agent = {"agent": put["name"], "agent_revision": put["revision"]}
        if self._session_id is None:
            self._session_id = str((await self._client.ask("POST", "/sessions", {**opening.fields, **agent}))["id"])
        else:
            await self._client.ask("PATCH", self._session, agent)

    async def _do(self, step: Step) -> None:
        match step:
            case SetState(patch):
                await self._client.ask("PATCH", f"{self._session}/state", patch)
            case User(content, more):
                await self._run("turns", {**more, "input": content})
            case Result(content=content, is_error=is_error):
                row = {"tool_call_id": self._waiting(step, "result"), "content": content, "is_error": is_error}
                await self._run(f"turns/{self._standing_turn()['id']}/tool-results", {"results": [row]})
            case Decision(decision=decision, reason=reason):
                decided = {"tool_call_id": self._waiting(step, "approval"), "decision": decision} | ({} if reason is None else {"reason": reason})
                await self._run(f"turns/{self._standing_turn()['id']}/decisions", {"decisions": [decided]})
            case _:
                raise ScriptFault(f"{self._client.doing}: this is no step; make it by user(…), model(…) or another function of app.testing")

    async def _run(self, path: str, body: Mapping[str, Any]) -> None:
        """Posts, waits until the turn rests, and counts the calls that were made."""
        self._turn = await self._client.ask("POST", f"{self._session}/{path}", body)
        await self._answer_by_functions()
        made = await self._calls_made()
        steps = self._script.steps
        end = next((at for at in range(self._at + 1, len(steps)) if not isinstance(steps[at], Model)), len(steps))
        wanted = self._script.answers_before(end)
        if made > wanted:
            raise ScriptFault(f"{self._script.named(end - 1)} was followed by another call of the model; put a model(…) step at {end}")
        if made < wanted:
            missed = self._script.named(self._script.answers[made])
            raise ScriptFault(f"{missed}: nothing called the model for it; after {self._client.doing} the turn is {self._standing()}")

    async def _answer_by_functions(self) -> None:
        """Runs the test's own tools for the calls that wait for them, and the turn goes on, until none does."""
        for _ in range(STEPS_PER_TURN_MAX):
            pending = [one for one in self._standing_turn()["pending"] if one["needs"] == "result" and one["name"] in self._functions]
            if not pending:
                return
            answers = [(one["tool_call_id"], *await ran(self._functions[one["name"]], one["arguments"])) for one in pending]
            rows = [{"tool_call_id": each, "content": content, "is_error": is_error} for each, content, is_error in answers]
            self._turn = await self._client.ask("POST", f"{self._session}/turns/{self._standing_turn()['id']}/tool-results", {"results": rows})

    def _waiting(self, step: Result | Decision, needs: str) -> str:
        """The id of the call that the step speaks to. Raises `ScriptFault` where none waits for that."""
        pending = [] if self._turn is None else self._turn["pending"]
        for one in pending:
            if one["needs"] == needs and step.tool_call_id in (None, one["tool_call_id"]) and one["name"] == step.tool:
                return str(one["tool_call_id"])
        waiting = ", ".join(f"{one['name']} {one['tool_call_id']} (needs {one['needs']})" for one in pending) or "none"
        raise ScriptFault(f"{self._client.doing}: no call of {step.tool} waits for this; the turn is {self._standing()}; calls that wait: {waiting}")

    def _standing_turn(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._turn)

    def _standing(self) -> str:
        if self._turn is None:
            return "none of this run"
        error = self._turn["error"]
        return str(self._turn["status"]) + ("" if error is None else f" ({error['code']}: {error['detail']})")

    async def _calls_made(self) -> int:
        """Main calls of this run that went out, which is how the upstream counts its script's steps; a refused one did not."""
        calls = await self._reader.whole(f"{self._session}/calls", "after")
        return sum(1 for call in calls if call["purpose"] == "main" and call["status"] != "refused") - self._played

    async def _after(self, message: str) -> str:
        """Stops what runs, and adds to a failure what the ledger holds; where even that takes too long, it says so."""
        if self._session_id is None:
            return message
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await self._reader.ask("POST", f"{self._session}/stop", {})
                entries = await self._reader.whole(f"{self._session}/raw", "after_seq", "&view=ledger")
                made = await self._calls_made()
        except (TimeoutError, StepRefused):
            return f"{message}\nthe service did not say what was there"
        kinds = " · ".join(f"{entry['seq']} {entry['kind']}" for entry in entries[-KINDS_SHOWN_MAX:])
        return f"{message}\nmodel steps called for: {made} of {len(self._script.answers)}\nthe ledger, once all was stopped: {kinds}"

    async def _read(self) -> Run:
        """Everything that the API says of the session."""
        reader, path = self._reader, self._session
        turns = await reader.whole(f"{path}/turns", "after")
        entries = await reader.whole(f"{path}/raw", "after_seq", "&view=ledger")
        calls = await reader.whole(f"{path}/calls", "after")
        by_seq = {entry["seq"]: entry for entry in entries}
        renders = [Render(await reader.ask("GET", f"{path}/calls/{call['id']}/model-input"), call, by_seq) for call in calls]
        events = [event for turn in turns for event in await reader.events(path, turn["id"])]
        state = (await reader.ask("GET", f"{path}/state"))["state"]
        return Run(
            tenant=self._opening.tenant,
            session_id=path.rpartition("/")[2],
            turns=tuple(turns),
            entries=tuple(entries),
            calls=tuple(calls),
            renders=tuple(renders),
            events=tuple(events),
            state=state,
        )
