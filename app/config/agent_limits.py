"""What bounds the parts of an agent: templates, skills, tools that run elsewhere, agents that call agents. The README's table has these too."""

from typing import Final

SKILLS_MAX: Final = 64
"""Skills of one agent."""

SKILL_TEXT_BYTES_MAX: Final = 32 * 2**10
"""The text of one skill, as JSON: a snapshot of it stays inside its entry."""

SKILLS_PER_TURN_MAX: Final = 8
"""Skills that one input selects, by name and by mention together."""

SKILL_CATALOGUE_TOKENS_MAX: Final = 2_000
"""The list of skills that a model is shown: 2 % of the window, at most this many tokens."""

AGENT_CALLS_NESTED_MAX: Final = 4
"""Agents that call agents, one inside the other."""

AGENT_CALLS_OPEN_MAX: Final = 100
"""Calls of a turn that have no result while one of its agents calls another: all of them are closed together where the turn is cut."""

TOOL_RUNS_AT_ONCE_MAX: Final = 8
"""Server-side tools of one answer that run at the same time."""

TOOL_SERVERS_MAX: Final = 256
"""Configured tool servers."""

TOOL_SECONDS_MAX: Final = 3_600
"""The longest time that an operator may give one call of a tool server."""

TOOL_RESULT_BYTES_MAX: Final = 32 * 2**20
"""The largest answer of a tool server that an operator may allow."""

TOOL_LIST_SECONDS_MAX: Final = 15
"""Wait for a tool server's list while an agent is put."""

TOOL_LIST_BYTES_MAX: Final = 8 * 2**20
"""One page of a tool server's list."""

TOOL_LIST_PAGES_MAX: Final = 64
"""Pages of a tool server's list that are read."""

TOOL_SERVERS_ASKED_MAX: Final = 16
"""Tool servers whose lists one agent may need."""

TOOL_SESSION_END_SECONDS_MAX: Final = 1
"""Wait for a tool server to hear that a session is over."""

TEMPLATE_CHARS_MAX: Final = 64 * 2**10
"""One template of an agent's document."""

CONDITION_CHARS_MAX: Final = 1_000
"""One condition of an agent's document."""

TEMPLATE_NODES_MAX: Final = 4_000
"""Names, values, operators and tags of one template."""

TEMPLATE_DEPTH_MAX: Final = 32
"""Nesting of one template's expressions and tags."""

TEMPLATE_LOOPS_MAX: Final = 2
"""Loops inside one another."""

TEMPLATE_OUTPUT_CHARS_MAX: Final = 256 * 2**10
"""The text that one template gives."""

TEMPLATE_WORK_MAX: Final = 1_000_000
"""Work of one rendering: characters that filters and comparisons look at, and what a loop's body holds for each of its rounds."""

PAST_STATES_MAX: Final = 1_000
"""Older states of a session that are read where a renderer asks for the state as it was."""
