"""What an erasure costs: the sessions that it erases, however many the tenant has."""

from uuid import uuid4

import pytest

from tests.database.copies import connect
from tests.storage.sessions_made import opened
from tests.storage.test_long_sessions import buffers

ERASE = "SELECT * FROM ledger.erase_v2($1, $2, $3, 1000, NULL)"
FEW, MANY = 10, 20_000

pytestmark = pytest.mark.req("X-11", "X-91")


@pytest.mark.parametrize("whole_user", [False, True])
async def test_a_session_or_a_user_is_erased_among_many_sessions_as_among_few(store, migrate_url, database_url, whole_user):
    tenants = {uuid4(): beside for beside in (FEW, MANY)}
    found = []
    admin, app = await connect(migrate_url), await connect(database_url)
    try:
        for tenant, beside in tenants.items():
            session = await opened(store, tenant, entries=2, user="ann")
            await admin.execute(
                "INSERT INTO ledger.sessions (tenant_id, session_id, active_on, user_name)"
                " SELECT $1, gen_random_uuid(), current_date, 'user ' || n FROM generate_series(1, $2::int) n",
                tenant,
                beside,
            )
            await admin.execute("VACUUM ANALYZE ledger.sessions")
            found.append(await buffers(app, ERASE, tenant, *((None, "ann") if whole_user else (session, None))))
        assert found[1] <= 1.3 * found[0]
    finally:
        await app.close()
        await admin.close()
