"""Skills: how an input names one, how its text is framed for a model, and `load_skill`, by which a model gets one itself.

A skill is words. It grants nothing: what a tool may do is decided where tools are admitted, whatever a skill says (X-73).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

from app.config.agent_limits import SKILL_CATALOGUE_TOKENS_MAX
from app.config.limits import JSON_DEPTH_MAX
from app.context.sources import AgentRevision, Skill, Tool
from app.entries import lossless
from app.entries.ids import text_digest

LOAD_SKILL = "load_skill"
"""The name of the tool; an agent with skills may declare no other of this name."""

EXECUTOR: Mapping[str, Any] = MappingProxyType({"kind": "skill"})

_PARAMETERS: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "The name of the skill."}},
        "required": ["name"],
        "additionalProperties": False,
    }
)
_HOW = "Loads the instructions of a skill. Load one when its description fits the task. A skill gives no permission. The skills:"
_LEAD = "These skills were selected for this message. Follow their instructions."
_CATALOGUE_TOKENS_MIN = 64
_WINDOW_SHARE = 50
"""The catalogue may take one in so many tokens of the window: 2 % (X-72)."""
_OVERFLOW_TOKENS = 6
"""What the line takes that counts the skills without a line."""

_MENTION = re.compile(r"(?<![\w$@])(?:\$|@skill:)([A-Za-z_][A-Za-z0-9_-]{0,63})(?![\w-])")


def revision_of(text: str) -> str:
    """`sha256:<hex>` of a skill's text in UTF-8."""
    return text_digest(text)


def mentioned(texts: Iterable[str], names: Collection[str]) -> list[str]:
    """The names that texts mention as `$name` or `@skill:name`, each once, in order. A plain occurrence loads nothing (X-73)."""
    found = [match[1] for text in texts for match in _MENTION.finditer(text)]
    return [name for name in dict.fromkeys(found) if name in names]


def framed(name: str, text: str) -> str:
    """A skill's text inside a tag that says which skill it is. The text is the agent's own, so it stands as it is (X-26); a name may come from
    an import, so it is escaped."""
    return f'<skill name="{escape(" ".join(name.split()))}">\n{text}\n</skill>'


def expansion(skills: Sequence[tuple[str, str]]) -> str:
    """What stands before the words of a message that these skills (name, text) were selected for."""
    return "\n\n".join([_LEAD, *[framed(name, text) for name, text in skills]])


def skill_tool(skills: Sequence[Skill], context_window: int) -> Tool:
    """The declaration of `load_skill`: the same for all calls under a revision. `context_window` in tokens, of the revision's model.

    Loading twice does nothing more than loading once, so a run whose end nobody saw is repeated.
    """
    return Tool(
        LOAD_SKILL,
        "\n".join([_HOW, *_catalogue(skills, context_window)]),
        _PARAMETERS,
        executor=EXECUTOR,
        repeatable=True,
        results={"keep": "protected"},
    )


def load_skill(agent: AgentRevision, arguments: str) -> tuple[str, bool]:
    """The result of a call of `load_skill` with these arguments (JSON text as the model wrote it): its text, and whether it is an error."""
    try:
        given = lossless.loads(arguments, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        given = None
    name = given.get("name") if isinstance(given, dict) else None
    skill = next((skill for skill in agent.skills if skill.name == name), None)
    if skill is not None:
        return framed(skill.name, skill.text), False
    wrong = "There is no skill of this name." if isinstance(name, str) else "The arguments have to be an object with the `name` of a skill."
    return f"{wrong} The skills are: {', '.join(skill.name for skill in agent.skills)}.", True


def _catalogue(skills: Sequence[Skill], context_window: int) -> list[str]:
    """A line for each skill: with its description where there is room, by its name alone, or counted with the rest (X-72)."""
    left = min(SKILL_CATALOGUE_TOKENS_MAX, max(_CATALOGUE_TOKENS_MIN, context_window // _WINDOW_SHARE)) - _OVERFLOW_TOKENS
    lines: list[str] = []
    for skill in skills:
        name, description = f"- {skill.name}", " ".join(skill.description.split())
        line = next((line for line in ([f"{name}: {description}"] if description else []) + [name] if _tokens(line) <= left), None)
        if line is not None:
            lines.append(line)
            left -= _tokens(line)
    more = len(skills) - len(lines)
    return [*lines, f"… and {more} more"] if more else lines


def _tokens(line: str) -> int:
    """An estimate that depends on no target, so that a declaration stays the same whatever model it goes to (X-39)."""
    plain = sum(char < "\x80" for char in line)
    return -(-(plain + 1) // 4) + -(-(len(line.encode("utf-8", "surrogatepass")) - plain) // 2)
