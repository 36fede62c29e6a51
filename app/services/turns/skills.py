"""Skills of a turn: the snapshots of those that its input selects, and the results of those that the model loads itself."""

from collections.abc import Sequence

from app.config.agent_limits import SKILLS_PER_TURN_MAX
from app.context.skills import load_skill, mentioned, revision_of
from app.context.sources import AgentRevision
from app.entries.errors import Fault, Invalid
from app.entries.folds import SkillLoaded
from app.entries.messages import ToolResult
from app.entries.parts import Text, ToolCall
from app.services.turns.inputs import Said
from app.services.write import THIS_TURN, Draft


def selected(agent: AgentRevision, named: Sequence[str], said: Said | None, seq: int) -> list[Draft]:
    """The snapshots for an input that will stand at seq `seq + n`, where n is how many snapshots there are; each is read once, here (X-71).

    `named` by the request, then what the input's own words mention as far as there is room. `said` None: the input is not stored, so
    nothing can be anchored to it. Raises `Invalid` for a name that is no skill of the agent.
    """
    texts = {skill.name: skill.text for skill in agent.skills}
    unknown = [at for at, name in enumerate(named) if name not in texts]
    if unknown:
        detail = "The agent has no skill of this name; its document lists those that it has."
        raise Invalid([Fault(f"/skills/{at}", "unknown-skill", detail) for at in unknown])
    if said is None or not texts:
        return []
    found = mentioned([part.text for part in said.parts if isinstance(part, Text)], texts.keys() - set(named))
    chosen = [*named, *found][:SKILLS_PER_TURN_MAX]
    return [
        Draft(
            SkillLoaded.kind,
            SkillLoaded(
                name,
                revision_of(texts[name]),
                texts[name],
                anchor_seq=seq + len(chosen),
                selected_by="request" if name in named else "mention",
            ).encode(),
            THIS_TURN,
        )
        for name in chosen
    ]


def loaded_skill(agent: AgentRevision, call: ToolCall, turn: int) -> Draft:
    """The result of a call of `load_skill`: an entry like any tool's, so that the text is read once and kept (S2-20)."""
    text, is_error = load_skill(agent, call.arguments)
    return Draft("tool_result", ToolResult(call.tool_call_id, (Text(text),), call.name, is_error), turn)
