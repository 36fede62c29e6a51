"""What a turn may do: facts of its agent revision and of its body, resolved once when the turn is accepted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """One tool of the agent.

    `declared`: the model was told of it (a masked or disabled one is not). `allowed`: inside the list that the call was
    narrowed to. `repeatable`: a run whose end nobody saw may be run again, `runs_max` times in all.
    """

    executor: Literal["client", "http", "mcp", "agent", "skill"] = "client"
    declared: bool = True
    allowed: bool = True
    repeatable: bool = False
    runs_max: int = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """`max_steps` main calls at most; `tools` by name; a name that is not there is not a tool of the agent."""

    max_steps: int = 25
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)
