"""Long sessions for tests of pruning: tools that say what their results are of, turns told in a line, and requests over the mark."""

from dataclasses import replace
from typing import Any

from app.context.budget import Budget, budget
from app.context.compile import Compiled, compile_context
from app.context.sources import Sources
from app.entries.messages import ToolResult
from app.entries.parts import Text
from app.entries.prunings import Pruned
from tests.strategies import Ledger, agent, call, tokens

TOOLS = [
    {"name": "read", "results": {"target": "path"}},
    {"name": "edit", "results": {"target": "path", "effect": "write"}},
    {"name": "weather", "results": {"keep": "disposable"}},
    {"name": "secret", "results": {"keep": "protected"}},
    {"name": "lookup"},
]
LARGE = "x" * 5_000


def reviser(protect: int = 0, **more: Any) -> Any:
    return agent(tools=TOOLS, pruning={"trigger_fraction": 0.65, "protect_recent_tokens": protect}, **more)


class Told(Ledger):
    """A ledger in which turns of one call each are told in a line."""

    def turn(self, name: str, arguments: str, text: str = LARGE, call_id: str = "", said: str = "go on", is_error: bool = False) -> int:
        """Returns the seq of the result."""
        number, call_id = self.seq, call_id or f"call_{self.seq:08}"
        self.user(said, turn=number)
        self.answer(call(call_id, name, arguments), turn=number)
        seq = self.add("tool_result", ToolResult(call_id, (Text(text),), name, is_error), turn=number).entry.seq
        self.answer("Done.", turn=number)
        return seq

    def ends(self, said: str = "and now") -> Sources:
        """The sources of the call that answers these words."""
        self.user(said, turn=10_000)
        return self.sources(reviser(), running_turn=10_000)


def compiled(sources: Sources) -> Compiled:
    return compile_context(sources, tokens)


def pressed(found: Compiled, total: int | None = None, limit: int = 10_000, prune_from: int = 1) -> Budget:
    """A budget over the mark of pruning, by default one that asks for all there is."""
    plain = budget(found.sources.target, found.sources.agent, found.measured)
    return replace(plain, verdict="prune", input_limit=limit, prune_from=prune_from, error_band=0.0, total=total or plain.total)


def after(sources: Sources, pruned: Pruned) -> Sources:
    """The sources once the decision is an entry."""
    return replace(sources, pruned={**sources.pruned, **{one.seq: one for one in pruned.results}})
