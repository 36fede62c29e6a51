"""A conversation in process: our compiler and readers as the client of the strict fakes, the ledger as its only memory."""

from dataclasses import dataclass, field

from app.context.compile import Compiled, compile_context
from app.context.passes.binding import bound_prefix
from app.context.sources import AgentRevision, Continuation
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, Delta, ToolCallStarted
from app.entries.messages import Answer, Status
from app.entries.parts import ToolCall
from app.entries.plans import EXPOSED
from app.formats.protocols import Written
from app.formats.registry import FORMATS
from app.models.resolve import Target
from tests.fakes import answers
from tests.judges.judging import objections
from tests.judges.providers import PROVIDERS, Provider
from tests.strategies import Ledger, tokens

EXPOSURES = tuple(EXPOSED)


def folded(stream: bytes, target: Target, prefix: str = "", taken: set[str] | None = None, call_id: str = "call_0") -> AnswerFold:
    """What our reader makes of a stream, with ids for its calls as the service gives them."""
    reader = FORMATS[target.dialect].new_reader(str(target.producer._replace(prefix=prefix)))
    deltas: list[Delta] = [*reader.feed(stream), *reader.end()]
    names, fold = CallNames(call_id, taken or set()), AnswerFold()
    for delta in deltas:
        fold.add(names.name(delta) if isinstance(delta, ToolCallStarted) else delta)
    return fold


def answered(stream: bytes, target: Target, prefix: str = "", taken: set[str] | None = None, call_id: str = "call_0") -> Answer:
    """The answer that a stream tells. Fails the test for a stream without a good end."""
    fold = folded(stream, target, prefix, taken, call_id)
    assert fold.finished is not None, fold.failed
    return fold.answer(Status.COMPLETED, target.model.name, call_id)


@dataclass
class Talk:
    """One session and the providers that it may be sent to. `blobs`: digest → bytes of the media that the ledger names."""

    revision: AgentRevision
    ledger: Ledger = field(default_factory=Ledger)
    blobs: dict[str, bytes] = field(default_factory=dict)
    providers: dict[str, Provider] = field(default_factory=dict)
    calls: int = 0

    def compiled(self, target: Target) -> tuple[Compiled, Written]:
        # An agent with a plan is told why, and shown other controls from call to call.
        why = Continuation("input_received", self.ledger.seq, EXPOSURES[self.calls % len(EXPOSURES)])
        compiled = compile_context(self.ledger.sources(self.revision, target, running_turn=1, continuation=why), tokens)
        return compiled, FORMATS[target.dialect].write_request(compiled.request, self.blobs)

    def refusals(self, target: Target) -> list[str]:
        """What anybody has against the next call: the three judges, and the provider's own book."""
        _, written = self.compiled(target)
        return objections(target.dialect, written.body, target) or self.provider(target).refusals(written.body, target)

    def provider(self, target: Target) -> Provider:
        return self.providers.setdefault(target.dialect, PROVIDERS[target.dialect]())

    def call(self, target: Target, says: answers.Answer) -> Answer:
        """One call: the body, which has to be served, and the answer, which is committed."""
        compiled, written = self.compiled(target)
        provider = self.provider(target)
        found = objections(target.dialect, written.body, target) or provider.refusals(written.body, target)
        assert not found, (target.dialect, target.model.name, found, written.body[-3000:])
        self.calls += 1
        stream = provider.stream(written.body, target, says)
        answer = answered(stream, target, bound_prefix(compiled.request), self.taken(), f"call_{self.calls}")
        self.ledger.add("assistant_message", answer, turn=1)
        return answer

    def taken(self) -> set[str]:
        return {part.tool_call_id for message in self.ledger.messages for part in message.body.parts if isinstance(part, ToolCall)}
