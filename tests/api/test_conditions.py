"""What a writer expects of the head is held to by every route that writes to a session (http-api 1)."""

import pytest

from tests.api.test_tenants import IN_A_SESSION, Tenant, app, tenants

__all__ = ["app", "tenants"]

WRITES_NO_ENTRY = ("post_blob", "post_model_input")
ENDS_WHAT_RUNS = ("cancel_turn", "stop_session")
"""Whoever asks for an end wants it wherever the head is by then."""


@pytest.mark.req("X-03")
async def test_no_write_is_made_at_another_head(tenants: tuple[Tenant, Tenant]) -> None:
    """A turn that waits refuses some of them before."""
    tenant, _ = tenants
    writes = [one for one in IN_A_SESSION if one.method != "GET" and one.name not in (*WRITES_NO_ENTRY, *ENDS_WHAT_RUNS)]
    assert {"post_entries", "redact_entry", "delete_session"} < {one.name for one in writes}
    before = (await tenant.client.get(f"/sessions/{tenant.ids['session_id']}")).text
    tenant.client.headers["if-match"] = '"1"'
    for operation in writes:
        answer = await tenant.ask(operation, tenant.ids)
        assert answer.json()["code"] in ("head-mismatch", "pending-action"), (operation.name, answer.text)
        assert (await tenant.client.get(f"/sessions/{tenant.ids['session_id']}")).text == before
