"""What a turn may do: facts of its agents and of its body, resolved when the turn is accepted or an agent enters it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.entries.trace import AgentMode

Executor = Literal["client", "http", "mcp", "agent", "skill"]


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """One tool of an agent.

    `declared`: neither switched off in the document nor masked by the turn. `repeatable`: a run whose end nobody saw may be run again,
    `starts_max` times in all. `mode`: of a tool that is another agent.
    """

    executor: Executor = "client"
    declared: bool = True
    repeatable: bool = False
    starts_max: int = 2
    mode: AgentMode | None = None


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """What one agent's run may do: its tools by name, and whether it has a plan. `same_model`: as the agent that the turn began with.

    `name` is the agent's, which stands in the entries of its runs.
    """

    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)
    plan: bool = False
    same_model: bool = True
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """`max_steps` main calls at most, whoever makes them; `agent` is the one that the turn began with, `others` by name and revision."""

    max_steps: int = 25
    agent: AgentPolicy = AgentPolicy()
    others: Mapping[tuple[str, int], AgentPolicy] = field(default_factory=dict)
