"""The key `skills`: instruction documents that are selected or loaded on demand."""

from typing import Any

from app.config.agent_limits import SKILL_TEXT_BYTES_MAX, SKILLS_MAX
from app.context.agents.defaults import SKILL_DESCRIPTION_CHARS_MAX, TOOL_NAME
from app.context.fields import TEXT_CHARS_MAX, Check
from app.context.skills import LOAD_SKILL
from app.entries import lossless

_KEYS = ("name", "description", "text")


def check_skills(check: Check, value: Any, tools: Any) -> None:
    """Names are well-formed and unique, texts short enough for an entry; no tool of the document (`tools`) takes the name of the one that loads."""
    names: set[str] = set()
    for position, skill in enumerate(check.list(value, "/skills", SKILLS_MAX) or ()):
        pointer = f"/skills/{position}"
        found = check.object(skill, pointer, _KEYS, ("name", "text"))
        if found is None:
            continue
        name = found.get("name")
        if "name" not in found:
            pass
        elif not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            check.fault(f"{pointer}/name", "bad-skill-name", "A name begins with a letter or `_` and has at most 64 letters, digits, `_`, `-`.")
        elif name in names:
            check.fault(f"{pointer}/name", "duplicate-skill-name", "Another skill has this name.")
        else:
            names.add(name)
        check.text(found.get("description", ""), f"{pointer}/description", SKILL_DESCRIPTION_CHARS_MAX, blank=True)
        if "text" in found:
            _text(check, found["text"], f"{pointer}/text")
    if value:
        _reserved(check, tools)


def _text(check: Check, value: Any, pointer: str) -> None:
    text = check.text(value, pointer, TEXT_CHARS_MAX)
    if text is not None and len(lossless.dumps(text).encode()) > SKILL_TEXT_BYTES_MAX:
        check.fault(pointer, "too-large", f"The text of a skill may hold {SKILL_TEXT_BYTES_MAX} bytes as JSON; make two skills of it.")


def _reserved(check: Check, tools: Any) -> None:
    for position, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("name") == LOAD_SKILL:
            check.fault(f"/tools/{position}/name", "reserved-tool-name", "An agent with skills has this tool already; name yours otherwise.")
