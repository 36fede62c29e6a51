"""Agent revisions that a process remembers: of one tenant each, and never of another."""

from uuid import uuid4

import pytest

from app.entries.errors import NotFound
from app.services.revisions import Revisions
from app.storage.store import Store

LIMITS = '{"context_window":1000,"max_output_tokens":100,"source":"explicit"}'


@pytest.mark.req("X-87")
async def test_what_one_tenant_asked_for_is_not_what_another_gets(store: Store) -> None:
    first, second, stranger = uuid4(), uuid4(), uuid4()
    for number, tenant in enumerate((first, second)):
        document = f'{{"model":{{"upstream":"scripted","name":"m{number}"}}}}'
        await store.agents.put(tenant, "same", document, LIMITS, bytes([number]) * 32)
    revisions = Revisions(store.agents)
    for _ in range(2):
        assert [(await revisions.get(tenant, "same", 1)).model.name for tenant in (first, second)] == ["m0", "m1"]
        with pytest.raises(NotFound):
            await revisions.get(stranger, "same", 1)
