"""Two tenants, each with a key, and the ids of the first in the hands of the second."""

from collections.abc import Mapping
from typing import Any

from app.config.secret import Secret
from app.services.keys import Keys
from app.services.minting import new_uuid
from app.services.scope import SCOPES
from tests.cases.compacting import PADDING
from tests.cases.done import Done
from tests.cases.rows import entries

OF_A: list[Mapping[str, Any]] = [
    *PADDING,
    {"kind": "user", "text": "said by A"},
    {"kind": "assistant", "text": "answered to A", "calls": [{"id": "call_of_a", "name": "look", "arguments": '{"for": "A"}'}]},
]


async def two(done: Done) -> dict[str, str]:
    """Makes A a session with a call and a checkpoint, then B one; leaves the client with B's key. The names are those of the cases."""
    done.place = await done.places.own(auth="keys", bootstrap_key=Secret("boot-" + "k" * 40))
    sessions: list[str] = []
    rows: list[Mapping[str, Any]]
    checkpoint = ""
    for rows in (OF_A, []):
        _, token = await Keys(done.place.stores[0].keys).create(new_uuid(), "tenant", SCOPES)
        done.world.client.headers["authorization"] = f"Bearer {token.reveal()}"
        sessions.append(await done.place.session())
        if rows:
            await done.world.call("POST", f"/sessions/{sessions[-1]}/entries", 201, json={"entries": entries(rows)})
            asked = {"keep_recent_tokens": 1, "driver": {"kind": "excerpt"}}
            found = await done.world.call("POST", f"/sessions/{sessions[-1]}/compactions", 200, json=asked)
            checkpoint = found.json()["checkpoint_id"]
            assert checkpoint is not None
    done.session = sessions[1]
    return {"a_session": sessions[0], "b": sessions[1], "call_id_of_a": "call_of_a", "cursor_of_a": "2", "checkpoint_of_a": checkpoint}
