"""The end of a model call: its answer, what its controls came to, what needs an approval, what it used."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.config.limits import TOKENS_ON_LOOP_CHARS_MAX
from app.context.sources import Tool
from app.context.templates.render import RenderFailedError, holds, values_of, vocabulary
from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import Usage
from app.entries.messages import Answer, Status
from app.entries.parts import ToolCall
from app.entries.trace import ApprovalRequested, ModelCallFinished, usage_to_json
from app.services.call_records import Spoken, Step, attempt_json, event
from app.services.inputs import Prepared
from app.services.relays import Relay
from app.services.running import Running
from app.services.targets import Targets
from app.services.write import Draft, spoken
from app.storage.types import CallWrite
from app.turn.admission import acted_on, admit
from app.turn.controls import Controlled, take_controls

NATIVE_CHARS_MAX = 64
"""Of a provider's word for how an answer ended."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a call comes to: the drafts of its answer and its end, the change of its row (if it has one), and events that come before theirs."""

    drafts: list[Draft]
    write: CallWrite | None
    events: list[tuple[str, str]] = field(default_factory=list)


class CallEnds:
    """Turns what was read into what is appended."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets

    async def ended(self, running: Running, step: Step, prepared: Prepared, relay: Relay) -> Ended:
        """The answer, the end of the call, changes of the plan and requests for approval, in the order in which they are appended."""
        fold = relay.fold
        status, error = relay.status(running.draining)
        whole = status == "completed"
        said = fold.answer(Status.COMPLETED if whole else Status(status), prepared.target.model.name, step.call_id)
        controlled = Controlled(said)
        if step.agent.plan_enabled:
            controlled = take_controls(said, step.call_id, prepared.sources.plan, step.move.exposure)
        answer = controlled.answer
        usage, source = await self.usage(prepared, said, fold)
        reason, native = (None, None) if fold.finished is None else (fold.finished.stop_reason, fold.finished.native[:NATIVE_CHARS_MAX] or None)
        finished = ModelCallFinished(
            step.call_id, status, reason, usage, source, error, len(relay.attempts), native, fold.figures(), controlled.used
        )  # fmt: skip
        drafts = [step.draft(running, answer)] if answer.parts else []
        facts: list[Spoken] = [finished, *controlled.changes, *_approvals(step, prepared, answer)]
        drafts += [step.draft(running, fact) for fact in facts]
        write = CallWrite(
            step.uuid,
            turn=running.number,
            status=status,
            attempts=lossless.dumps([attempt_json(attempt) for attempt in relay.attempts]),
            usage=None if usage is None else lossless.dumps(usage_to_json(usage, source)),
            answer_offset=0 if answer.parts else None,
        )
        calls = [part for part in answer.parts if isinstance(part, ToolCall) and not relay.hides(part.name)] if whole else []
        events = [event("progress", text=line) for line in controlled.progress]
        return Ended(drafts, write, [*events, *map(_completed, calls)])

    async def usage(self, prepared: Prepared, answer: Answer, fold: AnswerFold) -> tuple[Usage | None, Literal["reported", "estimated"] | None]:
        """What the provider reported; where it reported nothing and an answer came, an estimate that says so."""
        if fold.usage is not None:
            return fold.usage, "reported"
        if not answer.parts:
            return None, None
        texts, count = spoken(answer.parts), self._targets.counter(prepared.target.estimator).count

        def output() -> int:
            return sum(count(text) for text in texts)

        long = sum(map(len, texts)) > TOKENS_ON_LOOP_CHARS_MAX
        return Usage(input=prepared.budget.total, output=await asyncio.to_thread(output) if long else output()), "estimated"


def _approvals(step: Step, prepared: Prepared, answer: Answer) -> Sequence[ApprovalRequested]:
    """A request for each call that may run and that somebody has to approve of first."""
    if acted_on(answer) is not None:
        return ()
    compiled = prepared.compiled
    tools = {tool.name: tool for tool in step.agent.tools}
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    asked = [call for call in calls if call.name in tools and _needs_approval(tools[call.name], prepared)]
    policy = step.run.policy.tools
    return [
        ApprovalRequested(call.tool_call_id, call.name) for call in asked if admit(call.name, policy, compiled.declared, compiled.allowed) is None
    ]


def _needs_approval(tool: Tool, prepared: Prepared) -> bool:
    """By the tool's word, or by its condition over the state that the call was made with; one that cannot be evaluated asks."""
    if not isinstance(tool.approval, Mapping):
        return tool.approval == "always"
    agent = prepared.sources.agent
    try:
        return holds(tool.approval["when"], vocabulary(agent.state_schema, agent.output_schema is not None), values_of(prepared.sources))
    except RenderFailedError:
        return True


def _completed(call: ToolCall) -> tuple[str, str]:
    return event("tool_call.completed", tool_call_id=call.tool_call_id, name=call.name, arguments=call.arguments)
