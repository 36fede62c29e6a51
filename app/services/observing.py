"""What a running turn records beside its messages before a call leaves: shared state that moved, system sections that changed."""

from app.config.limits import MOVES_PER_TURN_MAX
from app.context.section_record import section_record
from app.context.sources import AgentRevision
from app.entries.errors import HeadMismatch
from app.entries.settings import SectionsRecorded, StateChanged
from app.services.inputs import Prepared
from app.services.running import Running, patiently
from app.services.states import States
from app.services.write import Draft


async def observe(states: States, running: Running, agent: AgentRevision) -> None:
    """Appends what the user's other sessions made of the shared state since this one recorded it, so that the next call is compiled with it.

    Costs nothing where `agent`, whose call it is, has no shared scope, one small read where nothing moved.
    """
    key = running.facts.key
    for _ in range(MOVES_PER_TURN_MAX):
        found = await patiently(lambda: states.observation(key.tenant, key.session, agent))
        if found is None:
            return
        try:
            await running.commit([observed(found, running.number)])
        except HeadMismatch:  # a patch came in between, and may have recorded it
            continue
        return
    raise RuntimeError("the head of a session moved on without end")


def observed(found: StateChanged, turn: int) -> Draft:
    """The entry of an observation that a turn makes."""
    return Draft(found.kind, found.encode(), turn)


def sections_of(prepared: Prepared, call_id: str) -> SectionsRecorded | None:
    """The section record of a call that is about to leave; None where no system section changed since the last one (S2-49)."""
    before = prepared.window.settings.get(SectionsRecorded.kind)
    known = None if before is None or before.payload is None else SectionsRecorded.decode(before.payload)
    return section_record(prepared.compiled, call_id, known)
