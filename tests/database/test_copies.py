"""The fixtures themselves: what each test is promised."""

import pytest

from tests.database.copies import connect

SEEN: list[str] = []


@pytest.mark.parametrize("time", [1, 2])
async def test_each_test_has_a_database_of_its_own(time, database_url, migrate_url):
    admin, app = await connect(migrate_url), await connect(database_url)
    try:
        await admin.execute("CREATE TABLE once_only ()")
        assert await app.fetchval("SELECT current_user") == "ledger_app"
        assert await app.fetchval("SELECT current_database()") not in SEEN
        SEEN.append(await app.fetchval("SELECT current_database()"))
    finally:
        await app.close()
        await admin.close()
