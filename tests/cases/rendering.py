"""Group j: a system text of a case, template or plain, as an agent with the state that the case has."""

from collections.abc import Mapping
from typing import Any

from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import MODELS, upstream_of
from tests.cases.posting import posted, seeded
from tests.cases.rows import entries
from tests.services.world import LIMITS


def document_of(given: Mapping[str, Any], key: str, text: str) -> dict[str, Any]:
    """The document: the section, the history, and a schema of the state that the case has."""
    state = {name: {"type": "string"} for name in given}
    return {
        "context": [{"renderer": "system", key: text}, {"renderer": "history"}],
        "state_schema": {"session": {"type": "object", "properties": state}},
    }


async def put(done: Done, document: Mapping[str, Any], name: str, target: Mapping[str, Any] | None = None) -> bool:
    """Puts the agent, keeps the answer, and says whether it was taken."""
    model = {"upstream": "mock", "name": MODELS["mock"]}
    if target is not None:
        model = {"upstream": upstream_of(dialect_of(target["provider"])), "name": target["model"]}
    done.answers.append(await done.world.client.put(f"/agents/{name}", json={"model": model, "limits": LIMITS, **document}))
    return done.answers[-1].status_code in (200, 201)


async def project(done: Done) -> None:
    """The ledger under a template; where the agent is refused there is nothing to project."""
    given, name = done.case.input, f"j-{done.case.id}-{done.case.part or 0}"
    if await put(done, document_of(given["state"], "template", given["system_template"]), name, given["target"]):
        done.session = await done.world.session(name, state={"session": given["state"]})
        await seeded(done.world, done.session, list(given["ledger"]))
        done.inputs.append(await done.world.input(done.session))


async def sequence(done: Done) -> None:
    """A session whose agent's section is put anew between what else happens."""
    steps, name = done.case.input["steps"], f"j-{done.case.id}"
    known = {key for step in steps for key in step.get("put_state", {})}
    for step in steps:
        if "put_system" in step:
            key = "template" if step["put_system"]["template"] else "text"
            if not await put(done, document_of(dict.fromkeys(known), key, step["put_system"]["text"]), name):
                return
            if done.session:
                await done.world.call("PATCH", f"/sessions/{done.session}", 200, json={"agent": name, "agent_revision": "latest"})
        elif "append" in step:
            done.session = done.session or await done.world.session(name)
            done.answers.append(await posted(done, entries(step["append"])))
        elif "put_state" in step:
            await done.world.call("PATCH", f"/sessions/{done.session}/state", 200, json={"session": step["put_state"]})
        else:
            done.inputs.append(await done.world.input(done.session))
